"""Names of checkpoints on the Hugging Face Hub; these tests need neither the library nor a network."""

import sys

import pytest

from patchwork_env import agents
from patchwork_env.agents import hub
from patchwork_env.agents.specs import runs_code
from patchwork_env.learning.evaluation.matches import load_player
from patchwork_env.service.agents import AgentPool


@pytest.mark.parametrize(
    ("name", "repository", "revision"),
    [
        ("hf:ann/quick", "ann/quick", None),
        ("hf:Ann_1/v1.0-x@refs/pr/3", "Ann_1/v1.0-x", "refs/pr/3"),
        (f"hf:ann/quick@{'0af3' * 10}", "ann/quick", "0af3" * 10),
    ],
)
def test_a_name_gives_a_repository_and_a_revision(monkeypatch, name, repository, revision):
    def download(*asked):
        raise ConnectionError(asked)

    monkeypatch.setattr(hub, "_download", download)
    with pytest.raises(ConnectionError) as error:
        agents.load(name)
    assert error.value.args == ((repository, revision),)


@pytest.mark.parametrize(
    "name",
    [
        *("hf:", "hf:ann", "hf:/quick", "hf:ann/", "hf:ann/quick/best", "hf:ann/quick@", "hf:ann/quick@a@b"),
        *("hf:../..", "hf:ann/..", "hf:.ann/quick", "hf:ann/quick@../../etc", "hf:ann/quick@a/../b"),
        *("hf:ann/quick@-x", "hf:ann/quick\n", "hf:ann/qu ick", f"hf:ann/{'a' * 100}", "hf:ann/quick@a//b"),
    ],
)
def test_other_names_are_refused(name):
    message = "is not a name on the Hugging Face Hub; write hf:owner/name@revision"
    for load in (agents.load, load_player):
        with pytest.raises(ValueError, match=message):
            load(name)


def test_without_the_library_an_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(ModuleNotFoundError, match="need huggingface_hub: pip install huggingface-hub"):
        agents.load("hf:ann/quick")


@pytest.mark.parametrize("spec", ["hf:ann/quick", "hf:ann/quick@main:sample=true"])
def test_the_page_downloads_only_allowed_checkpoints(spec):
    assert runs_code(spec)
    with pytest.raises(ValueError, match="would be downloaded; start the server with --opponent"):
        AgentPool().check(spec)
    assert AgentPool([spec]).check(spec) == spec

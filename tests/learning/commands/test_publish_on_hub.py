"""Publishing with the Hub's own client library to a local server.

Runs where the library is installed: ``make test-libraries``.
"""

import pytest

pytest.importorskip("huggingface_hub")

from huggingface_hub import constants

from patchwork_env import agents
from patchwork_env.cli import main
from patchwork_env.patchwork import Game
from tests.agents.hub_server import serving, use

pytestmark = pytest.mark.libraries


@pytest.fixture
def server(tmp_path, monkeypatch):
    with serving() as running:
        use(running, tmp_path / "home", monkeypatch)
        yield running


def test_what_is_published_is_an_agent(server, capsys):
    assert main(["publish", "champion", "ann/mine"]) == 0
    spec = capsys.readouterr().out.removeprefix("published as ").strip()
    (repository,) = server.repositories.values()
    assert not repository.private
    assert server.messages == ["The policy of champion"]
    (files,) = repository.commits.values()
    assert sorted(files) == ["README.md", "checkpoint.json", "weights.safetensors"]
    agent = agents.load(f"{spec}:instant")
    assert agent.name == f"{spec}:instant"
    assert spec == f"hf:ann/mine@{repository.branches['main']}"
    assert agent.act(Game(seed=1)) == agents.load("champion:instant").act(Game(seed=1))
    assert main(["publish", "champion", "ann/mine"]) == 0, "a second time is a second commit"
    assert len(repository.commits) == 2
    assert main(["publish", "champion", "ann/hidden", "--private"]) == 0
    assert server.repositories["ann/hidden"].private


def test_a_token_without_write_access_is_an_error(server, monkeypatch, capsys):
    monkeypatch.setenv("HF_TOKEN", "hf_reader")
    assert main(["publish", "champion", "ann/mine"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("patchwork-env publish: http://127.0.0.1")
    assert len(error.splitlines()) == 1
    assert not server.repositories


def test_without_a_network_nothing_is_published(server, monkeypatch, capsys):
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    assert main(["publish", "champion", "ann/mine"]) == 2
    assert "http://127.0.0.1:9 fails for hf:ann/mine: " in capsys.readouterr().err

"""Checkpoints on the Hugging Face Hub, with its own client library and a fake Hub.

Runs where the library is installed: ``make test-libraries``.
"""

import json
import re

import gymnasium
import pytest

pytest.importorskip("huggingface_hub")

from huggingface_hub import constants
from huggingface_hub.utils import _http

from patchwork_env import agents, cli
from patchwork_env.agents import hub
from patchwork_env.agents.checkpoints import CHECKPOINT_FILE, SHIPPED_FOLDER, WEIGHTS_FILE, read_weights_file
from patchwork_env.learning.evaluation.matches import hash_of_weights
from patchwork_env.patchwork import Game
from tests.agents.hub_server import serving, use

pytestmark = pytest.mark.libraries


def files_of(name):
    folder = SHIPPED_FOLDER / name
    return {CHECKPOINT_FILE: (folder / CHECKPOINT_FILE).read_bytes(), WEIGHTS_FILE: read_weights_file(folder)}


CHAMPION = files_of("champion")


@pytest.fixture
def server(tmp_path, monkeypatch):
    with serving() as running:
        use(running, tmp_path / "home", monkeypatch)
        yield running


def moves(agent):
    return [agent.act(Game(seed=seed)) for seed in range(3)]


def test_a_checkpoint_of_the_hub_plays_like_that_on_disk(server, tmp_path):
    extra = {"model.pkl": b"cos\nsystem\n(S'exit 1'\ntR.", "run.py": b"raise SystemExit", "README.md": b"#"}
    commit = server.add("ann/champion", CHAMPION | extra)
    for spec in (f"hf:ann/champion@{commit}", "hf:ann/champion@main"):
        agent = agents.load(f"{spec}:level=instant", seed=3)
        assert agent.name == f"hf:ann/champion@{commit}:instant"
        assert moves(agent) == moves(agents.load("champion:instant"))
    spec, figures = f"hf:ann/champion@{commit}:instant", tmp_path / "figures.json"
    assert cli.main(["evaluate", spec, "--against", "random", "--games", "2", "--json", str(figures)]) == 0
    contents = json.loads(figures.read_text())
    assert contents["weights"][spec] == hash_of_weights(SHIPPED_FOLDER / "champion")
    assert contents["matches"][0]["agent"] == spec
    asked = {request.rpartition("/")[2] for request in server.requests}
    assert asked == {"checkpoint.json", "weights.safetensors"}, "nothing else is looked at"


def test_without_a_revision_a_warning_names_the_commit(server):
    first = server.add("ann/agent", CHAMPION)
    told = re.escape(f"hf:ann/agent may change; what it is now stays at hf:ann/agent@{first}")
    with pytest.warns(UserWarning, match=told):
        agents.load("hf:ann/agent")
    second = server.repositories["ann/agent"].commit({"README.md": b"a second commit"})
    requests = len(server.requests)
    assert agents.load("hf:ann/agent").name.endswith(first), "a process keeps to what it has begun with"
    assert len(server.requests) == requests
    hub._found.clear()
    with pytest.warns(UserWarning, match=second):
        assert agents.load("hf:ann/agent").name.endswith(second)
    assert agents.load(f"hf:ann/agent@{first}").name.endswith(first)


def test_weights_are_those_of_the_commit_of_the_description(server, monkeypatch):
    first, read = server.add("ann/agent", CHAMPION), hub.read_checkpoint

    def read_while_the_branch_moves_on(folder):
        server.repositories["ann/agent"].commit(files_of("champion-v1"))
        return read(folder)

    monkeypatch.setattr(hub, "read_checkpoint", read_while_the_branch_moves_on)
    assert agents.load("hf:ann/agent@main:instant").name == f"hf:ann/agent@{first}:instant"
    shipped = hash_of_weights(SHIPPED_FOLDER / "champion")
    assert hash_of_weights(agents.path_of("hf:ann/agent@main")) == shipped


def test_policies_of_both_games_are_opponents_everywhere(server):
    server.add("ann/quick", files_of("ppo-quick"))
    server.add("ann/nine", files_of("nmbr9_champion"))
    assert agents.load("hf:ann/nine@main").games == ("nmbr9",)
    assert agents.path_of("hf:ann/quick@main:sample=true").joinpath("weights.safetensors").is_file()
    env = gymnasium.make("patchwork_env:Patchwork-v0", opponent="hf:ann/quick@main:sample=true")
    _, info = env.reset(seed=4)
    env.step(int(info["action_mask"].argmax()))
    with pytest.raises(ValueError, match="agent 'hf:ann/quick@main' has no option 'nodes'"):
        agents.load("hf:ann/quick@main:nodes=4")


def test_cached_checkpoints_need_no_network(server, monkeypatch):
    server.add("ann/champion", CHAMPION)
    with pytest.warns(UserWarning, match="may change"):
        agents.load("hf:ann/champion")
    hub._found.clear()
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    asked = len(server.requests)
    with pytest.warns(UserWarning, match="may change"):
        assert moves(agents.load("hf:ann/champion:instant")) == moves(agents.load("champion:instant"))
    message = "hf:ann/other is not in the cache, and HF_HUB_OFFLINE forbids"
    with pytest.raises(FileNotFoundError, match=message):
        agents.load("hf:ann/other")
    assert len(server.requests) == asked


NO_CHECKPOINT = "is not a checkpoint of this library: "
REFUSED = {
    "nobody": (FileNotFoundError, "has no repository 'ann/nobody', or it is private and HF_TOKEN gives no"),
    "private": (FileNotFoundError, "has no repository 'ann/private', or it is private and HF_TOKEN gives no"),
    "gated": (FileNotFoundError, "hf:ann/gated requires a request for access: see http.*/ann/gated"),
    "champion@v9": (FileNotFoundError, "hf:ann/champion has no revision 'v9'"),
    "empty": (FileNotFoundError, f"hf:ann/empty {NO_CHECKPOINT}it has no checkpoint.json"),
    "half": (FileNotFoundError, f"hf:ann/half {NO_CHECKPOINT}it has no weights.safeten"),
    "foreign": (ValueError, f"hf:ann/foreign {NO_CHECKPOINT}checkpoint.json does not desc"),
    "damaged": (ValueError, f"hf:ann/damaged {NO_CHECKPOINT}checkpoint.json is damaged"),
    "odd": (ValueError, "the policy of .* is 'oracle'; those of patchwork that this library plays: "),
    "large": (ValueError, "checkpoint.json of hf:ann/large has 1,048,577 bytes; at most 1,048,576 are"),
    "torn": (ValueError, "weights.safetensors does not hold the weights"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_errors_come_before_the_weights_are_downloaded(server, name):
    description = json.loads(CHAMPION["checkpoint.json"])
    server.add("ann/champion", CHAMPION)
    server.add("ann/private", CHAMPION, private=True)
    server.add("ann/gated", CHAMPION, gated=True)
    server.add("ann/empty", {"README.md": b"#"})
    server.add("ann/half", {"checkpoint.json": CHAMPION["checkpoint.json"]})
    server.add("ann/foreign", CHAMPION | {"checkpoint.json": b'{"model_type": "bert"}'})
    server.add("ann/damaged", CHAMPION | {"checkpoint.json": b"[" * 100_000})
    odd = json.dumps(description | {"policy": "oracle"}).encode()
    server.add("ann/odd", CHAMPION | {"checkpoint.json": odd})
    server.add("ann/large", CHAMPION | {"checkpoint.json": b" " * (2**20 + 1)})
    server.add("ann/torn", CHAMPION | {"weights.safetensors": CHAMPION["weights.safetensors"][:1000]})
    error, message = REFUSED[name]
    revision = "" if "@" in name else "@main"
    with pytest.raises(error, match=message) as caught:
        agents.load(f"hf:ann/{name}{revision}")
    assert len(str(caught.value).splitlines()) == 1
    if name not in ("half", "odd", "torn"):
        assert not [request for request in server.requests if "weights" in request]
    if name == "large":
        assert not [request for request in server.requests if request.startswith("GET")]


def test_without_a_network_an_error_says_so(server, monkeypatch):
    monkeypatch.setattr(_http.time, "sleep", lambda seconds: None)
    monkeypatch.setattr(
        constants, "HUGGINGFACE_CO_URL_TEMPLATE", "http://127.0.0.1:9/{repo_id}/{revision}/{filename}"
    )
    with pytest.raises(ConnectionError, match="cannot be reached, and hf:ann/agent is not in the cache: "):
        agents.load("hf:ann/agent@main")

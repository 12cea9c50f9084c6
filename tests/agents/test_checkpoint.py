"""Policies on disk: what is read is what was written, and whatever is damaged or foreign is refused."""

from __future__ import annotations

import json
import os
import pickle

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from patchwork_env import agents
from patchwork_env.agents import checkpoints
from patchwork_env.agents.checkpoints import read_description
from patchwork_env.agents.networks import NetworkConfig
from patchwork_env.agents.nmbr9.policy_network import Nmbr9Network
from patchwork_env.agents.patchwork.policy import PolicyAgent, load_policy, save_policy
from patchwork_env.agents.patchwork.policy_network import PatchworkNetwork
from patchwork_env.patchwork import Game
from tests.agents.positions import many_states

SMALL = NetworkConfig(width=12, depth=2, channels=4)
NOTHING_MORE = {"offers": False, "lookahead": False}


@pytest.fixture(scope="module")
def network():
    torch.manual_seed(1)
    network = PatchworkNetwork(SMALL)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return network


@pytest.fixture
def folder(tmp_path, network):
    """A good checkpoint, in a folder of its own."""
    save_policy(str(tmp_path / "policies" / "good"), network, {"steps": 5})
    return tmp_path / "policies" / "good"


def contents(folder):
    """Everything below a folder."""
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in folder.rglob("*")}


# --- the same policy comes back -----------------------------------------------------------------------------


def test_round_trip(folder, network):
    loaded, info = load_policy(folder)
    assert info == {"steps": 5}
    assert loaded.config == SMALL
    inputs, _ = PatchworkNetwork.encode(many_states())
    with torch.inference_mode():
        for tensor, expected in zip(loaded(inputs), network(inputs), strict=True):
            assert torch.equal(tensor, expected)


def test_loaded_agent_plays_the_same_moves(folder, network):
    states = many_states()
    agent = agents.load(str(folder))
    assert agent.act_batch(states).tolist() == PolicyAgent(network).act_batch(states).tolist()
    game = Game.from_state(states, 5)
    assert agent.act(game) == agent.act_batch(states)[5]
    assert agent.name == "good"


def test_sampling_agent_repeats_itself(folder, network):
    states = many_states()
    agent, twin = (agents.load(f"{folder}:sample=true", seed=4) for _ in range(2))
    moves = [agent.act_batch(states).tolist() for _ in range(2)]
    assert moves[0] != moves[1]
    assert [twin.act_batch(states).tolist() for _ in range(2)] == moves
    agent.reseed(4)
    assert agent.act_batch(states).tolist() == moves[0]
    assert PolicyAgent(network, sample=True, seed=4).act_batch(states).tolist() == moves[0]


def test_agent_leaves_states_alone_and_plays_legally(folder):
    states = many_states()
    before = states.copy()
    for spec in (f"{folder}", f"{folder}:sample=true"):
        actions = agents.load(spec, seed=0).act_batch(states)
        for i, action in enumerate(actions.tolist()):
            assert action in Game.from_state(states, i).legal_actions()
    assert (states == before).all()


def test_agent_refuses_games_that_are_over(folder):
    game = Game(seed=1)
    while not game.is_over:
        game.play(game.legal_actions()[0])
    with pytest.raises(ValueError, match="is over"):
        agents.load(str(folder)).act(game)


# --- what is written ----------------------------------------------------------------------------------------


def test_files(folder):
    assert sorted(path.name for path in folder.iterdir()) == ["checkpoint.json", "weights.safetensors"]
    assert sorted(path.name for path in folder.parent.iterdir()) == ["good"]
    assert json.loads((folder / "checkpoint.json").read_text()) == {
        "format": "patchwork_env checkpoint",
        "version": 1,
        "game": "patchwork",
        "policy": "network",
        "network": {"width": 12, "depth": 2, "channels": 4, "features": True, **NOTHING_MORE},
        "info": {"steps": 5},
    }


def test_files_can_be_read_like_any_other(tmp_path, network):
    mask = os.umask(0o022)
    try:
        save_policy(tmp_path / "policy", network)
    finally:
        os.umask(mask)
    modes = {
        path.name: path.stat().st_mode & 0o777
        for path in [tmp_path / "policy", *(tmp_path / "policy").iterdir()]
    }
    assert modes == {"policy": 0o755, "checkpoint.json": 0o644, "weights.safetensors": 0o644}


def test_nothing_is_overwritten(folder, network):
    before = contents(folder.parent)
    with pytest.raises(FileExistsError, match="good exists already"):
        save_policy(folder, network)
    assert contents(folder.parent) == before


def test_file_in_the_place_of_the_folder(tmp_path, network):
    (tmp_path / "policy").write_text("mine")
    with pytest.raises(FileExistsError, match="policy exists already"):
        save_policy(tmp_path / "policy", network)
    assert contents(tmp_path) == {"policy": b"mine"}


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
def test_failing_write_leaves_no_folder(tmp_path, network, monkeypatch, error):
    def fail(*_):
        raise error

    monkeypatch.setattr(checkpoints, "write_tensors", fail)
    with pytest.raises(type(error)):
        save_policy(tmp_path / "policy", network)
    assert contents(tmp_path) == {}


# --- what is refused ----------------------------------------------------------------------------------------


def describe(**changes):
    """Changes entries of checkpoint.json."""

    def damage(folder):
        path = folder / "checkpoint.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))

    return damage


def overwrite(name, data):
    return lambda folder: (folder / name).write_bytes(data)


def truncate(name, keep):
    return lambda folder: os.truncate(folder / name, int(keep * (folder / name).stat().st_size))


def with_tensors(change):
    """Changes the tensors of weights.safetensors."""

    def damage(folder):
        tensors = load_file(folder / "weights.safetensors")
        change(tensors)
        save_file(tensors, folder / "weights.safetensors")

    return damage


SIZES = {"width": 12, "depth": 2, "channels": 4, "features": True, **NOTHING_MORE}


@pytest.mark.parametrize(
    ("damage", "error", "message"),
    [
        (lambda f: (f / "checkpoint.json").unlink(), FileNotFoundError, "checkpoint.json is missing"),
        (lambda f: (f / "weights.safetensors").unlink(), FileNotFoundError, "weights.safetensors is missing"),
        (overwrite("checkpoint.json", b""), ValueError, r"checkpoint\.json is damaged"),
        (truncate("checkpoint.json", 0.5), ValueError, r"checkpoint\.json is damaged"),
        (overwrite("checkpoint.json", b"\xff\x00"), ValueError, r"checkpoint\.json is damaged"),
        (overwrite("checkpoint.json", b"[1]"), ValueError, "does not describe a checkpoint"),
        (describe(format="something"), ValueError, "its format is not 'patchwork_env checkpoint'"),
        (describe(version=2), ValueError, "has version 2; this library reads version 1"),
        (describe(version=None), ValueError, "has version None"),
        (describe(game="nmbr9"), ValueError, "for the game 'nmbr9', not for 'patchwork'"),
        (describe(info=[]), ValueError, r"its info is \[\]"),
        (describe(network=None), ValueError, "network is None; it must give width, depth, channels"),
        (describe(network=SIZES | {"heads": 2}), ValueError, "it must give width, depth, channels"),
        (describe(network=SIZES | {"width": "12"}), ValueError, "network.width must be an integer, not '12'"),
        (describe(network=SIZES | {"width": 0}), ValueError, r"checkpoint\.json: network\.width is 0"),
        (
            describe(network=SIZES | {"width": 13}),
            ValueError,
            r"weights.*trunk.0.weight is F32 \[12, .*, not F32 \[13, ",
        ),
        (
            describe(network=SIZES | {"channels": 5}),
            ValueError,
            r"weights.*modulation\.bias is F32 \[4\], not F32 \[5\]",
        ),
        (describe(network=SIZES | {"depth": 3}), ValueError, r"weights.*trunk\.4\.weight is missing"),
        (describe(network=SIZES | {"depth": 1}), ValueError, r"weights.*'trunk\.2\..*' is unknown"),
        (overwrite("weights.safetensors", b""), ValueError, r"weights\.safetensors does not hold"),
        (overwrite("weights.safetensors", b"\x00" * 100), ValueError, r"weights\.safetensors does not hold"),
        (truncate("weights.safetensors", 0.5), ValueError, r"weights\.safetensors does not hold"),
        (truncate("weights.safetensors", 0.999), ValueError, r"weights\.safetensors does not hold"),
        (with_tensors(lambda t: t.pop("value.bias")), ValueError, "value.bias is missing"),
        (with_tensors(lambda t: t.update({"value.bias": t["value.bias"].double()})), ValueError, "not F32"),
        (with_tensors(lambda t: t["value.bias"].fill_(torch.nan)), ValueError, "value.bias is not finite"),
        (
            with_tensors(lambda t: t["trunk.0.weight"][1].fill_(-torch.inf)),
            ValueError,
            "trunk.0.weight is not",
        ),
        (
            describe(network=SIZES | {"width": 10**9}),
            ValueError,
            "width is 1000000000; allowed are 1 to 65536",
        ),
        (
            describe(network=SIZES | {"width": 2**16, "depth": 256}),
            ValueError,
            "weights.*trunk.0.weight is F32",
        ),
        (describe(network=SIZES | {"width": 1.5}), ValueError, "width must be an integer, not 1.5"),
        (describe(network=list(range(10**6))), ValueError, "it must give width, depth, channels"),
        (describe(game=[]), ValueError, r"is for the game \[\]"),
        (
            overwrite("checkpoint.json", b"[" * 10**6),
            ValueError,
            r"checkpoint\.json is damaged: .* too deeply",
        ),
        (overwrite("checkpoint.json", b'{"a": 1, "a": 2}'), ValueError, "the key 'a' appears twice"),
        (overwrite("checkpoint.json", b'{"a": 1e999}'), ValueError, "'1e999' is no finite number"),
        (overwrite("checkpoint.json", b'{"a": NaN}'), ValueError, "'NaN' is no finite number"),
        (overwrite("checkpoint.json", b"9" * 10**5), ValueError, r"checkpoint\.json is damaged"),
        (with_tensors(lambda t: t.update(more=torch.ones(1))), ValueError, "'more' is unknown"),
    ],
)
def test_damaged_checkpoints(folder, damage, error, message):
    damage(folder)
    before = contents(folder)
    with pytest.raises(error, match=message) as caught:
        load_policy(folder)
    assert str(folder) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 600 + len(str(folder))
    with pytest.raises(error):
        agents.load(str(folder))
    assert contents(folder) == before


@pytest.mark.parametrize("part", [{"channels": 4}, {"offers": True}, {"lookahead": True}])
def test_parts_of_networks_that_are_for_patchwork_alone(part):
    with pytest.raises(ValueError, match=r"it is for Patchwork"):
        Nmbr9Network(NetworkConfig(12, 2, **part))


def test_missing_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match="missing is no checkpoint"):
        load_policy(tmp_path / "missing")
    with pytest.raises(FileNotFoundError, match="there is no checkpoint at"):
        agents.load(str(tmp_path / "missing"))
    with pytest.raises(FileNotFoundError, match=r"checkpoint\.json is missing"):
        read_description(tmp_path)


class Bomb:
    """Writes a file if it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


def test_no_code_is_executed(folder, tmp_path):
    trap, weights = tmp_path / "trap", folder / "weights.safetensors"
    weights.write_bytes(pickle.dumps(Bomb(trap)))
    with pytest.raises(ValueError, match=r"weights\.safetensors does not hold"):
        load_policy(folder)
    torch.save({"value.bias": Bomb(trap)}, weights)
    with pytest.raises(ValueError, match=r"weights\.safetensors does not hold"):
        load_policy(folder)
    (folder / "checkpoint.json").write_bytes(pickle.dumps(Bomb(trap)))
    with pytest.raises(ValueError, match=r"checkpoint\.json is damaged"):
        load_policy(folder)
    assert not trap.exists()
    pickle.loads(pickle.dumps(Bomb(trap))).close()
    assert trap.exists()  # the trap works


def test_pickle_is_never_used(tmp_path, network, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("pickle")

    for module, names in (
        (pickle, ("load", "loads", "dump", "dumps", "Pickler", "Unpickler")),
        (torch, ("load", "save")),
    ):
        for name in names:
            monkeypatch.setattr(module, name, refuse)
    save_policy(tmp_path / "policy", network)
    loaded, _ = load_policy(tmp_path / "policy")
    assert np.array_equal(loaded.value.weight.detach(), network.value.weight.detach())

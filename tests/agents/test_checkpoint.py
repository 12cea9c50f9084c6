"""Policies on disk: files are read as written, and damaged files or those of other kinds are refused."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from patchwork_env import agents
from patchwork_env.agents import checkpoints
from patchwork_env.agents.checkpoints import read_checkpoint
from patchwork_env.agents.compiled import arrays_of, write_weights
from patchwork_env.agents.network_config import NetworkConfig
from patchwork_env.agents.networks import read_network, save_policy, write_policy
from patchwork_env.agents.nmbr9 import value as nmbr9_value
from patchwork_env.agents.nmbr9.policy_network import Nmbr9Network
from patchwork_env.agents.patchwork.policy.dense import DensePolicy
from patchwork_env.agents.patchwork.policy.network import PatchworkNetwork
from patchwork_env.agents.patchwork.value import network as patchwork_value
from patchwork_env.core.files import write_folder
from patchwork_env.games import rules_of
from patchwork_env.testing import check_agent

INFO = {"steps": 5}
SMALL = NetworkConfig(width=12, depth=2, channels=4)
SIZES = {"width": 12, "depth": 2, "channels": 4, "features": True, "offers": False, "lookahead": False}


class Kind(NamedTuple):
    game: str
    make: Callable[[], Any]
    write: Callable[..., None]
    read: Callable[[Path], tuple[Any, dict[str, Any]]]
    options: tuple[str, ...]


def _reader(read):
    """Make a function that returns the weights and the info of a folder."""

    def read_folder(folder):
        checkpoint = read_checkpoint(folder)
        return read(checkpoint), checkpoint.info

    return read_folder


def _value(module, game):
    def write(folder, weights, info):
        write_weights(folder, game, weights, info)

    return Kind(game, partial(module.new_weights, 3), write, _reader(module.read_value), ("", ":nodes=9"))


def _network(kind, config, *options):
    read = _reader(partial(read_network, network=kind))
    return Kind(kind.game, lambda: kind(config), write_policy, read, ("", ":sample=true", *options))


KINDS = {
    "value": _value(patchwork_value, "patchwork"),
    "nmbr9 value": _value(nmbr9_value, "nmbr9"),
    "network": _network(PatchworkNetwork, SMALL, ":simulations=2"),
    "nmbr9 network": _network(Nmbr9Network, NetworkConfig(width=8, depth=1)),
}


def learned(name):
    """Return weights that are far from equal."""
    torch.manual_seed(1)
    made = KINDS[name].make()
    if isinstance(made, nn.Module):
        with torch.no_grad():
            for parameter in made.parameters():
                parameter.add_(0.2 * torch.randn_like(parameter))
    return made


def arrays(made):
    return made.state_dict() if isinstance(made, nn.Module) else arrays_of(made)


def write(folder, name):
    made = learned(name)
    write_folder(folder, lambda target: KINDS[name].write(target, made, INFO))
    return made


@pytest.mark.parametrize("name", KINDS)
def test_read_equals_written(name, tmp_path):
    made = write(tmp_path / "mine", name)
    read, info = KINDS[name].read(tmp_path / "mine")
    assert info == INFO
    assert list(arrays(read)) == list(arrays(made))
    for key, array in arrays(made).items():
        np.testing.assert_array_equal(arrays(read)[key], array)


@pytest.mark.parametrize("other_defaults", [torch.float64, torch.bfloat16, "meta"], indirect=True)
@pytest.mark.parametrize("config", [SMALL, NetworkConfig(width=8, depth=1, offers=True, lookahead=True)])
def test_networks_are_float32_on_the_cpu_whatever_the_defaults(config, other_defaults, tmp_path):
    network = PatchworkNetwork(config)
    save_policy(tmp_path / "mine", network)
    for spec in (f"{tmp_path / 'mine'}", f"{tmp_path / 'mine'}:simulations=2", "ppo", "ppo-quick-v1"):
        check_agent(agents.load(spec), games=1)
    networks = [network, Nmbr9Network(NetworkConfig(width=8, depth=1))]
    if not config.lookahead:
        networks.append(DensePolicy(network))
    for one in networks:
        floats = [t for t in (*one.parameters(), *one.buffers()) if t.is_floating_point()]
        assert {(t.dtype, t.device.type) for t in floats} == {(torch.float32, "cpu")}


@pytest.mark.parametrize(("name", "option"), [(name, o) for name, k in KINDS.items() for o in k.options])
def test_their_agents_keep_their_promises(name, option, tmp_path):
    write(tmp_path / "mine", name)
    agent, twin = (agents.load(f"{tmp_path / 'mine'}{option}", seed=1) for _ in range(2))
    states = np.repeat(rules_of(KINDS[name].game).game(seed=1).state, 20)
    assert agent.act_batch(states).tolist() == twin.act_batch(states).tolist()
    assert agent.name in ("mine", f"mine{option}")
    check_agent(agent, games=1)


def load_policy(folder):
    return read_network(read_checkpoint(folder), PatchworkNetwork)


@pytest.fixture
def folder(tmp_path):
    """A valid checkpoint in its own folder."""
    write(tmp_path / "policies" / "good", "network")
    return tmp_path / "policies" / "good"


def contents(folder):
    """Return the contents of all files below a folder."""
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in folder.rglob("*")}


def test_files(tmp_path):
    mask = os.umask(0o022)
    try:
        write(tmp_path / "policy", "network")
    finally:
        os.umask(mask)
    files = [tmp_path / "policy", *(tmp_path / "policy").iterdir()]
    modes = {path.name: path.stat().st_mode & 0o777 for path in files}
    assert modes == {"policy": 0o755, "checkpoint.json": 0o644, "weights.safetensors": 0o644}
    expected = {
        "format": "patchwork_env checkpoint",
        "version": 1,
        "game": "patchwork",
        "policy": "network",
        "network": SIZES,
        "info": INFO,
        "observation": {"quilts": [2, 9, 9], "offered": [3, 29], "players": [2, 10], "specials": [5]},
    }
    assert (tmp_path / "policy" / "checkpoint.json").read_text() == json.dumps(expected, indent=1) + "\n"


def describe(**changes):
    """Changes entries of checkpoint.json."""

    def damage(folder):
        path = folder / "checkpoint.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))

    return damage


def overwrite(name, data):
    return lambda folder: (folder / name).write_bytes(data)


def remove(name):
    return lambda folder: (folder / name).unlink()


def truncate(name, keep):
    return lambda folder: os.truncate(folder / name, int(keep * (folder / name).stat().st_size))


def with_tensors(change):
    """Changes the tensors of weights.safetensors."""

    def damage(folder):
        tensors = load_file(folder / "weights.safetensors")
        change(tensors)
        save_file(tensors, folder / "weights.safetensors")

    return damage


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        *(
            (overwrite("checkpoint.json", data), rf"checkpoint\.json is (damaged|not in UTF-8).*{why}")
            for data, why in (
                (b"", ""),
                (b"\xff\x00", ""),
                (b"9" * 10**5, ""),
                (b"[" * 10**6, "too deeply"),
                (b'{"a": 1e999}', "'1e999' is not a finite number"),
                (b'{"a": NaN}', "'NaN' is not a finite number"),
            )
        ),
        (overwrite("checkpoint.json", b"[1]"), "does not describe a checkpoint"),
        (truncate("checkpoint.json", 0.5), r"checkpoint\.json is damaged"),
        (describe(format="something"), "its format is not 'patchwork_env checkpoint'"),
        (describe(version=2), "has version 2; this library reads version 1"),
        (describe(version=None), "has version None"),
        (describe(game="nmbr9", observation={}), "for the game 'nmbr9', not for 'patchwork'"),
        (describe(game=[]), r"is for the game \[\]"),
        (describe(info=[]), r"its info is \[\]"),
        *(
            (describe(observation=shapes), "reads the tensors .* of observations; those of patchwork are")
            for shapes in ({"quilts": [2, 9]}, {"specials": [5], "rain": [1]}, ["quilts"], None)
        ),
        (describe(network=None), "network is None; it must give width, depth, channels"),
        (describe(network=list(range(10**6))), "it must give width, depth, channels"),
        *(
            (describe(network=SIZES | sizes), message)
            for sizes, message in (
                ({"heads": 2}, "it must give width, depth, channels"),
                ({"width": "12"}, "network.width is '12': Input should be a valid integer"),
                ({"width": 1.5}, "width is 1.5: Input should be a valid integer"),
                ({"width": 0}, r"checkpoint\.json: network\.width is 0"),
                ({"width": 10**9}, "width is 1000000000: Input should be less than or equal to 65536"),
                ({"width": 2**16, "depth": 256}, "weights.*trunk.0.weight is F32"),
                ({"width": 13}, r"weights.*trunk.0.weight is F32 \[12, .*, not F32 \[13, "),
                ({"channels": 5}, r"weights.*modulation\.bias is F32 \[4\], not F32 \[5\]"),
                ({"depth": 3}, r"weights.*trunk\.4\.weight is missing"),
                ({"depth": 1}, r"weights.*'trunk\.2\..*' is unknown"),
            )
        ),
        (truncate("weights.safetensors", 0.999), r"weights\.safetensors does not hold"),
        (with_tensors(lambda t: t.pop("value.bias")), "value.bias is missing"),
        (with_tensors(lambda t: t.update({"value.bias": t["value.bias"].double()})), "not F32"),
        (with_tensors(lambda t: t["value.bias"].fill_(torch.nan)), "value.bias is not finite"),
        (with_tensors(lambda t: t["trunk.0.weight"][1].fill_(-torch.inf)), "trunk.0.weight is not"),
        (with_tensors(lambda t: t.update(more=torch.ones(1))), "'more' is unknown"),
    ],
)
def test_damaged_checkpoints(folder, damage, message):
    damage(folder)
    before = contents(folder)
    with pytest.raises(ValueError, match=message) as caught:
        load_policy(folder)
    assert str(folder) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 600 + len(str(folder))
    with pytest.raises(ValueError, match=r"good|the network of \w+ has no"):
        agents.load(str(folder))
    assert contents(folder) == before


@pytest.mark.parametrize("part", [{"channels": 4}, {"offers": True}, {"lookahead": True}])
def test_settings_that_the_network_of_the_game_lacks(part):
    with pytest.raises(ValueError, match="the network of nmbr9 has no"):
        Nmbr9Network(NetworkConfig(width=12, depth=2, **part))


def test_no_code_is_executed(folder, tmp_path):
    trap, weights = tmp_path / "trap", folder / "weights.safetensors"
    bomb = type("Bomb", (), {"__reduce__": lambda self: (open, (str(trap), "w"))})()  # if it is unpickled
    weights.write_bytes(pickle.dumps(bomb))
    with pytest.raises(ValueError, match=r"weights\.safetensors does not hold"):
        load_policy(folder)
    torch.save({"value.bias": bomb}, weights)
    with pytest.raises(ValueError, match=r"weights\.safetensors does not hold"):
        load_policy(folder)
    (folder / "checkpoint.json").write_bytes(pickle.dumps(bomb))
    with pytest.raises(ValueError, match=r"checkpoint\.json is not in UTF-8"):
        load_policy(folder)
    assert not trap.exists()
    pickle.loads(pickle.dumps(bomb)).close()
    assert trap.exists()  # the trap works


def cut_tensor(tensors):
    longest = max(tensors, key=lambda name: len(tensors[name]))
    tensors[longest] = tensors[longest][1:].clone()


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize(
    ("damage", "error", "message"),
    [
        (remove("checkpoint.json"), FileNotFoundError, "has no checkpoint.json"),
        (remove("weights.safetensors"), FileNotFoundError, "has no weights.safetensors"),
        (overwrite("weights.safetensors", b"12"), ValueError, "does not hold the weights"),
        (with_tensors(cut_tensor), ValueError, "does not hold the weights of .* is F32"),
        (describe(policy="rules of thumb"), ValueError, "rules of thumb"),
        (describe(policy=["value"]), ValueError, "not a kind's name"),
        (describe(game="chess"), ValueError, "is for the game 'chess'"),
    ],
)
def test_damaged_checkpoints_of_all_kinds(name, tmp_path, damage, error, message):
    write(tmp_path / "mine", name)
    damage(tmp_path / "mine")
    with pytest.raises(error, match=message):
        KINDS[name].read(tmp_path / "mine")
    with pytest.raises(error, match="mine"):
        agents.load(tmp_path / "mine")


@pytest.mark.parametrize("name", ["network", "nmbr9 network"])
def test_a_policy_reads_the_tensors_that_its_checkpoint_names(name, tmp_path):
    write(tmp_path / "mine", name)
    description = json.loads((tmp_path / "mine" / "checkpoint.json").read_text())
    shapes = description.pop("observation")
    expected, _ = KINDS[name].read(tmp_path / "mine")
    assert list(shapes) == list(expected.reads)
    overwrite("checkpoint.json", json.dumps(description).encode())(tmp_path / "mine")
    assert KINDS[name].read(tmp_path / "mine")[0].reads == expected.reads
    describe(observation=dict(reversed(shapes.items())))(tmp_path / "mine")
    assert KINDS[name].read(tmp_path / "mine")[0].reads == expected.reads[::-1]
    describe(observation={"players": shapes["players"]})(tmp_path / "mine")
    with pytest.raises(ValueError, match="does not hold the weights"):
        KINDS[name].read(tmp_path / "mine")
    few = type(expected)(expected.config, ["players"])
    write_folder(tmp_path / "few", lambda target: KINDS[name].write(target, few, INFO))
    assert KINDS[name].read(tmp_path / "few")[0].reads == ("players",)
    check_agent(agents.load(tmp_path / "few"), games=1)


@pytest.mark.parametrize("name", KINDS)
def test_a_load_reads_the_description_once(name, tmp_path, monkeypatch):
    write(tmp_path / "mine", name)
    asked, read = [], checkpoints.read_json
    monkeypatch.setattr(checkpoints, "read_json", lambda path: asked.append(path) or read(path))
    agents.load(tmp_path / "mine")
    assert asked == [tmp_path / "mine" / "checkpoint.json"]


@pytest.mark.parametrize("name", KINDS)
def test_checkpoints_of_other_kinds_and_games_are_refused(name, tmp_path):
    write(tmp_path / "mine", name)
    for other in KINDS.keys() - {name}:
        with pytest.raises(ValueError, match=r"is for the game|it must be"):
            KINDS[other].read(tmp_path / "mine")

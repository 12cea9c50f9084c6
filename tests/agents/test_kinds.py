"""The kinds of policies that a path can name: what is written plays, and what is damaged is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file
from torch import nn

from patchwork_env import agents, nmbr9, patchwork
from patchwork_env.agents.compiled import arrays_of, write_weights
from patchwork_env.agents.networks import NetworkConfig
from patchwork_env.agents.nmbr9 import value as nmbr9_value
from patchwork_env.agents.nmbr9.policy_network import Nmbr9Network
from patchwork_env.agents.patchwork import mlp
from patchwork_env.agents.patchwork import value as patchwork_value
from patchwork_env.agents.patchwork.policy_network import PatchworkNetwork
from patchwork_env.agents.policy import read_network, write_policy
from patchwork_env.core.files import write_folder
from patchwork_env.testing import check_agent

GAMES = {"patchwork": patchwork.Game, "nmbr9": nmbr9.Game}
INFO = {"steps": 5}


class Kind(NamedTuple):
    game: str
    make: Callable[[], Any]
    write: Callable[..., None]
    read: Callable[[Path], tuple[Any, dict[str, Any]]]
    options: tuple[str, ...]


def _value(module: Any, game: str) -> Kind:
    def write(folder: Path, weights: Any, info: Any) -> None:
        write_weights(folder, game, weights, info)

    return Kind(game, partial(module.new_weights, 3), write, module.read_value, ("", ":nodes=9"))


def _network(kind: Any, config: NetworkConfig, *options: str) -> Kind:
    read = partial(read_network, network=kind)
    return Kind(kind.game, lambda: kind(config), write_policy, read, ("", ":sample=true", *options))


KINDS = {
    "value": _value(patchwork_value, "patchwork"),
    "nmbr9 value": _value(nmbr9_value, "nmbr9"),
    "network": _network(PatchworkNetwork, NetworkConfig(width=8, depth=1, channels=4), ":simulations=2"),
    "nmbr9 network": _network(Nmbr9Network, NetworkConfig(width=8, depth=1)),
    "maskable_ppo": Kind(
        "patchwork",
        lambda: mlp.MlpNetwork(mlp.MlpConfig((20, 12), "tanh")),
        mlp.write_policy,
        mlp.load_policy,
        ("", ":sample=true"),
    ),
}
DRAWN = [name for name, kind in KINDS.items() if ":sample=true" in kind.options]


def learned(name: str) -> Any:
    """Weights that are far from all alike."""
    torch.manual_seed(1)
    made = KINDS[name].make()
    if isinstance(made, nn.Module):
        with torch.no_grad():
            for parameter in made.parameters():
                parameter.add_(0.2 * torch.randn_like(parameter))
    return made


def arrays(made: Any) -> dict[str, Any]:
    return made.state_dict() if isinstance(made, nn.Module) else arrays_of(made)


def write(folder: Path, name: str) -> Any:
    made = learned(name)
    write_folder(folder, lambda target: KINDS[name].write(target, made, INFO))
    return made


@pytest.mark.parametrize("name", KINDS)
def test_what_is_read_is_what_was_written(name: str, tmp_path: Path) -> None:
    made = write(tmp_path / "mine", name)
    read, info = KINDS[name].read(tmp_path / "mine")
    assert info == INFO
    assert list(arrays(read)) == list(arrays(made))
    for key, array in arrays(made).items():
        np.testing.assert_array_equal(arrays(read)[key], array)


@pytest.mark.parametrize(
    ("name", "option"), [(name, o) for name, kind in KINDS.items() for o in kind.options]
)
def test_their_agents_keep_their_promises(name: str, option: str, tmp_path: Path) -> None:
    write(tmp_path / "mine", name)
    agent = agents.load(f"{tmp_path / 'mine'}{option}", seed=1)
    assert agent.name in ("mine", f"mine{option}")
    check_agent(agent, games=1)


@pytest.mark.parametrize("name", DRAWN)
def test_actions_are_drawn_with_a_seed(name: str, tmp_path: Path) -> None:
    write(tmp_path / "mine", name)
    states = np.repeat(GAMES[KINDS[name].game](seed=1).state, 50)
    one, same, other = (agents.load(f"{tmp_path / 'mine'}:sample=true", seed=seed) for seed in (4, 4, 5))
    first, later = (one.act_batch(states).tolist() for _ in range(2))
    assert same.act_batch(states).tolist() == first != other.act_batch(states).tolist()
    assert len(set(first)) > 3
    assert later != first
    one.reseed(4)
    assert one.act_batch(states).tolist() == first


@pytest.mark.slow
def test_they_need_no_library_that_only_learning_needs(tmp_path: Path) -> None:
    for name in KINDS:
        write(tmp_path / name, name)
    code = (
        "import sys; from pathlib import Path; from patchwork_env import agents, nmbr9, patchwork\n"
        "sys.modules['torch'] = None\n"
        f"folder = Path({str(tmp_path)!r})\n"
        "print(agents.load(folder / 'value').act(patchwork.Game(seed=1)))\n"
        "print(agents.load(folder / 'nmbr9 value').act(nmbr9.Game(seed=1)))\n"
        "print(agents.load(f'{folder / \"value\"}:nodes=4').name)\n"
        "del sys.modules['torch']\n"
        "print(agents.load(folder / 'maskable_ppo').act(patchwork.Game(seed=1)))\n"
        "assert not {'stable_baselines3', 'sb3_contrib'} & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    expected = [
        agents.load(tmp_path / name).act(GAMES[KINDS[name].game](seed=1))
        for name in ("value", "nmbr9 value", "maskable_ppo")
    ]
    assert done.stdout.split() == list(map(str, [*expected[:2], "value:nodes=4", expected[2]]))


# --- what is refused ----------------------------------------------------------------------------------------


def describe(folder: Path, **changes: Any) -> None:
    path = folder / "checkpoint.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def cut_tensor(folder: Path) -> None:
    path = folder / "weights.safetensors"
    tensors = load_file(path)
    longest = max(tensors, key=lambda name: len(tensors[name]))
    save_file(tensors | {longest: tensors[longest][1:]}, path)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize(
    ("damage", "error", "message"),
    [
        (lambda f: (f / "weights.safetensors").unlink(), FileNotFoundError, "weights.safetensors is missing"),
        (lambda f: (f / "weights.safetensors").write_bytes(b"12"), ValueError, "does not hold the weights"),
        (cut_tensor, ValueError, "does not hold the weights of .* is F32"),
        (lambda f: describe(f, policy="rules of thumb"), ValueError, "rules of thumb"),
        (lambda f: describe(f, policy=["value"]), ValueError, "not a kind's name"),
        (lambda f: describe(f, game="chess"), ValueError, "is for the game 'chess'"),
    ],
)
def test_damaged_checkpoints(name: str, tmp_path: Path, damage: Any, error: Any, message: str) -> None:
    write(tmp_path / "mine", name)
    damage(tmp_path / "mine")
    with pytest.raises(error, match=message):
        KINDS[name].read(tmp_path / "mine")
    with pytest.raises(error, match="mine"):
        agents.load(tmp_path / "mine")


@pytest.mark.parametrize("name", KINDS)
def test_kinds_and_games_are_not_mixed_up(name: str, tmp_path: Path) -> None:
    write(tmp_path / "mine", name)
    for other in KINDS.keys() - {name}:
        with pytest.raises(ValueError, match=r"is for the game|it must be"):
            KINDS[other].read(tmp_path / "mine")

"""Mutated models of Stable-Baselines3: refused, or an agent that answers with legal actions."""

from __future__ import annotations

import io
import json
import tempfile
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator

from patchwork_env import agents, games
from tests.attack.mutations import mutate_bytes, mutate_text, mutate_tree
from tests.attack.sound import pick, refused_or, started

BATCH = 20

Members = dict[str, bytes]


def sb3(random: Generator) -> int:
    """Bytes that changed anywhere, other pickles, tensors and JSON in files that are whole."""
    rules = games.rules_of(games.PATCHWORK)
    states = np.concatenate([started(rules, random).state for _ in range(3)])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.zip")
        for number in range(BATCH):
            members = _saved(pick(random, ("network", "mlp")))
            contents = _packed(members if number % 4 == 0 else _changed(members, random))
            path.write_bytes(mutate_bytes(contents, random) if number % 4 == 0 else contents)
            agent = refused_or(agents.load, path, seed=1)
            actions = agent and refused_or(agent.act_batch, states)
            if actions is not None:
                for state, action in zip(states[:, None], actions, strict=True):
                    assert action in rules.game.from_state(state).legal_actions(), actions
    return BATCH


@cache
def _saved(kind: str) -> Members:
    """The members of a model's file that matter."""
    import torch

    from patchwork_env.agents.networks import NetworkConfig
    from patchwork_env.agents.patchwork.mlp import MlpConfig, MlpNetwork
    from patchwork_env.agents.patchwork.policy_network import PatchworkNetwork

    torch.manual_seed(1)
    sizes = {"width": 8, "depth": 1, "channels": 4, "features": False}
    if kind == "network":
        weights = PatchworkNetwork(NetworkConfig(**sizes)).state_dict()
        tensors: dict[str, Any] = {f"network.{name}": tensor for name, tensor in weights.items()}
        tensors["_extra_state"] = {"game": games.PATCHWORK, "network": sizes}
    else:
        tensors = dict(MlpNetwork(MlpConfig((8,))).state_dict())
    data = {
        "policy_class": {"__module__": "sb3_contrib.common.maskable.policies"},
        "policy_kwargs": {"activation_fn": "<class 'torch.nn.modules.activation.ReLU'>", "net_arch": [8]},
    }
    return {"data": json.dumps(data).encode(), "policy.pth": _tensors(tensors)}


def _tensors(tensors: Any) -> bytes:
    import torch

    buffer = io.BytesIO()
    torch.save(tensors, buffer)
    return buffer.getvalue()


def _packed(members: Members) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, contents in members.items():
            archive.writestr(name, contents)
    return buffer.getvalue()


def _changed(members: Members, random: Generator) -> Members:
    """The members with one of them changed."""
    import torch

    kind = random.integers(4)
    data = members["data"].decode()
    if kind == 0:
        return members | {"data": json.dumps(mutate_tree(json.loads(data), random)).encode()}
    if kind == 1:
        return members | {"data": mutate_text(data, random).encode("utf-8", "surrogatepass")}
    if kind == 2:
        with zipfile.ZipFile(io.BytesIO(members["policy.pth"])) as inner:
            parts = {name: inner.read(name) for name in inner.namelist()}
        name = next(name for name in parts if name.endswith("data.pkl"))
        return members | {"policy.pth": _packed(parts | {name: mutate_bytes(parts[name], random)})}
    tensors = torch.load(io.BytesIO(members["policy.pth"]), weights_only=True)
    _change(tensors, random)
    return members | {"policy.pth": _tensors(tensors)}


def _change(tensors: dict[str, Any], random: Generator) -> None:
    """Changes an entry of a policy's tensors."""
    import torch

    name = pick(random, list(tensors))
    if not isinstance(tensors[name], torch.Tensor) or random.integers(2):
        odd = (7, "x", None, [], torch.tensor(1.0), torch.zeros(3).to_sparse(), torch.zeros(1).expand(2**40))
        tensors[name] = (
            mutate_tree(tensors[name], random) if isinstance(tensors[name], dict) else pick(random, odd)
        )
    else:
        tensors[name].view(-1)[0] = pick(random, (float("nan"), float("inf"), 3e38, 0.0))


ATTACKS = {"sb3": sb3}
SLOW = {"sb3"}

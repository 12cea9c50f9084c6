"""Mutated ONNX files: refused, or an agent that answers with legal actions or says that it cannot."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.random import Generator

from patchwork_env import games
from tests.attack.mutations import mutate_bytes, mutate_text
from tests.attack.sound import pick, refused_or, started

BATCH = 20


def onnx(random: Generator) -> int:
    """Bytes that changed anywhere, and models with other weights, nodes, names, shapes or metadata."""
    from patchwork_env.agents.patchwork.onnx_agent import OnnxAgent

    contents = _exported()
    states = np.concatenate([started(games.rules_of(games.PATCHWORK), random).state for _ in range(3)])
    for number in range(BATCH):
        model = mutate_bytes(contents, random) if number % 2 else _changed(contents, random)
        agent = refused_or(OnnxAgent, model, sample=bool(random.integers(2)), seed=1)
        if agent is None:
            continue
        for state in states[:, None]:
            actions = refused_or(agent.act_batch, state)
            if actions is not None:
                game = games.rules_of(games.PATCHWORK).game.from_state(state)
                assert actions.shape == (1,), actions
                assert actions[0] in game.legal_actions(), actions
    return BATCH


@cache
def _exported() -> bytes:
    import torch

    from patchwork_env.agents.networks import NetworkConfig
    from patchwork_env.agents.patchwork.onnx_export import policy_to_onnx
    from patchwork_env.agents.patchwork.policy_network import PatchworkNetwork

    torch.manual_seed(1)
    return policy_to_onnx(PatchworkNetwork(NetworkConfig(width=8, depth=1, channels=4)).eval())


def _changed(contents: bytes, random: Generator) -> bytes:
    """The model with one or two parts changed."""
    import onnx

    model = onnx.load_from_string(contents)
    for _ in range(random.integers(1, 3)):
        kind = random.integers(6)
        if kind == 0:
            entry = pick(random, model.metadata_props)
            entry.value = mutate_text(entry.value, random).encode("utf-8", "replace").decode()
        elif kind == 1:
            _change_weights(pick(random, model.graph.initializer), random)
        elif kind == 2:
            tensor = pick(random, model.graph.initializer)
            if tensor.dims:
                tensor.dims[random.integers(len(tensor.dims))] = pick(random, (0, 1, 7, -1, 2**40))
        elif kind == 3:
            node = pick(random, model.graph.node)
            node.op_type = pick(random, model.graph.node).op_type
        elif kind == 4:
            model.graph.node.remove(pick(random, model.graph.node))
        else:
            value = pick(random, [*model.graph.output, *model.graph.input])
            value.name = pick(random, (value.name + "x", "action", "value", "observation"))
    return model.SerializeToString()


def _change_weights(tensor: Any, random: Generator) -> None:
    if tensor.raw_data:
        values = np.frombuffer(tensor.raw_data, np.uint8).copy()
        values[random.integers(len(values), size=8)] = random.integers(256, size=8)
        odd = np.frombuffer(np.float32(pick(random, (np.nan, np.inf, 3e38, 0))).tobytes(), np.uint8)
        values[-4:] = odd[-len(values) :]  # some weights are single flags
        tensor.raw_data = values.tobytes()


ATTACKS = {"onnx": onnx}
SLOW = {"onnx"}

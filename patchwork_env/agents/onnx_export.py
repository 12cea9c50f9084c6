"""Policies as ONNX files, which play without PyTorch. Needs the extra ``export``.

:mod:`~patchwork_env.agents.onnx_agent` describes the model and plays it.
"""

from __future__ import annotations

import copy
import json
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import onnx
import torch
from torch import Tensor, nn

from patchwork_env.agents.network import NUM_KINDS, PatchworkNetwork
from patchwork_env.agents.onnx_agent import FORMAT, GAME, INPUTS, OUTPUTS, VERSION
from patchwork_env.agents.ragged import TIE
from patchwork_env.patchwork.actions import FIRST_BUY, FIRST_SPECIAL, NUM_ACTIONS
from patchwork_env.patchwork.components import NUM_OFFERED
from patchwork_env.patchwork.observation import OBSERVATION_SIZE

OPSET = 20
"""onnxruntime reads it from version 1.17 on."""
_CHOICE = "action is the most probable placement of the most probable kind of move"
_IMPOSSIBLE = -1e9


def policy_to_onnx(network: PatchworkNetwork, info: dict[str, Any] | None = None) -> bytes:
    """The contents of an ONNX file that holds a policy.

    Args:
        network: The policy; it is left as it is.
        info: What to remember of its making; JSON.
    """
    policy = DensePolicy(copy.deepcopy(network).cpu()).eval()
    examples = torch.zeros(2, OBSERVATION_SIZE), torch.ones(2, NUM_ACTIONS, dtype=torch.int8)
    n = torch.export.Dim("n")
    with _quiet():
        program = torch.onnx.export(
            policy,
            examples,
            dynamo=True,
            opset_version=OPSET,
            input_names=INPUTS,
            output_names=OUTPUTS,
            dynamic_shapes=({0: n}, {0: n}),
            verbose=False,
        )
    assert program is not None  # as it is with dynamo=True
    model = program.model_proto
    description = {"format": FORMAT, "version": str(VERSION), "game": GAME, "choice": _CHOICE}
    onnx.helper.set_model_props(model, {**description, "info": json.dumps(info or {})})
    onnx.checker.check_model(model, full_check=True)
    contents: bytes = model.SerializeToString()
    return contents


class DensePolicy(nn.Module):
    """The same policy and value as the network's, from masks and for all 2026 actions instead of from lists.

    Args:
        network: Whose weights it uses.
    """

    def __init__(self, network: PatchworkNetwork) -> None:
        super().__init__()
        self.network = network

    def forward(self, observation: Tensor, action_mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Evaluates a batch: see :mod:`~patchwork_env.agents.onnx_agent`."""
        legal = action_mask != 0
        kind_logits, scores, values = self.network.scores(observation)
        groups = _by_kind(torch.cat([torch.zeros_like(scores[:, :1]), scores], 1))
        masks = _by_kind(legal)
        possible = torch.stack([mask.any(1) for mask in masks], 1)
        kinds = kind_logits.masked_fill(~possible, _IMPOSSIBLE).log_softmax(1)
        placements = [
            group.masked_fill(~mask, _IMPOSSIBLE).log_softmax(1)
            for group, mask in zip(groups, masks, strict=True)
        ]
        joint = torch.cat([kinds[:, k : k + 1] + placements[k] for k in range(NUM_KINDS)], 1)
        log_probabilities = joint.masked_fill(~legal, -torch.inf)
        return _choose(kinds, placements), log_probabilities, values


def _by_kind(of_actions: Tensor) -> tuple[Tensor, ...]:
    """What ``(n, 2026)`` says of the actions of each kind: advance, the three slots, special patch."""
    slot = (FIRST_SPECIAL - FIRST_BUY) // NUM_OFFERED
    return torch.split(of_actions, [FIRST_BUY, *[slot] * NUM_OFFERED, NUM_ACTIONS - FIRST_SPECIAL], 1)


def _choose(kinds: Tensor, placements: list[Tensor]) -> Tensor:
    """The action as :func:`~patchwork_env.agents.ragged.most_probable` chooses it, int64 ``(n,)``."""
    begin, best = 0, []
    for scores in placements:
        is_best = scores >= scores.amax(1, keepdim=True) - TIE
        best.append(begin + is_best.float().argmax(1))  # the first one
        begin += scores.shape[1]
    return torch.stack(best, 1).gather(1, kinds.argmax(1, keepdim=True)).squeeze(1)


@contextmanager
def _quiet() -> Iterator[None]:
    """Without PyTorch's remarks about its own insides: deprecations, and libraries that are not there."""
    logger = logging.getLogger("torch.onnx")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(before)

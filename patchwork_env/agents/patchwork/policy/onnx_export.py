"""Export of policies as ONNX files, which play without PyTorch. Needs the extra ``export``.

:mod:`~patchwork_env.agents.patchwork.policy.onnx_agent` describes the model and plays it.
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

from patchwork_env.agents.patchwork.policy.dense import DensePolicy
from patchwork_env.agents.patchwork.policy.network import PatchworkNetwork
from patchwork_env.agents.patchwork.policy.onnx_agent import FORMAT, INPUTS, OUTPUTS, VERSION
from patchwork_env.games import PATCHWORK
from patchwork_env.patchwork.actions import NUM_ACTIONS
from patchwork_env.patchwork.observation import OBSERVATION_SIZE

OPSET = 20  # the version of the ONNX operators; onnxruntime reads it from version 1.17 on


def policy_to_onnx(network: PatchworkNetwork, info: dict[str, Any] | None = None) -> bytes:
    """Return the contents of an ONNX file that holds a policy.

    Args:
        network: The policy, which does not change.
        info: A description of how the policy was made, JSON, for the metadata.
    """
    twin = DensePolicy(copy.deepcopy(network).cpu())
    choice = "the most probable placement of the most probable kind of move"
    shapes = {OBSERVATION_SIZE: torch.float32, NUM_ACTIONS: torch.int8}
    examples = tuple(torch.ones(2, size, dtype=dtype, device="cpu") for size, dtype in shapes.items())
    n = torch.export.Dim("n")
    with _quiet():
        program = torch.onnx.export(
            twin.eval(),
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
    description = {"format": FORMAT, "version": str(VERSION), "game": PATCHWORK, "choice": choice}
    onnx.helper.set_model_props(model, {**description, "info": json.dumps(info or {})})
    onnx.checker.check_model(model, full_check=True)
    contents: bytes = model.SerializeToString()
    return contents


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence PyTorch's warnings about its own internals: deprecations, and libraries that are missing."""
    logger = logging.getLogger("torch.onnx")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(before)

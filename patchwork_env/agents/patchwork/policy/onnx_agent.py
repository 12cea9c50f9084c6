"""Agents that play a policy from an ONNX file. Needs onnxruntime (the extra ``onnx``), but not PyTorch.

Such a file holds one model, which `onnx_export` writes. It computes for a batch of any size ``n``:

=====================  ======================  ===============================================================
input or output        content
=====================  ======================  ===============================================================
``observation``        float32 ``(n, 307)``    observations of the players to move
``action_mask``        int8 ``(n, 2026)``      1 for the legal actions, at least one in every row; else 0
``action``             int64 ``(n,)``          the agent's actions; see ``choice`` in the metadata
``log_probabilities``  float32 ``(n, 2026)``   of all actions; minus infinity for those that are not legal
``value``              float32 ``(n,)``        the expected returns of the players to move
=====================  ======================  ===============================================================
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from patchwork_env.agents.base import Actions, SamplingAgent, views_of
from patchwork_env.agents.ragged import sample_legal
from patchwork_env.core.batches import first_illegal, loop
from patchwork_env.core.names import short_repr
from patchwork_env.games import PATCHWORK
from patchwork_env.patchwork.actions import NUM_ACTIONS
from patchwork_env.patchwork.observation import OBSERVATION_SIZE
from patchwork_env.patchwork.rules import RULES
from patchwork_env.patchwork.state import States

FORMAT = "patchwork_env policy"
VERSION = 1
INPUTS = ("observation", "action_mask")
_SHAPES = {"observation": ("tensor(float)", OBSERVATION_SIZE), "action_mask": ("tensor(int8)", NUM_ACTIONS)}
_RESULTS: dict[str, tuple[str, tuple[int, ...]]] = {
    "action": ("int64", ()),
    "log_probabilities": ("float32", (NUM_ACTIONS,)),
    "value": ("float32", ()),
}
OUTPUTS = tuple(_RESULTS)
_BATCH = 256  # the most states that are evaluated at once; each may take almost a megabyte


class OnnxAgent(SamplingAgent):
    """Plays the policy of an ONNX model, the contents of a file, through onnxruntime.

    Unless it samples, it plays the model's ``action``. ValueError if the model is damaged, of another game,
    or of a version that this library does not read.
    """

    games = (PATCHWORK,)

    def __init__(
        self, model: bytes, name: str = "onnx", *, sample: bool = False, seed: int | None = None
    ) -> None:
        super().__init__(name, sample, seed)
        self._model = model
        self.workspace()  # raises now if the model is malformed

    def _new_workspace(self) -> onnxruntime.InferenceSession:
        return _start(self._model, self.name)

    def act_batch(self, states: States) -> Actions:
        self.check_states(states)
        if not self.sample:
            actions: Actions = self._run(states, "action")[0]
            illegal = int(loop(first_illegal, RULES)(states, actions))
            if illegal >= 0:
                raise ValueError(f"{self.name} chooses action {actions[illegal]}, which is not legal")
            return actions
        (log_probabilities,) = self._run(states, "log_probabilities")
        if np.isnan(log_probabilities).any():
            raise ValueError(f"{self.name} gives probabilities that are not numbers")
        return sample_legal(states, log_probabilities, self._random)

    def _run(self, states: States, *outputs: str) -> list[Any]:
        if len(states) <= _BATCH:
            return self._run_batch(states, *outputs)
        parts = [self._run_batch(states[k : k + _BATCH], *outputs) for k in range(0, len(states), _BATCH)]
        return [np.concatenate(results) for results in zip(*parts, strict=True)]

    def _run_batch(self, states: States, *outputs: str) -> list[Any]:
        try:
            feed = dict(zip(INPUTS, views_of(states), strict=True))
            results: list[Any] = self.workspace().run(outputs, feed)
        except Exception as error:  # onnxruntime's errors have no other common base
            raise ValueError(f"{self.name} cannot be evaluated: {short_repr(str(error), 300)}") from None
        for output, result in zip(outputs, results, strict=True):
            dtype, shape = _RESULTS[output]
            if result.dtype != dtype or result.shape != (len(states), *shape):
                given = f"{result.dtype} {result.shape}"
                raise ValueError(f"{self.name} gives as {output} {given}, not {dtype} {('n', *shape)}")
        return results


def load(path: str | Path, seed: int | None = None, *, sample: bool = False) -> OnnxAgent:
    """Return the agent that plays the policy of an ONNX file, which must be there; see :class:`OnnxAgent`."""
    path = Path(path)
    if not os.path.isfile(path):
        raise FileNotFoundError(f"there is no ONNX file at {short_repr(str(path), 200)}")
    try:
        return OnnxAgent(path.read_bytes(), path.name, sample=sample, seed=seed)
    except ValueError as error:
        raise ValueError(f"{path.parent}: {error}") from None


def _start(model: bytes, name: str) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        metadata = session.get_modelmeta().custom_metadata_map
        inputs = {node.name: (node.type, *node.shape[1:]) for node in session.get_inputs()}
        outputs = [node.name for node in session.get_outputs()]
    except Exception as error:  # onnxruntime's errors have no other common base
        is_text = not isinstance(error, UnicodeDecodeError)
        reason = short_repr(str(error), 300) if is_text else "a name in it is not UTF-8"
        raise ValueError(f"{name} is not an ONNX model that onnxruntime reads: {reason}") from None
    for key, value in {"format": FORMAT, "version": str(VERSION), "game": PATCHWORK}.items():
        if metadata.get(key) != value:
            found = metadata.get(key)
            raise ValueError(f"{name} is an ONNX model with {key} {short_repr(found)}; it must be {value!r}")
    if inputs != _SHAPES:
        raise ValueError(f"{name} has the inputs {short_repr(inputs, 300)}; they must be {_SHAPES}")
    if not set(OUTPUTS) <= set(outputs):
        raise ValueError(f"{name} has the outputs {short_repr(outputs, 300)}; they must include {OUTPUTS}")
    return session

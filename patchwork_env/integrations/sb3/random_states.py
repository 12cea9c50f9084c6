"""The global random numbers that Stable-Baselines3 draws from, kept apart from those of all other code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor

from patchwork_env.core.checks import check_between
from patchwork_env.learning.algorithms.common.state import State

_KEY_LENGTH = 624
"""The number of words in the state of NumPy's global generator, a Mersenne Twister."""


class RandomStates:
    """States of PyTorch's and NumPy's global generators that go on as if nobody else used the generators.

    Args:
        seed: The seed of both, ``0 ... 2**64 - 1``.
    """

    def __init__(self, seed: int) -> None:
        others = _get()
        torch.manual_seed(seed)
        np.random.seed(np.random.SeedSequence(seed).generate_state(4))  # noqa: NPY002
        self._states = _get()
        _set(*others)

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Lets the generators go on from these states within the block, and as before after it."""
        others = _get()
        _set(*self._states)
        try:
            yield
        finally:
            self._states = _get()
            _set(*others)

    def state_dict(self) -> State:
        """The states, for :meth:`load_state_dict`."""
        of_torch, of_numpy = self._states
        key = of_numpy["state"]["key"].tolist()
        of_numpy = of_numpy | {"state": {"key": key, "pos": of_numpy["state"]["pos"]}}
        return {"torch": of_torch, "numpy": of_numpy}

    def load_state_dict(self, state: State) -> None:
        """Goes on from :meth:`state_dict`.

        Raises:
            KeyError, TypeError, ValueError, RuntimeError: The state does not fit.
        """
        others = _get()
        try:
            check_between(state["numpy"]["state"]["pos"], 0, _KEY_LENGTH, "pos")  # NumPy itself does not
            _set(state["torch"], state["numpy"])
            self._states = _get()
        finally:
            _set(*others)


def _get() -> tuple[Tensor, dict[str, Any]]:
    return torch.get_rng_state(), np.random.get_state(legacy=False)  # noqa: NPY002


def _set(of_torch: Tensor, of_numpy: dict[str, Any]) -> None:
    torch.set_rng_state(of_torch)
    np.random.set_state(of_numpy)  # noqa: NPY002

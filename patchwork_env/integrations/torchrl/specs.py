"""The action spec of batches of games."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torchrl.data import Categorical


class LegalActions(Categorical):
    """A ``Categorical`` that draws legal actions, in a fiftieth of the time that a ``Categorical`` takes.

    ``Categorical.rand`` draws a random number for every action of every game, and so does
    ``torch.multinomial``; here it is one for every game. Clones share the mask, so that what TorchRL makes of
    the spec, such as that of a ``TransformedEnv`` or a collector's ``RandomPolicy``, follows the games as the
    spec of the environment does, with ``ActionMask`` or without. Those of ``SerialEnv`` and ``ParallelEnv``
    are of another shape, and know masks by ``ActionMask`` alone. All else is that of ``Categorical``.
    """

    @property
    def mask(self) -> Tensor | None:
        """The legal actions, bool ``(*shape, n)``; None before they are known."""
        mask: Tensor | None = self._shared.get("mask")
        return mask

    @mask.setter
    def mask(self, mask: Tensor | None) -> None:
        self.__dict__.setdefault("_shared", {})["mask"] = mask

    def clone(self) -> LegalActions:
        """A clone that shares the mask."""
        clone = self.__class__(n=self.space.n, shape=self.shape, device=self.device, dtype=self.dtype)
        clone._shared = self._shared
        return clone

    def rand(self, shape: Any = None) -> Tensor:
        """Uniformly random legal actions, ``(*shape, *self.shape)``, drawn with PyTorch's random numbers.

        Raises:
            RuntimeError: A game has no legal action, or the legal actions are not known.
        """
        mask = self.mask
        if mask is None:
            raise RuntimeError(
                "the legal actions to draw from are not known: call reset(), and put the transform "
                "ActionMask around a SerialEnv or ParallelEnv"
            )
        masks = mask.expand(*(shape or ()), *mask.shape)
        rows = masks.reshape(-1, masks.shape[-1]).cpu().numpy()
        columns = _draw(rows, torch.rand(len(rows), dtype=torch.float64).numpy())
        return torch.from_numpy(columns).view(masks.shape[:-1]).to(self.device, self.dtype)


def _draw(masks: np.ndarray[Any, Any], uniforms: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """One column that is True for each row, int64 ``(n,)``, by random numbers ``(n,)`` below 1."""
    count, columns = masks.shape
    places = np.flatnonzero(masks)
    bounds = np.searchsorted(places, np.arange(count + 1) * columns)
    legal = np.diff(bounds)
    if not legal.all():
        raise RuntimeError(f"game {int(legal.argmin())} has no legal action to draw from")
    drawn: np.ndarray[Any, Any] = places[bounds[:-1] + (uniforms * legal).astype(np.int64)]
    return drawn % columns

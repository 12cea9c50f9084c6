"""Observations as one vector or as named tensors with the same content, for every game."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np
import numpy.typing as npt

from patchwork_env.core.compile import kernel
from patchwork_env.core.names import short_repr

Observation = npt.NDArray[np.float32]
Shape = tuple[int, ...]


class Layout:
    """The layout of named tensors in a vector: concatenated, each flattened row by row.

    Attributes:
        shapes, slices: The shapes of the tensors and their slices of the vector, by name and in order.
        size: The length of the vector.
        upper_bounds: float32 ``(size,)``, the highest value of each entry, 1 unless the game changes it; the
            lowest value is 0.
    """

    def __init__(self, shapes: Mapping[str, Shape]) -> None:
        ends = np.cumsum([prod(shape) for shape in shapes.values()]).tolist()
        self.shapes = dict(shapes)
        self.slices = {
            name: slice(begin, end) for name, begin, end in zip(shapes, [0, *ends], ends, strict=False)
        }
        self.size: int = ends[-1]
        self.upper_bounds: Observation = np.ones(self.size, np.float32)

    def as_dict(self, vector: Observation) -> dict[str, Observation]:
        """Return views ``(..., *shape)`` of vectors ``(..., size)`` by name, else ValueError."""
        if getattr(vector, "shape", ())[-1:] != (self.size,):
            raise ValueError(f"observations have {self.size} entries each, unlike {short_repr(vector)}")
        batch = vector.shape[:-1]
        return {
            name: vector[..., self.slices[name]].reshape(*batch, *shape)
            for name, shape in self.shapes.items()
        }


def shares(counts: npt.ArrayLike, whole: int) -> Observation:
    """Return the table ``counts / whole``, float32; kernels look up faster than they divide."""
    return np.asarray(counts, np.float32) / np.float32(whole)


@kernel
def read_number(feature: float, scale: int, most: int) -> int:
    """Return ``feature * scale``, rounded and clipped to ``0 ... most``; 0 for NaN."""
    return int(min(max(feature * scale + 0.5, 0), most)) if feature == feature else 0

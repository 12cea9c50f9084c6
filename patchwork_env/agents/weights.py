"""Reading the weights of a checkpoint, whose file may be damaged, foreign or made to do harm.

The header of a safetensors file tells names, shapes and types. They are compared with what a checkpoint must
hold before anything is allocated: sizes that ``checkpoint.json`` promises cost nothing if the file does not
have them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open

from patchwork_env.core.documents import one_line
from patchwork_env.core.names import short_repr

Shapes = Mapping[str, tuple[int, ...]]
"""The shapes of arrays by name."""
_Headers = Mapping[str, tuple[object, ...]]
"""Type and shape of arrays by name."""
_MOST_PROBLEMS = 3
"""How many arrays that do not fit a message lists."""


def read_arrays(path: Path, shapes: Shapes, what: str) -> dict[str, npt.NDArray[np.float32]]:
    """The arrays of a file of weights, which must be of these shapes, of float32, and finite.

    Args:
        path: The file, in the format safetensors.
        shapes: The shapes that the arrays must have, by name.
        what: What has such arrays, for messages.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: It is damaged, or holds other arrays or numbers that are not finite.
    """
    if not path.is_file():
        raise FileNotFoundError(f"{path.parent} is no checkpoint: {path.name} is missing")
    try:
        with safe_open(path, "numpy") as file:
            names = file.keys()
            headers = {name: file.get_slice(name) for name in names}
            found = {name: (header.get_dtype(), *header.get_shape()) for name, header in headers.items()}
            problems = _differences(found, {name: ("F32", *shape) for name, shape in shapes.items()})
            arrays = {} if problems else {name: file.get_tensor(name) for name in shapes}
    except SafetensorError as error:
        problems = [one_line(str(error))]
    problems = problems or [f"{name} is not finite" for name in not_finite(arrays)]
    if problems:
        more = "; …" if len(problems) > _MOST_PROBLEMS else ""
        raise ValueError(
            f"{path} does not hold the weights of {what}: {'; '.join(problems[:_MOST_PROBLEMS])}{more}"
        )
    return arrays


def not_finite(arrays: Mapping[str, npt.NDArray[np.float32]]) -> list[str]:
    """The names of the arrays that hold NaN or an infinity."""
    return [name for name, array in arrays.items() if not np.isfinite(array).all()]


def _differences(found: _Headers, needed: _Headers) -> list[str]:
    """Phrases that say in which arrays two headers differ."""
    missing = [f"{name} is missing" for name in needed if name not in found]
    unknown = [f"{short_repr(name)} is unknown" for name in found if name not in needed]
    other = [
        f"{name} is {_shown(found[name])}, not {_shown(needed[name])}"
        for name in needed
        if name in found and found[name] != needed[name]
    ]
    return missing + unknown + other


def _shown(header: tuple[object, ...]) -> str:
    dtype, *shape = header
    return f"{dtype} {shape}"

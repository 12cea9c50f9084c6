"""Checkpoints: folders with ``checkpoint.json`` and ``weights.safetensors``. Nothing here needs PyTorch.

Loading executes no code; and what ``checkpoint.json`` promises is compared with the header of the weights
before anything is allocated, so that sizes cost nothing if the file does not have them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from patchwork_env.core.documents import one_line, read_json
from patchwork_env.core.names import short_repr
from patchwork_env.games import GAMES, rules_of

FORMAT = "patchwork_env checkpoint"
VERSION = 1
CHECKPOINT_FILE, WEIGHTS_FILE = "checkpoint.json", "weights.safetensors"
"""The description, which makes a folder a checkpoint, and the weights."""
NETWORK, VALUE = "network", "value"
"""Kinds of policies, as checkpoints call them."""
SHIPPED_FOLDER = Path(__file__).parent / "shipped"
"""The checkpoints that come with the package; each has the name of its folder."""

Shapes = Mapping[str, tuple[int, ...]]  # the shapes of arrays by name


def write_checkpoint(
    folder: Path,
    game: str,
    kind: str,
    network: Mapping[str, Any],
    weights: Mapping[str, Any],
    info: Mapping[str, Any] | None = None,
    reads: Sequence[str] = (),
) -> None:
    """Write the two files of a checkpoint into an existing folder; ``core.files.write_folder`` makes one.

    The ``kind`` of policy decides what can play it. ``network``, its sizes, and ``info``, facts on how it was
    made, are JSON; ``weights`` are arrays or tensors by name.
    ``reads`` names the tensors of observations that the policy reads, in the order of its weights.
    """
    description = {"format": FORMAT, "version": VERSION, "game": game, "policy": kind}
    description |= {"network": dict(network), "info": dict(info or {})}
    if reads:
        shapes = rules_of(game).layout.shapes
        description["observation"] = {name: list(shapes[name]) for name in reads}
    (folder / CHECKPOINT_FILE).write_text(json.dumps(description, indent=1) + "\n", encoding="utf-8")
    write_tensors(folder / WEIGHTS_FILE, weights)


def write_tensors(path: Path, tensors: Mapping[str, Any]) -> None:
    """Write arrays, or tensors of any device, to a safetensors file."""
    # save_file() of the library would let only the owner read the file.
    path.write_bytes(save({name: _as_array(tensor) for name, tensor in tensors.items()}))


def _as_array(tensor: Any) -> npt.NDArray[Any]:
    return np.asarray(tensor.detach().cpu() if hasattr(tensor, "detach") else tensor, order="C")


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint folder whose description has been read and validated; its weights are read on demand.

    Attributes:
        folder: The folder that holds the two files.
        game: The name of the game.
        kind: The kind of policy, which decides what can play it.
        network: The settings of the network, as they stand in the file; the kind validates them.
        info: Facts on how the policy was made.
        reads: The tensors of observations that the policy reads, in the order of its weights; empty where the
            file names none, for those that its network reads by default.
        name: The name of agents that play it: that of the folder, or of the commit on the Hugging Face Hub.
    """

    folder: Path
    game: str
    kind: str
    network: Any
    info: dict[str, Any]
    reads: tuple[str, ...]
    name: str

    @property
    def file(self) -> Path:
        """The file of the description, for messages."""
        return self.folder / CHECKPOINT_FILE

    @property
    def is_shipped(self) -> bool:
        """Whether the checkpoint comes with the package."""
        return self.folder.parent == SHIPPED_FOLDER

    def check(self, game: str, kind: str) -> None:
        """Raise ValueError unless the checkpoint is of a game and a kind."""
        if self.game != game:
            raise ValueError(f"{self.file} is for the game {self.game!r}, not for {game!r}")
        if self.kind != kind:
            raise ValueError(f"the policy of {self.folder} is {short_repr(self.kind)}; it must be {kind!r}")

    def arrays(self, shapes: Shapes, what: str) -> dict[str, npt.NDArray[np.float32]]:
        """Return the weights, which must be of these shapes, of float32, and finite.

        FileNotFoundError if there is no such file, ValueError if it is damaged or holds anything else;
        messages call what has such weights ``what``.
        """
        path = self.folder / WEIGHTS_FILE
        if not path.is_file():
            raise FileNotFoundError(f"{self.folder} is no checkpoint: {WEIGHTS_FILE} is missing")
        try:
            with safe_open(path, "numpy") as file:
                slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
                found = {name: f"{part.get_dtype()} {part.get_shape()}" for name, part in slices.items()}
                problems = _differences(found, {name: f"F32 {list(shape)}" for name, shape in shapes.items()})
                arrays = {} if problems else {name: file.get_tensor(name) for name in shapes}
        except SafetensorError as error:
            problems = [one_line(str(error))]
        problems = problems or [f"{name} is not finite" for name in not_finite(arrays)]
        if problems:
            raise ValueError(f"{path} does not hold the weights of {what}: {'; '.join(problems[:3])}")
        return arrays


def read_checkpoint(folder: Path) -> Checkpoint:
    """Read and validate the description of a checkpoint.

    FileNotFoundError if there is no such file, ValueError if it is damaged, or of another format or version.
    """
    path = folder / CHECKPOINT_FILE
    if not path.is_file():
        raise FileNotFoundError(f"{folder} is no checkpoint: {CHECKPOINT_FILE} is missing")
    description = read_json(path)
    if not isinstance(description, dict) or description.get("format") != FORMAT:
        raise ValueError(f"{path} does not describe a checkpoint: its format is not {FORMAT!r}")
    if description.get("version") != VERSION:
        given = short_repr(description.get("version"))
        raise ValueError(f"{path} has version {given}; this library reads version {VERSION}")
    if (game := description.get("game")) not in tuple(GAMES):
        allowed = " or ".join(map(repr, GAMES))
        raise ValueError(f"{path} is for the game {short_repr(game)}, not for {allowed}")
    for key, kind_of, needed in (("info", dict, "an object"), ("policy", str, "a kind's name")):
        if not isinstance(found := description.get(key), kind_of):
            raise ValueError(f"{path} is damaged: its {key} is {short_repr(found)}, not {needed}")
    reads = _tensors_read(description.get("observation", {}), game, path)
    kind, network, info = description["policy"], description.get("network"), description["info"]
    return Checkpoint(folder, game, kind, network, info, reads, folder.name)


def _tensors_read(shapes: Any, game: str, path: Path) -> tuple[str, ...]:
    """Return the names of the tensors that a description lists; ValueError if observations lack one."""
    if shapes == {}:
        return ()
    known = {name: list(shape) for name, shape in rules_of(game).layout.shapes.items()}
    if not isinstance(shapes, dict) or any(known.get(name) != shape for name, shape in shapes.items()):
        raise ValueError(
            f"{path} reads the tensors {short_repr(shapes, 200)} of observations; those of {game} are {known}"
        )
    return tuple(shapes)


def not_finite(arrays: Mapping[str, npt.NDArray[np.float32]]) -> list[str]:
    """Return the names of the arrays that hold NaN or an infinity."""
    return [name for name, array in arrays.items() if not np.isfinite(array).all()]


def _differences(found: Mapping[str, str], needed: Mapping[str, str]) -> list[str]:
    """Return the differences between two headers, types and shapes by name, in words."""
    wrong = [(name, found.get(name, "missing"), text) for name, text in needed.items()]
    unknown = [f"{short_repr(name)} is unknown" for name in found if name not in needed]
    return [f"{name} is {text}, not {right}" for name, text, right in wrong if text != right] + unknown

"""Checkpoints: folders with ``checkpoint.json`` and ``weights.safetensors``. This module needs no PyTorch.

Loading executes no code, and needs memory in proportion to the size of the files, even if they are damaged.
The weights of shipped checkpoints are compressed: see :func:`pack`.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, deserialize
from safetensors.numpy import save

from patchwork_env.core.documents import one_line, read_json
from patchwork_env.core.names import short_repr
from patchwork_env.games import GAMES, rules_of

FORMAT = "patchwork_env checkpoint"
VERSION = 1
CHECKPOINT_FILE, WEIGHTS_FILE = "checkpoint.json", "weights.safetensors"
"""The files of the description and of the weights."""
NETWORK, VALUE = "network", "value"
"""The kinds of policies in checkpoints."""
PACKED_FILE = f"{WEIGHTS_FILE}.packed"
"""The compressed weights of a shipped checkpoint."""
SHIPPED_FOLDER = Path(__file__).parent / "shipped"
"""The folder of the checkpoints that come with the package."""

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
    """Write the two files of a checkpoint into an existing folder, such as that of ``write_folder``.

    The ``kind`` of policy selects the agent that plays it. ``network`` has its sizes, ``info`` facts on how
    it was made; both are JSON. ``weights`` are arrays or tensors by name. ``reads`` names the tensors of
    observations that the policy reads, in the order of its weights.
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
    # The library's save_file() would make a file that only its owner can read.
    path.write_bytes(save({name: _as_array(tensor) for name, tensor in tensors.items()}))


def pack(weights: bytes) -> bytes:
    """Compress a file of float32 weights without loss: first bytes, then second ones, and so on, by zlib."""
    planes = np.frombuffer(weights, np.uint8).reshape(-1, 4).T
    packer = zlib.compressobj(zlib.Z_BEST_COMPRESSION, strategy=zlib.Z_FILTERED)
    return packer.compress(planes.tobytes()) + packer.flush()


def read_weights_file(folder: Path) -> bytes:
    """Return the bytes of a checkpoint's ``weights.safetensors``; FileNotFoundError if it has none.

    Only shipped files are decompressed: a small file from elsewhere could fill the memory.
    """
    if _is_shipped(folder):
        planes = np.frombuffer(zlib.decompress((folder / PACKED_FILE).read_bytes()), np.uint8)
        return planes.reshape(4, -1).T.tobytes()
    path = folder / WEIGHTS_FILE
    if not path.is_file():
        raise FileNotFoundError(f"{folder} is not a checkpoint: it has no {WEIGHTS_FILE}")
    return path.read_bytes()


def _is_shipped(folder: Path) -> bool:
    return folder.resolve().parent == SHIPPED_FOLDER.resolve()


def copy_checkpoint(source: Path, folder: Path) -> None:
    """Write the two files of a checkpoint, which may be a shipped one, into an existing folder."""
    (folder / CHECKPOINT_FILE).write_bytes((source / CHECKPOINT_FILE).read_bytes())
    (folder / WEIGHTS_FILE).write_bytes(read_weights_file(source))


def _as_array(tensor: Any) -> npt.NDArray[Any]:
    return np.asarray(tensor.detach().cpu() if hasattr(tensor, "detach") else tensor, order="C")


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint folder whose description has been read and validated; its weights are read on demand.

    Attributes:
        folder: The folder that holds the two files.
        game: The name of the game.
        kind: The kind of policy, which selects the agent that plays it.
        network: The settings of the network in the file, not validated yet.
        info: Facts on how the policy was made.
        reads: The tensors of observations that the policy reads, in the order of its weights. Empty if the
            file names none; the network then reads its default ones.
        name: The name of its agents: the folder's, or that of the commit on the Hugging Face Hub.
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
        return _is_shipped(self.folder)

    def check(self, game: str, kind: str) -> None:
        """Raise ValueError if the checkpoint is of another game or kind."""
        if self.game != game:
            raise ValueError(f"{self.file} is for the game {self.game!r}, not for {game!r}")
        if self.kind != kind:
            raise ValueError(f"the policy of {self.folder} is {short_repr(self.kind)}; it must be {kind!r}")

    def arrays(self, shapes: Shapes, what: str) -> dict[str, npt.NDArray[np.float32]]:
        """Return the weights, which must have these shapes, be float32, and finite.

        FileNotFoundError if there is no such file, ValueError if it is damaged or differs. Messages name the
        policy ``what``.
        """
        contents = read_weights_file(self.folder)
        arrays: dict[str, npt.NDArray[np.float32]] = {}
        tensors: dict[str, Any] = {}
        try:
            tensors.update(deserialize(contents))  # type: ignore[no-untyped-call]
            found = {name: f"{part['dtype']} {part['shape']}" for name, part in tensors.items()}
            problems = _differences(found, {name: f"F32 {list(shape)}" for name, shape in shapes.items()})
        except SafetensorError as error:
            problems = [one_line(str(error))]
        if not problems:
            for name, shape in shapes.items():
                arrays[name] = np.frombuffer(tensors[name]["data"], np.float32).reshape(shape)
            problems = [f"{name} is not finite" for name in not_finite(arrays)]
        if problems:
            raise ValueError(
                f"{self.folder / WEIGHTS_FILE} does not hold the weights of {what}: {'; '.join(problems[:3])}"
            )
        return arrays


def read_checkpoint(folder: Path) -> Checkpoint:
    """Read and validate the description of a checkpoint.

    FileNotFoundError if there is no such file, ValueError if it is damaged, or of another format or version.
    """
    path = folder / CHECKPOINT_FILE
    if not path.is_file():
        raise FileNotFoundError(f"{folder} is not a checkpoint: it has no {CHECKPOINT_FILE}")
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
    """Return the names of the tensors in a description; ValueError if observations have no such one."""
    if shapes == {}:
        return ()
    known = {name: list(shape) for name, shape in rules_of(game).layout.shapes.items()}
    if not isinstance(shapes, dict) or any(known.get(name) != shape for name, shape in shapes.items()):
        raise ValueError(
            f"{path} reads the tensors {short_repr(shapes, 200)} of observations; those of {game} are {known}"
        )
    return tuple(shapes)


def not_finite(arrays: Mapping[str, npt.NDArray[np.float32]]) -> list[str]:
    """Return the names of the arrays that contain NaN or infinity."""
    return [name for name, array in arrays.items() if not np.isfinite(array).all()]


def _differences(found: Mapping[str, str], needed: Mapping[str, str]) -> list[str]:
    """Return messages about the differences between two headers: types and shapes by name."""
    wrong = [(name, found.get(name, "missing"), text) for name, text in needed.items()]
    unknown = [f"{short_repr(name)} is unknown" for name in found if name not in needed]
    return [f"{name} is {text}, not {right}" for name, text, right in wrong if text != right] + unknown

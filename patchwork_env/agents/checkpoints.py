"""Checkpoints: folders with ``checkpoint.json`` and ``weights.safetensors``. Nothing here needs PyTorch.

This module reads and writes the descriptions, and writes folders as a whole or not at all.
:mod:`~patchwork_env.agents.checkpoint_tensors` reads and writes weights of PyTorch networks, and
:mod:`~patchwork_env.agents.compiled.files` those of compiled ones.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from patchwork_env.core.documents import read_json
from patchwork_env.core.names import shorten
from patchwork_env.games import GAMES

FORMAT = "patchwork_env checkpoint"
VERSION = 1
CHECKPOINT_FILE, WEIGHTS_FILE = "checkpoint.json", "weights.safetensors"
"""The description, which makes a folder a checkpoint, and the weights."""
NETWORK, MASKABLE_PPO, VALUE = "network", "maskable_ppo", "value"
"""Kinds of policies, as checkpoints call them; a checkpoint that names no kind holds the first of them."""
SHIPPED_FOLDER = Path(__file__).parent / "shipped"
"""The checkpoints that come with the package; each has the name of its folder."""
PARTIAL = ".partial"
"""The ending of names of files and folders that are not complete yet; such names begin with a dot."""
_REPLACED = "replaced"
"""The name within a temporary folder of the folder that is being replaced."""
_UNSYNCED = {errno.EACCES, errno.EBADF, errno.EINVAL, errno.ENOTSUP}
"""The error numbers of folders that cannot be synced."""


def is_shipped(path: str | Path) -> bool:
    """Whether a checkpoint folder is one of those that come with the package."""
    return Path(path).parent == SHIPPED_FOLDER


def write_description(
    folder: Path,
    kind: str,
    network: Mapping[str, Any],
    info: Mapping[str, Any] | None = None,
    *,
    game: str,
) -> None:
    """Writes ``checkpoint.json`` into an existing folder.

    Args:
        folder: The folder of the checkpoint.
        kind: The kind of policy, which says what can play it; see :func:`patchwork_env.agents.load`.
        network: The sizes from which the network is built; JSON.
        info: Facts to keep on how the policy was made; JSON.
        game: The name of the game that the policy plays.
    """
    description = {"format": FORMAT, "version": VERSION, "game": game, "policy": kind}
    description |= {"network": dict(network), "info": dict(info or {})}
    (folder / CHECKPOINT_FILE).write_text(json.dumps(description, indent=1) + "\n", encoding="utf-8")


def read_description(folder: Path, game: str | None = None, kind: str | None = None) -> dict[str, Any]:
    """The contents of ``checkpoint.json``, checked to be of this format and version and of a known game.

    Its ``game`` is the name of the game; its ``policy`` the kind of policy, ``"network"`` where the file
    names none.

    Args:
        folder: The folder of the checkpoint.
        game: The name of the game that the checkpoint must be for; None for any.
        kind: The kind of policy that the checkpoint must hold; None for any.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: The file is damaged, or is of another format, version, game or kind of policy.
    """
    path = folder / CHECKPOINT_FILE
    if not path.is_file():
        raise FileNotFoundError(f"{folder} is no checkpoint: {CHECKPOINT_FILE} is missing")
    description = read_json(path)
    if not isinstance(description, dict) or description.get("format") != FORMAT:
        raise ValueError(f"{path} does not describe a checkpoint: its format is not {FORMAT!r}")
    if description.get("version") != VERSION:
        raise ValueError(
            f"{path} has version {shorten(description.get('version'))}; this library reads version {VERSION}"
        )
    known = tuple(GAMES) if game is None else (game,)
    if description.get("game") not in known:
        allowed = " or ".join(map(repr, known))
        raise ValueError(f"{path} is for the game {shorten(description.get('game'))}, not for {allowed}")
    if not isinstance(description.get("info"), dict):
        raise ValueError(f"{path} is damaged: its info is {shorten(description.get('info'))}, not an object")
    if not isinstance(description.setdefault("policy", NETWORK), str):
        raise ValueError(
            f"{path} is damaged: its policy is {shorten(description['policy'])}, not a kind's name"
        )
    if kind is not None and description["policy"] != kind:
        raise ValueError(f"the policy of {folder} is {shorten(description['policy'])}; it must be {kind!r}")
    return description


def write_folder(folder: Path, write: Callable[[Path], None], *, replace: bool = False) -> None:
    """Has ``write`` fill a temporary folder and renames it: if ``folder`` exists, it is complete.

    Args:
        folder: The folder to write; its parents are created.
        write: A function that fills the folder that it is called with.
        replace: Whether a folder that exists is replaced, once the new one is complete.

    Raises:
        FileExistsError: The folder exists, and is not to be replaced.
    """
    if folder.exists() and not replace:
        raise FileExistsError(f"{folder} exists already")
    make_folder(folder.parent)
    with tempfile.TemporaryDirectory(PARTIAL, f".{folder.name}-", folder.parent) as temporary:
        filled, old = Path(temporary, folder.name), Path(temporary, _REPLACED)
        filled.mkdir()
        write(filled)
        for path in (*filled.iterdir(), filled):
            write_through(path)
        if folder.exists():
            for path in (filled.parent, folder.parent):
                write_through(path)  # so that one of both can be found whenever the power fails
        _rename(filled, folder, old)
        write_through(folder.parent)


def _rename(new: Path, folder: Path, old: Path) -> None:
    """Renames ``new`` to ``folder``, and ``folder`` to ``old`` if there is one."""
    if folder.exists():
        folder.rename(old)
    try:
        new.rename(folder)
    except BaseException:
        if old.exists():
            old.rename(folder)
        raise


def finish_replacing(temporary: Path) -> None:
    """Renames the new folder if :func:`write_folder` was stopped after it had taken the old one away.

    Args:
        temporary: A temporary folder that was left behind.
    """
    if (temporary / _REPLACED).exists():
        for filled in temporary.iterdir():
            folder = temporary.parent / filled.name
            if filled.name != _REPLACED and not folder.exists():
                filled.rename(folder)
                write_through(folder.parent)


def make_folder(folder: Path) -> None:
    """Creates a folder and its parents, where they do not exist, so that their names are on the disk."""
    if not folder.is_dir():
        make_folder(folder.parent)
        with contextlib.suppress(FileExistsError):  # if it is a file, what is written below it tells
            folder.mkdir()
        write_through(folder.parent)


def write_through(path: Path) -> None:
    """Waits until a file, or the names in a folder, are on the disk, so that nothing later is there first.

    Folders that cannot be opened or synced, as on some network drives, are left to the system.
    """
    try:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        if error.errno not in _UNSYNCED or not path.is_dir():
            raise

"""Checkpoints: folders with ``checkpoint.json`` and ``weights.safetensors``. Nothing here needs PyTorch.

This module reads and writes the descriptions; :func:`patchwork_env.core.files.write_folder` the folders.
:mod:`~patchwork_env.agents.checkpoint_tensors` reads and writes weights of PyTorch networks, and
:mod:`~patchwork_env.agents.compiled.files` those of compiled ones.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from patchwork_env.core.documents import read_json
from patchwork_env.core.names import short_repr
from patchwork_env.games import GAMES

FORMAT = "patchwork_env checkpoint"
VERSION = 1
CHECKPOINT_FILE, WEIGHTS_FILE = "checkpoint.json", "weights.safetensors"
"""The description, which makes a folder a checkpoint, and the weights."""
NETWORK, MASKABLE_PPO, VALUE = "network", "maskable_ppo", "value"
"""Kinds of policies, as checkpoints call them; a checkpoint that names no kind holds the first of them."""
SHIPPED_FOLDER = Path(__file__).parent / "shipped"
"""The checkpoints that come with the package; each has the name of its folder."""


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
            f"{path} has version {short_repr(description.get('version'))}; "
            f"this library reads version {VERSION}"
        )
    known = tuple(GAMES) if game is None else (game,)
    if description.get("game") not in known:
        allowed = " or ".join(map(repr, known))
        raise ValueError(f"{path} is for the game {short_repr(description.get('game'))}, not for {allowed}")
    if not isinstance(description.get("info"), dict):
        raise ValueError(
            f"{path} is damaged: its info is {short_repr(description.get('info'))}, not an object"
        )
    if not isinstance(description.setdefault("policy", NETWORK), str):
        raise ValueError(
            f"{path} is damaged: its policy is {short_repr(description['policy'])}, not a kind's name"
        )
    if kind is not None and description["policy"] != kind:
        raise ValueError(
            f"the policy of {folder} is {short_repr(description['policy'])}; it must be {kind!r}"
        )
    return description

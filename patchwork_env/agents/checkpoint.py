"""Policies on disk: a folder with ``checkpoint.json`` and ``weights.safetensors``. Loading never executes code."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from patchwork_env.agents.network import NetworkConfig, PatchworkNetwork

FORMAT = "patchwork_env checkpoint"
VERSION = 1
GAME = "patchwork"
DESCRIPTION_FILE = "checkpoint.json"
WEIGHTS_FILE = "weights.safetensors"


def save_policy(folder: Path, network: PatchworkNetwork, info: dict[str, Any] | None = None) -> None:
    """Writes a policy as a new checkpoint folder, all of it or nothing.

    Args:
        folder: Must not exist yet.
        network: The policy.
        info: What to remember of its making; JSON.

    Raises:
        FileExistsError: The folder exists.
    """
    write_folder(folder, lambda target: write_policy(target, network, info))


def write_policy(folder: Path, network: PatchworkNetwork, info: dict[str, Any] | None = None) -> None:
    """Writes the two files of a policy into an existing folder."""
    description = {
        "format": FORMAT,
        "version": VERSION,
        "game": GAME,
        "network": asdict(network.config),
        "info": info or {},
    }
    (folder / DESCRIPTION_FILE).write_text(json.dumps(description, indent=1) + "\n")
    save_file({name: tensor.detach().cpu().contiguous() for name, tensor in network.state_dict().items()},
              folder / WEIGHTS_FILE)  # fmt: skip


def write_folder(folder: Path, write: Callable[[Path], None]) -> None:
    """Fills a temporary folder with ``write`` and renames it, so that ``folder`` is complete if it exists."""
    if folder.exists():
        raise FileExistsError(f"{folder} exists already")
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        write(temporary)
        temporary.chmod(0o755)
        os.replace(temporary, folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def load_policy(folder: Path) -> tuple[PatchworkNetwork, dict[str, Any]]:
    """Reads a policy and what was remembered of its making.

    Raises:
        FileNotFoundError: There is no checkpoint.
        ValueError: It is damaged, of another game, or of a version that this library does not read.
    """
    description = read_description(folder)
    config = _network_config(description.get("network"), folder)
    network = PatchworkNetwork(config)
    weights = folder / WEIGHTS_FILE
    if not weights.is_file():
        raise FileNotFoundError(f"{folder} is no checkpoint: {WEIGHTS_FILE} is missing")
    try:
        network.load_state_dict(load_file(weights))
    except (SafetensorError, RuntimeError) as error:
        raise ValueError(f"{weights} does not hold the weights of this network: {error}") from None
    return network.eval(), description.get("info", {})


def read_description(folder: Path) -> dict[str, Any]:
    """The contents of ``checkpoint.json``, checked to be of this format, version and game.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: It is something else.
    """
    path = folder / DESCRIPTION_FILE
    if not path.is_file():
        raise FileNotFoundError(f"{folder} is no checkpoint: {DESCRIPTION_FILE} is missing")
    try:
        description = json.loads(path.read_text())
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is damaged: {error}") from None
    if not isinstance(description, dict) or description.get("format") != FORMAT:
        raise ValueError(f"{path} does not describe a checkpoint: its format is not {FORMAT!r}")
    if description.get("version") != VERSION:
        raise ValueError(f"{path} has version {description.get('version')!r}; this library reads version {VERSION}")
    if description.get("game") != GAME:
        raise ValueError(f"{path} is for the game {description.get('game')!r}, not for {GAME!r}")
    return description


def _network_config(sizes: Any, folder: Path) -> NetworkConfig:
    names = {field.name for field in fields(NetworkConfig)}
    if not isinstance(sizes, dict) or set(sizes) != names:
        raise ValueError(f"{folder / DESCRIPTION_FILE}: the network is {sizes!r}; it must give {sorted(names)}")
    return NetworkConfig(**sizes)

"""The programs that ``make site`` needs besides Python, and how to install them."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

LOCK = Path(__file__).parents[2] / "requirements.lock"
PINNED = ("numba", "llvmlite")
"""Packages whose internals the build relies on."""
LINKERS = ("wasm-ld", *(f"wasm-ld-{number}" for number in range(30, 18, -1)))
"""The names of LLVM's linker for WebAssembly, the newest first."""
OLDEST_LINKER, OLDEST_NODE = 19, 18


class MissingToolError(Exception):
    """A program or package is missing; the message is one line with the remedy."""


class Tools(NamedTuple):
    """The commands of the programs."""

    linker: str
    node: str


def find_tools() -> Tools:
    """The programs of this machine.

    Raises:
        MissingToolError: One is missing or too old, or a package is not the one of the lock.
    """
    check_versions(LOCK.read_text(encoding="utf-8"), {name: version(name) for name in PINNED})
    return Tools(_find_linker(), find_node())


def check_versions(lock: str, installed: Mapping[str, str]) -> None:
    """Checks that packages have the versions of a lock.

    Raises:
        MissingToolError: One has another.
    """
    for name, found in installed.items():
        match = re.search(rf"^{name}==(\S+)", lock, re.MULTILINE)
        if match is None or match[1] != found:
            wanted = match[1] if match else "any"
            raise MissingToolError(
                f"{name} is {found}, but requirements.lock has {wanted}: run make environment"
            )


def find_node() -> str:
    """The command of Node.js.

    Raises:
        MissingToolError: It is missing or too old.
    """
    return _new_enough(("node",), OLDEST_NODE, "Node.js", "apt-get install nodejs")


def _find_linker() -> str:
    return _new_enough(LINKERS, OLDEST_LINKER, "LLVM's linker wasm-ld", "apt-get install lld-22")


def _new_enough(names: tuple[str, ...], oldest: int, what: str, remedy: str) -> str:
    for name in names:
        command = shutil.which(name)
        if command and major_version(_told_version(command)) >= oldest:
            return command
    raise MissingToolError(f"{what} of version {oldest} or newer is not there: {remedy}")


def _told_version(command: str) -> str:
    done = subprocess.run([command, "--version"], capture_output=True, text=True, check=False)
    return done.stdout


def major_version(text: str) -> int:
    """The major version in the output of a program; 0 if it has none."""
    match = re.search(r"(\d+)\.\d+", text)
    return int(match[1]) if match else 0

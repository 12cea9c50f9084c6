"""Folders that store games during a tournament, so that it can be resumed.

    FOLDER/NAME.json       the settings, on which all games depend
    FOLDER/blocks/*.json   the games played so far, in parts

Files are written atomically.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from patchwork_env.core.documents import read_document, read_json
from patchwork_env.core.files import remove_partial, storing_in, write_text
from patchwork_env.core.names import short_repr
from patchwork_env.learning.system import exclusive_lock

_PARTS = "blocks"
_Part = TypeVar("_Part")


class GameStore:
    """The stored games of a folder, in parts with names; :func:`open_store` opens it."""

    def __init__(self, folder: Path) -> None:
        self._parts = folder / _PARTS

    def has(self, name: str) -> bool:
        """Return True if a part is stored."""
        return self._path(name).exists()

    def write(self, name: str, contents: Mapping[str, Any]) -> None:
        """Write a part as JSON."""
        with storing_in(self._parts):
            write_text(self._path(name), json.dumps(contents, separators=(",", ":")) + "\n")

    def read(self, name: str, parse: Callable[[Any], _Part]) -> _Part:
        """Return a part, converted by ``parse``; ValueError names a damaged file."""
        path = self._path(name)
        try:
            return parse(read_json(path))
        except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError) as error:
            raise ValueError(f"{path} is damaged ({error!r}): delete it to play its games again") from None

    def _path(self, name: str) -> Path:
        return self._parts / f"{name}.json"


@contextmanager
def open_store(folder: Path, kind: str, version: int, settings: Mapping[str, Any]) -> Iterator[GameStore]:
    """Open a folder of games for this process alone; create it and its parents if they do not exist.

    ``kind``, such as ``"tournament"``, names the file of the ``settings``, on which all games depend.

    Raises:
        ValueError: The folder holds games of other settings, which the message names, or is damaged, or is of
            another version.
        InUseError: Another process works in the folder.
        StorageError: The folder cannot be written.
    """
    with exclusive_lock(folder):
        path, form = folder / f"{kind}.json", f"patchwork-env {kind}"
        if path.exists():
            advice = ": play the games again in another folder"
            _check_same(read_document(path, form, version, advice), settings, folder, kind)
        with storing_in(folder):
            (folder / _PARTS).mkdir(exist_ok=True)
            remove_partial(folder)
            heading = {"format": form, "version": version}
            write_text(path, json.dumps(heading | dict(settings), indent=1) + "\n")
        yield GameStore(folder)


def _check_same(old: Mapping[str, Any], new: Mapping[str, Any], folder: Path, kind: str) -> None:
    differences = [
        f"{key} there: {short_repr(old.get(key))}, here: {short_repr(new[key])}"
        for key in new
        if old.get(key) != new[key]
    ]
    if differences:
        raise ValueError(
            f"{folder} holds {kind} games of other settings ({'; '.join(differences)}); "
            "give another folder, or the settings of this one"
        )

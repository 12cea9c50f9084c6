"""Folders that keep games as they are played, so that a tournament can be resumed.

    FOLDER/NAME.json       the settings, which decide all games
    FOLDER/blocks/*.json   the games that were played so far, in parts

Every file is complete or absent.
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
from patchwork_env.errors import OtherSettingsError
from patchwork_env.learning.system import exclusive_lock

_PARTS = "blocks"
_Part = TypeVar("_Part")


class GameStore:
    """The parts in a folder, by names; :func:`open_store` makes it."""

    def __init__(self, folder: Path) -> None:
        self._parts = folder / _PARTS

    def has(self, name: str) -> bool:
        """Return True if a part has been played."""
        return self._path(name).exists()

    def write(self, name: str, contents: Mapping[str, Any]) -> None:
        """Write a part as JSON."""
        with storing_in(self._parts):
            write_text(self._path(name), json.dumps(contents, separators=(",", ":")) + "\n")

    def read(self, name: str, parse: Callable[[Any], _Part]) -> _Part:
        """Return a part as ``parse`` makes it from the contents; ValueError names a file that is damaged."""
        path = self._path(name)
        try:
            return parse(read_json(path, finite=False))
        except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError) as error:
            raise ValueError(
                f"{path} is damaged ({error!r}): delete it to have its games played again"
            ) from None

    def _path(self, name: str) -> Path:
        return self._parts / f"{name}.json"


@contextmanager
def open_store(folder: Path, kind: str, version: int, settings: Mapping[str, Any]) -> Iterator[GameStore]:
    """Open a folder of games for this process alone; create it and its parents if they do not exist.

    ``kind``, such as ``"tournament"``, names the file of the settings, plain data that decide all games.

    Raises:
        OtherSettingsError: The folder holds games of other settings; the message names them.
        ValueError: The folder's settings are damaged, or of another version.
        InUseError: Another process works in the folder.
        StorageError: The folder cannot be written.
    """
    with storing_in(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with exclusive_lock(folder):
        path, form = folder / f"{kind}.json", f"patchwork-env {kind}"
        if path.exists():
            advice = ": have the games played again in another folder"
            _check_same(read_document(path, form, version, advice), settings, folder, kind)
        with storing_in(folder):
            (folder / _PARTS).mkdir(parents=True, exist_ok=True)
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
        raise OtherSettingsError(
            f"{folder} holds {kind} games of other settings ({'; '.join(differences)}); "
            "name another folder, or give the settings that it has"
        )

"""Transcripts: what was said for each decision, a line of JSON each, in a file that only grows."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from patchwork_env.core.checks import as_path
from patchwork_env.core.files import GrowingFile, storing_in
from patchwork_env.protocol.messages import encoded


class Transcript:
    """A file of JSON lines to append to; copies and pickles append to the same file.

    A line is in the file when :meth:`write` returns, and is written at once, so that a killed process leaves
    whole lines.

    Args:
        path: The path of the file, which may exist; its folder must.

    Raises:
        ValueError: There can be no such path.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = as_path(path)
        self._file: GrowingFile | None = None

    def write(self, entry: dict[str, Any]) -> None:
        """Appends an entry.

        Raises:
            StorageError: The file cannot be written.
        """
        with storing_in(self.path):
            if self._file is None:
                self._file = GrowingFile(self.path)
            self._file.write(encoded(entry) + b"\n")

    def __reduce__(self) -> tuple[type[Transcript], tuple[Path]]:
        return Transcript, (self.path,)

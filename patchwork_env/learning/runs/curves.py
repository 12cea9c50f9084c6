"""The learning curves of a run, as lines of JSON and for TensorBoard."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from patchwork_env.patchwork.render import Frame
from patchwork_env.learning.runs.events import EventFile, charts_with_bounds, picture, scalar, text
from patchwork_env.learning.system.files import GrowingFile, storing_in, write_text
from patchwork_env.learning.runs.run_files import METRICS_FILE
from patchwork_env.learning.algorithms.common.trainer import Trainer


class Curves:
    """Learning curves, as lines of JSON and for TensorBoard.

    What is added is in the files when the call returns. What is on record at the step where the run goes on
    is not written again.

    Args:
        folder: Of the run.
        steps: Where the run goes on; what an earlier attempt wrote of later steps is dropped.

    Raises:
        StorageError: The folder cannot be written; also raised by all methods.
    """

    def __init__(self, folder: Path, steps: int) -> None:
        self._folder = folder
        self._start = steps
        self._known: dict[str, float] = {}
        path = folder / METRICS_FILE
        with storing_in(folder):
            if path.exists():
                self._cut_back(path)
            self._lines = GrowingFile(path)
            self._events = EventFile(folder, steps)

    def add(self, trainer: Trainer, metrics: dict[str, float]) -> None:
        """Writes metrics by name, at the trainer's present step."""
        rounded = {name: round(value, 6) for name, value in metrics.items()}
        if trainer.steps == self._start:
            rounded = {name: value for name, value in rounded.items() if self._known.get(name) != value}
        if not rounded:
            return
        line = {"steps": trainer.steps, "minutes": round(trainer.seconds / 60, 4), **rounded}
        with storing_in(self._folder):
            self._lines.write(f"{json.dumps(line)}\n".encode())
            self._events.add((scalar(name, metrics[name]) for name in rounded), trainer.steps)

    def add_text(self, name: str, markdown: str, steps: int) -> None:
        """Shows Markdown in TensorBoard."""
        with storing_in(self._folder):
            self._events.add([text(name, markdown)], steps)

    def add_picture(self, name: str, frame: Frame, steps: int) -> None:
        """Shows a picture in TensorBoard; needs Pillow."""
        with storing_in(self._folder):
            self._events.add([picture(name, frame)], steps)

    def draw_with_bounds(self, charts: dict[str, tuple[str, str, str]]) -> None:
        """Has TensorBoard draw charts by title, each of a metric between two others, its bounds."""
        with storing_in(self._folder):
            self._events.add([charts_with_bounds(charts)], 0)

    def sync(self) -> None:
        """Waits until all curves are on the disk."""
        with storing_in(self._folder):
            self._lines.sync()
            self._events.sync()

    def close(self) -> None:
        """Closes the files."""
        self._lines.close()
        self._events.close()

    def _cut_back(self, path: Path) -> None:
        """Drops what belongs to later steps; keeps in mind what is known of the present one."""
        before = path.read_text(encoding="utf-8")
        kept = ""
        for line, values in _complete_lines(before):
            if values["steps"] <= self._start:
                kept += line
            if values["steps"] == self._start:
                self._known |= values
        if kept != before:
            write_text(path, kept)


def _complete_lines(text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The lines that a killed process did not leave half written, and what they say."""
    for line in text.splitlines(keepends=True):
        try:
            values = json.loads(line)
        except json.JSONDecodeError:
            continue
        if line.endswith("\n"):
            yield line, values

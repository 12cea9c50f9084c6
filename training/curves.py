"""The learning curves of a run, as lines of JSON and for TensorBoard."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from patchwork_env.patchwork.render import Frame
from training.files import write_text
from training.trainer import Trainer

METRICS_FILE = "metrics.jsonl"


class Curves:
    """Learning curves, as lines of JSON and for TensorBoard.

    Args:
        folder: Of the run.
        steps: Where the run goes on; what an earlier attempt wrote of later steps is dropped.
    """

    def __init__(self, folder: Path, steps: int) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from torch.utils.tensorboard import SummaryWriter

            self._writer: Any = SummaryWriter(str(folder), purge_step=steps + 1 if steps else None)
        path = folder / METRICS_FILE
        if path.exists():
            write_text(path, "".join(_lines_up_to(steps, path)))
        self._lines = path.open("a", buffering=1, encoding="utf-8")

    def add(self, trainer: Trainer, metrics: dict[str, float]) -> None:
        """Writes metrics by name, at the trainer's present step."""
        line = {"steps": trainer.steps, "minutes": round(trainer.seconds / 60, 4)}
        line |= {name: round(value, 6) for name, value in metrics.items()}
        self._lines.write(json.dumps(line) + "\n")
        for name, value in metrics.items():
            self._writer.add_scalar(name, value, trainer.steps)

    def add_text(self, name: str, text: str, steps: int) -> None:
        """Shows Markdown in TensorBoard."""
        self._writer.add_text(name, text, steps)

    def add_picture(self, name: str, frame: Frame, steps: int) -> None:
        """Shows a picture in TensorBoard; needs Pillow."""
        self._writer.add_image(name, frame, steps, dataformats="HWC")

    def draw_with_bounds(self, charts: dict[str, tuple[str, str, str]]) -> None:
        """Has TensorBoard draw charts by title, each of a metric between two others, its bounds."""
        self._writer.add_custom_scalars(
            {"evaluation": {title: ["Margin", list(names)] for title, names in charts.items()}}
        )

    def close(self) -> None:
        """Completes the files."""
        self._writer.close()
        self._lines.close()


def _lines_up_to(steps: int, path: Path) -> Iterator[str]:
    """The lines of a metrics file that are complete and belong to no later step."""
    for line in path.read_text(encoding="utf-8").splitlines(keepends=True):
        try:
            is_valid = line.endswith("\n") and json.loads(line)["steps"] <= steps
        except json.JSONDecodeError:
            is_valid = False
        if is_valid:
            yield line

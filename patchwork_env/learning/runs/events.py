"""Files of events for TensorBoard."""

from __future__ import annotations

import os
import platform
import time
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from patchwork_env.patchwork.render import Frame
from patchwork_env.learning.system.files import GrowingFile

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from tensorboard.compat.proto.event_pb2 import Event, SessionLog
    from tensorboard.summary.writer.record_writer import RecordWriter
    from torch.utils.tensorboard import summary as _summaries

_VERSION = "brain.Event:2"

Summary = Any
"""A protocol buffer with something to show."""


class EventFile:
    """A new file of events in a folder; what is added is in the file when the call returns.

    PyTorch's ``SummaryWriter`` has a thread that writes later on: a killed process loses events that way, and
    nobody hears of errors in time.

    Args:
        folder: TensorBoard shows all files in it as one.
        steps: Where a run goes on; TensorBoard drops what earlier files say of later steps.
    """

    def __init__(self, folder: Path, steps: int) -> None:
        seconds = time.time()
        # TensorBoard reads files in the order of their names.
        name = f"events.out.tfevents.{seconds:017.6f}.{platform.node()}.{os.getpid()}"
        self._file = GrowingFile(folder / name)
        self._records: Any = RecordWriter(self._file)
        self._add(Event(wall_time=seconds, file_version=_VERSION))
        if steps:
            start = SessionLog(status=SessionLog.START)
            self._add(Event(wall_time=seconds, step=steps + 1, session_log=start))

    def add(self, summaries: Iterable[Summary], steps: int) -> None:
        """Appends what there is to show after so many steps."""
        for summary in summaries:
            self._add(Event(wall_time=time.time(), step=steps, summary=summary))

    def sync(self) -> None:
        """Waits until all of it is on the disk."""
        self._file.sync()

    def close(self) -> None:
        """Nothing can be added any more."""
        self._file.close()

    def _add(self, event: Any) -> None:
        self._records.write(event.SerializeToString())


def scalar(name: str, value: float) -> Summary:
    """A point of a curve."""
    return _summaries.scalar(name, value)


def text(name: str, markdown: str) -> Summary:
    """Markdown."""
    return _summaries.text(name, markdown)


def picture(name: str, frame: Frame) -> Summary:
    """A picture; needs Pillow."""
    return _summaries.image(name, frame, dataformats="HWC")


def charts_with_bounds(charts: dict[str, tuple[str, str, str]]) -> Summary:
    """Charts by title, each of a metric between two others, its bounds."""
    return _summaries.custom_scalars(
        {"evaluation": {title: ["Margin", list(names)] for title, names in charts.items()}}
    )

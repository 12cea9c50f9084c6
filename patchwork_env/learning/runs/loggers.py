"""Loggers: where the metrics, texts and pictures of a run go.

Every run writes ``metrics.jsonl``; the key ``tracker`` of its configuration names loggers in addition, files
or services. To add a logger, write a class with the methods of :class:`Logger` and enter it in
:data:`LOGGERS`, or a service in ``trackers.py``.
"""

from __future__ import annotations

import json
import math
import os
import platform
import re
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from patchwork_env.core.files import GrowingFile, storing_in, write_text
from patchwork_env.core.names import did_you_mean, short_repr
from patchwork_env.errors import ConfigError
from patchwork_env.learning.runs.folder import METRICS_FILE, interval_metrics, metrics_lines
from patchwork_env.learning.runs.sending import ServiceLogger
from patchwork_env.learning.runs.trackers import SERVICES, check_client

CSV_FILE = "metrics.csv"
_CSV_HEADER = "steps,minutes,metric,value\n"

Frame = Any
"""A picture: uint8 array of shape ``(height, width, 3)``."""


class Logger(Protocol):
    """Records metrics, texts and pictures; what is added is in the file when the call returns.

    A logger is made with the folder of the run and the number of steps from which the run begins or is
    resumed. It drops what an earlier attempt logged of later steps.
    """

    def add(self, metrics: Mapping[str, float], steps: int, minutes: float) -> None:
        """Logs metrics by name."""

    def add_text(self, name: str, markdown: str, steps: int) -> None:
        """Logs a text in Markdown."""

    def add_picture(self, name: str, frame: Frame, steps: int) -> None:
        """Logs a picture; raises MissingExtraError if a package that this needs is not installed."""

    def conclude(self, figures: Mapping[str, float | str], steps: int) -> None:
        """Takes what the whole run came to, once, at its end."""

    def sync(self) -> None:
        """Waits until everything that was added is on the disk."""

    def close(self) -> None:
        """Closes the file; nothing can be logged afterwards."""


class Log:
    """The log of a run: lines of JSON in ``metrics.jsonl``, and the loggers of its configuration.

    Metrics that are in the log at the step from which a run is resumed are not logged again.

    Args:
        folder: The folder of the run.
        steps: The number of steps from which the run begins or is resumed; what an earlier attempt logged of
            later steps is dropped.
        names: The names of the loggers, as the key ``tracker`` has them.
        opponents: The opponents of evaluations, for charts of the win rates against them.

    Raises:
        StorageError: The folder cannot be written; all methods raise it as well.
    """

    def __init__(
        self, folder: Path, steps: int, names: Sequence[str] = (), opponents: Sequence[str] = ()
    ) -> None:
        self._folder, self._start = folder, steps
        with storing_in(folder):
            self._lines = _JsonLines(folder, steps)
            others = [logger_of(name)(folder, steps) for name in names]
        self._loggers: list[Logger] = [self._lines, *others]
        for logger in others:
            if isinstance(logger, TensorBoardLogger):
                logger.draw_intervals(opponents)

    def add(self, metrics: Mapping[str, float], steps: int, minutes: float) -> None:
        """Logs metrics by name after so many steps and minutes."""
        if steps == self._start:
            known = self._lines.known
            metrics = {name: value for name, value in metrics.items() if known.get(name) != round(value, 6)}
        if metrics:
            with storing_in(self._folder):
                for logger in self._loggers:
                    logger.add(metrics, steps, minutes)

    def add_text(self, name: str, markdown: str, steps: int) -> None:
        """Logs a text in Markdown."""
        with storing_in(self._folder):
            for logger in self._loggers:
                logger.add_text(name, markdown, steps)

    def add_picture(self, name: str, frame: Frame, steps: int) -> None:
        """Logs a picture."""
        with storing_in(self._folder):
            for logger in self._loggers:
                logger.add_picture(name, frame, steps)

    def conclude(self, figures: Mapping[str, float | str], steps: int) -> None:
        """Hands on what the whole run came to."""
        for logger in self._loggers:
            logger.conclude(figures, steps)

    def sync(self) -> None:
        """Waits until everything that was added is on the disk."""
        with storing_in(self._folder):
            for logger in self._loggers:
                logger.sync()

    def close(self) -> None:
        """Closes the files."""
        for logger in self._loggers:
            logger.close()


class _OnlyMetrics:
    """A file of metrics, which leaves out texts and pictures."""

    def __init__(self, path: Path) -> None:
        self._file = GrowingFile(path)

    def add_text(self, name: str, markdown: str, steps: int) -> None:
        """Leaves out the text."""

    def add_picture(self, name: str, frame: Frame, steps: int) -> None:
        """Leaves out the picture."""

    def conclude(self, figures: Mapping[str, float | str], steps: int) -> None:
        """Leaves out what the metrics say already."""

    def sync(self) -> None:
        """See :meth:`Logger.sync`."""
        self._file.sync()

    def close(self) -> None:
        """See :meth:`Logger.close`."""
        self._file.close()


class _JsonLines(_OnlyMetrics):
    """``metrics.jsonl``: a line of JSON for every call.

    Attributes:
        known: The metrics, by name, that the file has of the step from which the run is resumed.
    """

    def __init__(self, folder: Path, steps: int) -> None:
        self.known: dict[str, float] = {}
        path = folder / METRICS_FILE
        if path.exists():
            self._cut_back(path, steps)
        super().__init__(path)

    def add(self, metrics: Mapping[str, float], steps: int, minutes: float) -> None:
        """See :meth:`Logger.add`."""
        rounded = {name: round(value, 6) for name, value in metrics.items()}
        line = {"steps": steps, "minutes": round(minutes, 4), **rounded}
        self._file.write(f"{json.dumps(line)}\n".encode())

    def _cut_back(self, path: Path, steps: int) -> None:
        """Drops the lines of later steps, and those without figures; see :func:`metrics_lines`."""
        before, kept = path.read_text(encoding="utf-8", errors="replace"), []
        for line, figures in metrics_lines(before):
            if figures and figures["steps"] <= steps:
                kept.append(line)
            if figures and figures["steps"] == steps:
                self.known |= figures
        if "".join(kept) != before:
            write_text(path, "".join(kept))


class CsvLogger(_OnlyMetrics):
    """``metrics.csv``: a row of steps, minutes, metric and value for every metric, for tables and plots."""

    def __init__(self, folder: Path, steps: int) -> None:
        path = folder / CSV_FILE
        before = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
        header, *rows = before.splitlines(keepends=True) or [_CSV_HEADER]
        kept = [row for row in rows if row.endswith("\n") and _steps_of_row(row) <= steps]
        if not path.exists() or len(kept) < len(rows):
            write_text(path, "".join([header, *kept]))
        super().__init__(path)

    def add(self, metrics: Mapping[str, float], steps: int, minutes: float) -> None:
        """See :meth:`Logger.add`."""
        rows = [f"{steps},{minutes:.4f},{_quoted(name)},{value:.6g}\n" for name, value in metrics.items()]
        self._file.write("".join(rows).encode())


def _steps_of_row(row: str) -> float:
    """The steps of a row; infinity for a row that does not begin with them."""
    steps = row.partition(",")[0]
    return int(steps) if re.fullmatch("[0-9]{1,12}", steps) else math.inf


def _quoted(name: str) -> str:
    """A name as a cell of CSV; specs of opponents may hold commas."""
    return '"' + name.replace('"', '""') + '"' if set(name) & set(',"\n') else name


class TensorBoardLogger:
    """A new file of events, which TensorBoard shows together with those of earlier attempts.

    PyTorch's ``SummaryWriter`` has a thread that writes later on: a killed process loses events that way, and
    nobody hears of errors in time.
    """

    def __init__(self, folder: Path, steps: int) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from tensorboard.compat.proto.event_pb2 import Event, SessionLog
            from tensorboard.summary.writer.record_writer import RecordWriter
            from torch.utils.tensorboard import summary

        self._event, self._summary = Event, summary
        seconds = time.time()
        # TensorBoard reads files in the order of their names.
        name = f"events.out.tfevents.{seconds:017.6f}.{platform.node()}.{os.getpid()}"
        self._file = GrowingFile(folder / name)
        self._records: Any = RecordWriter(self._file)
        self._write(wall_time=seconds, file_version="brain.Event:2")
        if steps:  # TensorBoard drops what earlier files say of later steps
            start = SessionLog(status=SessionLog.START)
            self._write(wall_time=seconds, step=steps + 1, session_log=start)

    def add(self, metrics: Mapping[str, float], steps: int, minutes: float) -> None:
        """See :meth:`Logger.add`."""
        for name, value in metrics.items():
            self._show(self._summary.scalar(name, value), steps)

    def add_text(self, name: str, markdown: str, steps: int) -> None:
        """See :meth:`Logger.add_text`."""
        self._show(self._summary.text(name, markdown), steps)

    def add_picture(self, name: str, frame: Frame, steps: int) -> None:
        """See :meth:`Logger.add_picture`."""
        self._show(self._summary.image(name, frame, dataformats="HWC"), steps)

    def conclude(self, figures: Mapping[str, float | str], steps: int) -> None:
        """Leaves out what the metrics say already."""

    def draw_intervals(self, opponents: Sequence[str]) -> None:
        """Makes TensorBoard draw the win rate against each opponent between the bounds of its interval."""
        charts = {f"games won against {name}": ["Margin", list(interval_metrics(name))] for name in opponents}
        self._show(self._summary.custom_scalars({"evaluation": charts}), 0)

    def sync(self) -> None:
        """See :meth:`Logger.sync`."""
        self._file.sync()

    def close(self) -> None:
        """See :meth:`Logger.close`."""
        self._file.close()

    def _show(self, summary: Any, steps: int) -> None:
        self._write(wall_time=time.time(), step=steps, summary=summary)

    def _write(self, **contents: Any) -> None:
        self._records.write(self._event(**contents).SerializeToString())


LOGGERS: dict[str, type[Logger]] = {"tensorboard": TensorBoardLogger, "csv": CsvLogger}
"""The loggers that write files, by the names that the key ``tracker`` of a configuration takes."""


def logger_of(name: str) -> Callable[[Path, int], Logger]:
    """What makes a logger, from the folder of a run and the steps from which it begins or is resumed.

    Raises:
        ConfigError: There is no logger of this name.
        MissingExtraError: The client of a service is not installed.
    """
    if name in LOGGERS:
        return LOGGERS[name]
    if name not in SERVICES:
        raise ConfigError(
            f"tracker: there is no {short_repr(name)}; {did_you_mean(name, (*LOGGERS, *SERVICES))}"
        )
    check_client(name)
    return partial(ServiceLogger, SERVICES[name]())

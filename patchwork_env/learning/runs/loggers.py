"""The log of a run: its metrics and sample games.

Every run writes ``metrics.jsonl``. The key ``tracker`` names further places: TensorBoard's file of events and
the tracking services of :data:`~patchwork_env.learning.runs.services.SERVICES`.
"""

from __future__ import annotations

import json
import os
import platform
import time
import warnings
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from patchwork_env.core.extras import missing_extra
from patchwork_env.core.files import GrowingFile, storing_in, write_text
from patchwork_env.core.names import did_you_mean, short_repr
from patchwork_env.errors import ConfigError
from patchwork_env.learning.config import RunConfig
from patchwork_env.learning.runs.folder import METRICS_FILE, interval_metrics, metrics_lines
from patchwork_env.learning.runs.services import SERVICES, Figures, Frame, Sender

TENSORBOARD = "tensorboard"
_SAMPLE_GAME = "sample_game"


def check_tracker(name: str) -> None:
    """Raise ConfigError for an unknown tracker, MissingExtraError if its client is not installed."""
    if name not in (TENSORBOARD, *SERVICES):
        known = did_you_mean(name, (TENSORBOARD, *SERVICES))
        raise ConfigError(f"tracker: there is no {short_repr(name)}; {known}")
    if name in SERVICES and find_spec(name) is None:
        raise missing_extra(f"the tracker {name} needs", name, name)


class Log:
    """The log of a run, from the steps at which the run begins or is resumed.

    What an earlier attempt logged of later steps is dropped, and metrics that are in the log at these steps
    are not logged again. Metrics are in the files when the call returns.
    """

    def __init__(self, folder: Path, steps: int, config: RunConfig) -> None:
        self._folder, self._start, self._events = folder, steps, None
        with storing_in(folder):
            self._known = _cut_back(folder / METRICS_FILE, steps)
            self._file = GrowingFile(folder / METRICS_FILE)
            if TENSORBOARD in config.tracker:
                self._events = _TensorBoard(folder, steps, config)
        services = [SERVICES[name]() for name in config.tracker if name in SERVICES]
        self._senders = [Sender(service, folder, config) for service in services]

    def add(self, metrics: Mapping[str, float], steps: int, minutes: float) -> None:
        """Log metrics by name after so many steps and minutes."""
        rounded = {name: round(value, 6) for name, value in metrics.items()}
        if steps == self._start:
            rounded = {name: value for name, value in rounded.items() if self._known.get(name) != value}
        if not rounded:
            return
        new = {name: metrics[name] for name in rounded}
        line = {"steps": steps, "minutes": round(minutes, 4), **rounded}
        with storing_in(self._folder):
            self._file.write(f"{json.dumps(line)}\n".encode())
            if self._events:
                self._events.add(new, steps)
        for sender in self._senders:
            sender.later("send", {**new, "minutes": minutes}, steps)

    def show(self, markdown: str, frame: Frame | None, steps: int) -> None:
        """Log a sample game as text and, if it could be drawn, as a picture."""
        with storing_in(self._folder):
            if self._events:
                self._events.show(markdown, frame, steps)
        for sender in self._senders:
            if frame is not None:
                sender.later("send_picture", _SAMPLE_GAME, frame, steps)

    def conclude(self, figures: Figures, steps: int) -> None:
        """Send the results of the whole run to services, once, as ``final/NAME``."""
        for sender in self._senders:
            sender.later("send_final", {f"final/{name}": value for name, value in figures.items()}, steps)

    def sync(self) -> None:
        """Wait until everything that was added is on the disk; services are not waited for."""
        with storing_in(self._folder):
            for file in self._files():
                file.sync()

    def close(self) -> None:
        """Close the files, and wait a while for services."""
        with storing_in(self._folder):
            for file in self._files():
                file.close()
        for sender in self._senders:
            sender.close()

    def _files(self) -> list[GrowingFile]:
        return [self._file, *([self._events.file] if self._events else [])]


def _cut_back(path: Path, steps: int) -> dict[str, float]:
    """Drop the lines of later steps, and those without figures; return the figures of just these steps."""
    before = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
    kept, known = [], dict[str, float]()
    for line, figures in metrics_lines(before):
        if figures and figures["steps"] <= steps:
            kept.append(line)
        if figures and figures["steps"] == steps:
            known |= figures
    if "".join(kept) != before:
        write_text(path, "".join(kept))
    return known


class _TensorBoard:
    """A file of TensorBoard's events, by TensorBoard's own writer of records.

    TensorBoard drops later events of earlier attempts. ``SummaryWriter`` would write in a thread, which loses
    events of a killed process and fails with a traceback on a full disk.
    """

    def __init__(self, folder: Path, steps: int, config: RunConfig) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from tensorboard.compat.proto.event_pb2 import Event, SessionLog
            from tensorboard.summary.writer.record_writer import RecordWriter
            from torch.utils.tensorboard import summary

        self._event, self._summary = Event, summary
        # TensorBoard reads files in the order of their names.
        name = f"events.out.tfevents.{time.time():017.6f}.{platform.node()}.{os.getpid()}"
        self.file = GrowingFile(folder / name)
        self._records: Any = RecordWriter(self.file)
        self._write(0, file_version="brain.Event:2")
        if steps:
            self._write(steps + 1, session_log=SessionLog(status=SessionLog.START))
        charts = {
            f"games won against {name}": ["Margin", list(interval_metrics(name))]
            for name in config.evaluation.opponents
        }
        self._write(0, summary=summary.custom_scalars({"evaluation": charts}))

    def _write(self, steps: int, **contents: Any) -> None:
        event = self._event(wall_time=time.time(), step=steps, **contents)
        self._records.write(event.SerializeToString())

    def add(self, metrics: Mapping[str, float], steps: int) -> None:
        for name, value in metrics.items():
            self._write(steps, summary=self._summary.scalar(name, value))

    def show(self, markdown: str, frame: Frame | None, steps: int) -> None:
        self._write(steps, summary=self._summary.text(_SAMPLE_GAME, markdown))
        if frame is not None:
            self._write(steps, summary=self._summary.image(_SAMPLE_GAME, frame, dataformats="HWC"))

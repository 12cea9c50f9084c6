"""Loggers: where the metrics and sample games of a run go.

Every run writes ``metrics.jsonl``; the key ``tracker`` names :data:`LOGGERS` of files and :data:`SERVICES`,
whose clients take addresses, keys and modes from their own environment variables and files.
"""

from __future__ import annotations

import json
import os
import platform
import queue
import re
import sys
import threading
import time
import uuid
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from patchwork_env.core.documents import one_line, read_object
from patchwork_env.core.extras import missing_extra
from patchwork_env.core.files import GrowingFile, make_folder, storing_in, write_text
from patchwork_env.core.names import did_you_mean, short_repr
from patchwork_env.errors import ConfigError
from patchwork_env.learning.config import RunConfig, flattened
from patchwork_env.learning.evaluation.tables import csv_text
from patchwork_env.learning.runs.folder import METRICS_FILE, interval_metrics, metrics_lines, read_versions

PROJECT = "patchwork-env"
"""The project, or experiment, of all runs, if the environment variables of a client name no other."""

Figures = Mapping[str, float | str]
Frame = npt.NDArray[np.uint8]
_SAMPLE_GAME = "sample_game"
_MOST_WAITING = 10_000  # how many calls wait for a service that does not answer; what comes later is left out
_SECONDS_AT_END = 30.0  # how long a service may take for what is left when the run ends


class Logger(ABC):
    """Records what a run logs; by default metrics alone, in one file.

    A logger is made with the folder of the run, the steps from which it begins or is resumed, and its
    configuration. It drops what an earlier attempt logged of later steps. What is added is in the file when
    the call returns.
    """

    _file: GrowingFile

    @abstractmethod
    def add(self, metrics: Mapping[str, float], steps: int, minutes: float) -> None:
        """Logs metrics by name."""

    def show(self, markdown: str, frame: Frame | None, steps: int) -> None:
        """Logs a sample game as text and, if it could be drawn, as a picture."""
        return

    def conclude(self, figures: Figures, steps: int) -> None:
        """Logs what the whole run came to, once, at its end, by names that metrics do not have."""
        return

    def sync(self) -> None:
        """Waits until everything that was added is on the disk."""
        self._file.sync()

    def close(self) -> None:
        """Closes the file; nothing can be logged afterwards."""
        self._file.close()


class Log:
    """The log of a run: lines of JSON in ``metrics.jsonl``, and the loggers of its configuration.

    Metrics that are in the log at the step from which a run is resumed are not logged again.
    """

    def __init__(self, folder: Path, steps: int, config: RunConfig) -> None:
        self._folder, self._start = folder, steps
        with storing_in(folder):
            self._known = _cut_back(folder / METRICS_FILE, steps)
            made: list[Callable[..., Logger]] = [_JsonLogger, *map(logger_of, config.tracker)]
            self._loggers = [make(folder, steps, config) for make in made]

    def add(self, metrics: Mapping[str, float], steps: int, minutes: float) -> None:
        """Logs metrics by name after so many steps and minutes."""
        if steps == self._start:
            known = self._known
            metrics = {name: value for name, value in metrics.items() if known.get(name) != round(value, 6)}
        if metrics:
            self.each(lambda logger: logger.add(metrics, steps, minutes))

    def each(self, call: Callable[[Logger], object]) -> None:
        """Calls something of all loggers."""
        with storing_in(self._folder):
            for logger in self._loggers:
                call(logger)

    def close(self) -> None:
        """Closes the files."""
        self.each(lambda logger: logger.close())


def _cut_back(path: Path, steps: int) -> dict[str, float]:
    """Drops the lines of later steps, and those without figures; returns the figures of just these steps."""
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


class _JsonLogger(Logger):
    def __init__(self, folder: Path, steps: int, config: RunConfig) -> None:
        self._file = GrowingFile(folder / METRICS_FILE)

    def add(self, metrics: Mapping[str, float], steps: int, minutes: float) -> None:
        rounded = {name: round(value, 6) for name, value in metrics.items()}
        line = {"steps": steps, "minutes": round(minutes, 4), **rounded}
        self._file.write(f"{json.dumps(line)}\n".encode())


class _CsvLogger(Logger):
    """``metrics.csv``: a row of steps, minutes, metric and value for every metric, for tables and plots.

    A resumed run begins it anew from ``metrics.jsonl``.
    """

    def __init__(self, folder: Path, steps: int, config: RunConfig) -> None:
        write_text(folder / "metrics.csv", "steps,minutes,metric,value\n")
        self._file = GrowingFile(folder / "metrics.csv")
        for _, figures in metrics_lines((folder / METRICS_FILE).read_text(encoding="utf-8")):
            if figures:
                metrics = {name: figures[name] for name in figures if name not in ("steps", "minutes")}
                self.add(metrics, int(figures["steps"]), figures["minutes"])

    def add(self, metrics: Mapping[str, float], steps: int, minutes: float) -> None:
        rows = [(steps, f"{minutes:.4f}", name, f"{value:.6g}") for name, value in metrics.items()]
        self._file.write(csv_text(rows).encode())


class _TensorBoardLogger(Logger):
    """A file of TensorBoard's events, by the writer of records that TensorBoard has.

    TensorBoard drops from the files of earlier attempts what came later than this one begins.
    ``SummaryWriter`` would write in a thread, which loses events of a killed process, and fails in a
    traceback on a full disk.
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
        self._file = GrowingFile(folder / name)
        self._records: Any = RecordWriter(self._file)
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

    def add(self, metrics: Mapping[str, float], steps: int, minutes: float) -> None:
        for name, value in metrics.items():
            self._write(steps, summary=self._summary.scalar(name, value))

    def show(self, markdown: str, frame: Frame | None, steps: int) -> None:
        self._write(steps, summary=self._summary.text(_SAMPLE_GAME, markdown))
        if frame is not None:
            self._write(steps, summary=self._summary.image(_SAMPLE_GAME, frame, dataformats="HWC"))


# --- tracking services ------------------------------------------------------------------------------------


class Service(Logger):
    """Logs to a tracking service in another thread, so that training never waits or stops.

    What a subclass adds may take long and raise anything. The first call that fails is reported, once. The
    folder of the run keeps the name that the service knows it by.
    """

    NAME: ClassVar[str]
    """The name of the service, of its client's module, and of the extra that installs it."""

    def __init__(self, folder: Path, steps: int, config: RunConfig) -> None:
        self._has_failed = False
        self._calls: queue.Queue[Callable[[], object] | None] = queue.Queue(_MOST_WAITING)
        name = f"tracker {self.NAME}"
        self._thread = threading.Thread(target=self._work, args=(folder, config), name=name, daemon=True)
        self._thread.start()

    @abstractmethod
    def begin(self, folder: Path, known: str | None, configuration: dict[str, Any]) -> str:
        """Begins a run, called like its folder, or goes on with a known one; returns its name there."""

    @abstractmethod
    def send(self, metrics: Figures, steps: int) -> None:
        """Sends figures after so many steps."""

    @abstractmethod
    def send_picture(self, name: str, frame: Frame, steps: int) -> None:
        """Sends a picture, uint8 ``(height, width, 3)``."""

    @abstractmethod
    def send_final(self, figures: Figures, steps: int) -> None:
        """Sends what the whole run came to, after so many steps."""

    @abstractmethod
    def end(self) -> None:
        """Ends the run, or this part of it."""

    def add(self, metrics: Mapping[str, float], steps: int, minutes: float) -> None:
        """Sends them later."""
        self._later(lambda: self.send({**metrics, "minutes": minutes}, steps))

    def show(self, markdown: str, frame: Frame | None, steps: int) -> None:
        """Sends the picture later."""
        if frame is not None:
            self._later(lambda: self.send_picture(_SAMPLE_GAME, frame, steps))

    def conclude(self, figures: Figures, steps: int) -> None:
        """Sends them later, as ``final/NAME``."""
        named = {f"final/{name}": value for name, value in figures.items()}
        self._later(lambda: self.send_final(named, steps))

    def sync(self) -> None:
        """Does not wait: what has to be on the disk is in the files of the run."""

    def close(self) -> None:
        """Waits a while for what is left."""
        self._later(self.end)
        self._later(None)
        self._thread.join(_SECONDS_AT_END)
        if self._thread.is_alive():
            self._warn(f"it has not taken everything in {_SECONDS_AT_END:.0f} seconds")

    def _later(self, call: Callable[[], object] | None) -> None:
        try:
            self._calls.put_nowait(call)
        except queue.Full:
            self._warn(f"{_MOST_WAITING:,} calls are waiting for it")

    def _work(self, folder: Path, config: RunConfig) -> None:
        """Makes the calls, one after the other; without a run at the service it makes none."""
        has_begun = self._succeeds(lambda: self._begin(folder, config))
        while (call := self._calls.get()) is not None:
            if has_begun:
                self._succeeds(call)

    def _begin(self, folder: Path, config: RunConfig) -> None:
        file = folder / "trackers" / f"{self.NAME}.json"
        known = str(read_object(file, "run")["run"]) if file.is_file() else None
        configuration = config.model_dump(mode="json")
        if starts := read_versions(folder):
            configuration["made_with"] = starts[-1]
        name = self.begin(folder.resolve(), known, configuration)
        if name != known:
            make_folder(file.parent)
            write_text(file, json.dumps({"run": name}) + "\n")

    def _succeeds(self, call: Callable[[], object]) -> bool:
        try:
            call()
        except Exception as error:
            self._warn(f"{type(error).__name__}: {one_line(str(error))}")
            return False
        return True

    def _warn(self, reason: str) -> None:
        if not self._has_failed:
            self._has_failed = True
            warning = f"{self.NAME} does not get everything ({reason})"
            print(
                f"\n{warning}; the run goes on, and {METRICS_FILE} is complete", file=sys.stderr, flush=True
            )


class _Wandb(Service):
    """Weights & Biases; without a network by ``WANDB_MODE=offline``, and ``wandb sync`` later."""

    NAME = "wandb"
    _client: Any
    _run: Any

    def begin(self, folder: Path, known: str | None, configuration: dict[str, Any]) -> str:
        import wandb

        known, self._client = known or uuid.uuid4().hex[:8], wandb
        self._run = wandb.init(
            project=os.environ.get("WANDB_PROJECT", PROJECT),
            name=folder.name,
            id=known,
            resume="allow",
            dir=folder,
            config=configuration,
            allow_val_change=True,
            settings=wandb.Settings(console="off"),
        )
        self._run.define_metric("*", step_metric="steps")
        return known

    def send(self, metrics: Mapping[str, Any], steps: int) -> None:
        self._run.log({"steps": steps, **metrics})

    def send_picture(self, name: str, frame: Frame, steps: int) -> None:
        self.send({name: self._client.Image(frame)}, steps)

    def send_final(self, figures: Figures, steps: int) -> None:
        self._run.summary.update(dict(figures))

    def end(self) -> None:
        self._run.finish()


class _Trackio(_Wandb):
    """trackio: on this machine, or where ``TRACKIO_SPACE_ID`` or ``TRACKIO_SERVER_URL`` say."""

    NAME = "trackio"

    def begin(self, folder: Path, known: str | None, configuration: dict[str, Any]) -> str:
        import trackio

        known, self._client = known or f"{folder.name}-{uuid.uuid4().hex[:6]}", trackio
        self._run = trackio.init(PROJECT, known, config=configuration, resume="allow", embed=False)
        return known

    def send(self, metrics: Mapping[str, Any], steps: int) -> None:
        self._run.log(dict(metrics), step=steps)

    def send_final(self, figures: Figures, steps: int) -> None:
        self.send(figures, steps)


class _Mlflow(Service):
    """MLflow, at ``MLFLOW_TRACKING_URI``, in the experiment ``MLFLOW_EXPERIMENT_NAME``."""

    NAME = "mlflow"
    _ODD = re.compile(r"[^\w\-./ ]", re.ASCII)  # not for names of metrics, as of agents with options
    _PARAMETERS_AT_ONCE, _LONGEST_PARAMETER = 100, 500
    _client: Any
    _id: str

    def begin(self, folder: Path, known: str | None, configuration: dict[str, Any]) -> str:
        import mlflow

        self._client = mlflow.MlflowClient()
        if known is None:
            self._id = self._client.create_run(self._experiment(), run_name=folder.name).info.run_id
        else:
            self._id = known
            self._client.update_run(self._id, status="RUNNING")
        self._send_parameters(configuration)
        return self._id

    def send(self, metrics: Figures, steps: int) -> None:
        from mlflow.entities import Metric

        now = int(1000 * time.time())
        sent = [Metric(self._ODD.sub("_", name), value, now, steps) for name, value in metrics.items()]
        self._client.log_batch(self._id, metrics=sent)

    def send_picture(self, name: str, frame: Frame, steps: int) -> None:
        self._client.log_image(self._id, frame, key=name, step=steps)

    def send_final(self, figures: Figures, steps: int) -> None:
        for name, value in figures.items():
            if isinstance(value, str):
                self._client.set_tag(self._id, name, value)
            else:
                self._client.log_metric(self._id, self._ODD.sub("_", name), value, step=steps)

    def end(self) -> None:
        self._client.set_terminated(self._id)

    def _experiment(self) -> str:
        name = os.environ.get("MLFLOW_EXPERIMENT_NAME", PROJECT)
        known = self._client.get_experiment_by_name(name)
        return str(self._client.create_experiment(name) if known is None else known.experiment_id)

    def _send_parameters(self, configuration: dict[str, Any]) -> None:
        from mlflow.entities import Param

        sent = self._client.get_run(self._id).data.params
        values = {
            key: str(value)[: self._LONGEST_PARAMETER] for key, value in flattened(configuration).items()
        }
        new = [Param(key, value) for key, value in values.items() if key not in sent]
        for first in range(0, len(new), self._PARAMETERS_AT_ONCE):
            self._client.log_batch(self._id, params=new[first : first + self._PARAMETERS_AT_ONCE])
        for key, value in values.items():
            if sent.get(key, value) != value:
                self._client.set_tag(self._id, f"resumed.{key}", value)


SERVICES: dict[str, type[Service]] = {service.NAME: service for service in (_Wandb, _Mlflow, _Trackio)}
"""The services, by the names that the key ``tracker`` of a configuration takes."""


LOGGERS: dict[str, type[Logger]] = {"tensorboard": _TensorBoardLogger, "csv": _CsvLogger}
"""The loggers that write files, by the names that the key ``tracker`` of a configuration takes."""


def logger_of(name: str) -> Callable[[Path, int, RunConfig], Logger]:
    """What makes a logger, from the folder of a run, the steps where it begins, and its configuration."""
    if name in LOGGERS:
        return LOGGERS[name]
    if name not in SERVICES:
        known = did_you_mean(name, (*LOGGERS, *SERVICES))
        raise ConfigError(f"tracker: there is no {short_repr(name)}; {known}")
    if find_spec(name) is None:
        raise missing_extra(f"the tracker {name} needs", name, name)
    return SERVICES[name]

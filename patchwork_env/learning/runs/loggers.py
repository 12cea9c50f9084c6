"""The log of the metrics of a run.

Every run writes ``metrics.jsonl``. The key ``tracker`` names further places: TensorBoard's file of events and
the tracking services of :data:`SERVICES`, whose clients take addresses, keys and modes from their own
environment variables and files.
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
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from patchwork_env.core.documents import one_line, read_object
from patchwork_env.core.extras import missing_extra
from patchwork_env.core.files import GrowingFile, storing_in, write_text
from patchwork_env.core.names import did_you_mean, short_repr
from patchwork_env.errors import ConfigError
from patchwork_env.learning.config import RunConfig, flattened
from patchwork_env.learning.runs.folder import METRICS_FILE, metrics_lines, read_versions

TENSORBOARD = "tensorboard"


def check_tracker(name: str) -> None:
    """Raise ConfigError for an unknown tracker, MissingExtraError if its client is not installed."""
    if name not in (TENSORBOARD, *SERVICES):
        known = did_you_mean(name, (TENSORBOARD, *SERVICES))
        raise ConfigError(f"tracker: there is no {short_repr(name)}; {known}")
    if name in SERVICES and find_spec(name) is None:
        raise missing_extra(f"the tracker {name} needs", name, name)


class Log:
    """The log of a run, from the steps at which the run begins or is resumed.

    Lines of later steps, from an earlier attempt, are dropped. Metrics that the log has at these steps are
    not logged again. Metrics are in the files when a call returns.
    """

    def __init__(self, folder: Path, steps: int, config: RunConfig) -> None:
        self._folder, self._start, self._events = folder, steps, None
        with storing_in(folder):
            self._known = _cut_back(folder / METRICS_FILE, steps)
            self._file = GrowingFile(folder / METRICS_FILE)
            if TENSORBOARD in config.tracker:
                self._events = _TensorBoard(folder, steps)
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
            sender.send({**new, "minutes": minutes}, steps)

    def sync(self) -> None:
        """Wait until everything that was added is on the disk, without waiting for services."""
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

    TensorBoard drops later events of earlier attempts. PyTorch's ``SummaryWriter`` writes in a thread, which
    loses events of a killed process and fails with a traceback on a full disk.
    """

    def __init__(self, folder: Path, steps: int) -> None:
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
        self._write(file_version="brain.Event:2")
        if steps:
            self._write(step=steps + 1, session_log=SessionLog(status=SessionLog.START))

    def _write(self, **contents: Any) -> None:
        event = self._event(wall_time=time.time(), **contents)
        self._records.write(event.SerializeToString())

    def add(self, metrics: Mapping[str, float], steps: int) -> None:
        for name, value in metrics.items():
            self._write(step=steps, summary=self._summary.scalar(name, value))


# --- tracking services --------------------------------------------------------------------------------------

PROJECT = "patchwork-env"
"""The project, or experiment, of all runs, if the environment variables of a client name no other."""

_MOST_WAITING = 10_000  # the most calls that wait for a service; further ones are dropped
_SECONDS_AT_END = 30.0  # the time that a service has for the remaining calls when the run ends


class Service(Protocol):
    """A tracking service. Its calls come from one thread, may take long, and may raise anything."""

    NAME: str  # the name of the service, of its client's module, and of the extra that installs it

    def begin(self, folder: Path, known: str | None, configuration: dict[str, Any]) -> str:
        """Begin a run, named like its folder, or resume the ``known`` one; return its id."""

    def send(self, metrics: Mapping[str, float], steps: int) -> None:
        """Send metrics after so many steps."""

    def end(self) -> None:
        """End the run, or this part of it."""


class _Wandb:
    """Weights & Biases; without a network by ``WANDB_MODE=offline``, and ``wandb sync`` later."""

    NAME = "wandb"

    def begin(self, folder: Path, known: str | None, configuration: dict[str, Any]) -> str:
        import wandb

        run = {"name": folder.name, "id": known or uuid.uuid4().hex[:8], "dir": folder, "resume": "allow"}
        self._run: Any = wandb.init(
            **run,
            project=os.environ.get("WANDB_PROJECT", PROJECT),
            config=configuration,
            allow_val_change=True,
            settings=wandb.Settings(console="off"),
        )
        self._run.define_metric("*", step_metric="steps")
        return str(self._run.id)  # a sweep of W&B chooses it

    def send(self, metrics: Mapping[str, float], steps: int) -> None:
        self._run.log({"steps": steps, **metrics})

    def end(self) -> None:
        self._run.finish()


class _Mlflow:
    """MLflow, at ``MLFLOW_TRACKING_URI``, in the experiment ``MLFLOW_EXPERIMENT_NAME``."""

    NAME = "mlflow"

    def begin(self, folder: Path, known: str | None, configuration: dict[str, Any]) -> str:
        import mlflow

        mlflow.set_experiment(os.environ.get("MLFLOW_EXPERIMENT_NAME", PROJECT))
        self._mlflow: Any = mlflow
        self._id = mlflow.start_run(run_id=known, run_name=folder.name).info.run_id
        if known is None:
            mlflow.log_params(flattened(configuration))
        return str(self._id)

    def send(self, metrics: Mapping[str, float], steps: int) -> None:
        allowed = {re.sub(r"[^\w\-./ ]", "_", name): value for name, value in metrics.items()}
        self._mlflow.log_metrics(allowed, step=steps)

    def end(self) -> None:
        self._mlflow.end_run()


SERVICES: dict[str, Callable[[], Service]] = {_Wandb.NAME: _Wandb, _Mlflow.NAME: _Mlflow}
"""The services, by the names that the key ``tracker`` of a configuration takes."""


class Sender:
    """Calls a service in another thread, so that training never waits or stops.

    The first call that fails is reported, once. The folder of the run keeps its name at the service.
    """

    def __init__(self, service: Service, folder: Path, config: RunConfig) -> None:
        self._service, self._has_failed = service, False
        self._calls = queue.Queue[Callable[[], object] | None](_MOST_WAITING)
        self._thread = threading.Thread(target=self._work, args=(folder, config), daemon=True)
        self._thread.start()

    def send(self, metrics: Mapping[str, float], steps: int) -> None:
        """Put metrics after so many steps into the queue."""
        self._put(lambda: self._service.send(metrics, steps))

    def close(self) -> None:
        """End the run at the service; wait a while for the remaining calls."""
        self._put(self._service.end)
        self._put(None)
        self._thread.join(_SECONDS_AT_END)
        if self._thread.is_alive():
            self._warn(f"calls are left after {_SECONDS_AT_END:.0f} seconds")

    def _put(self, call: Callable[[], object] | None) -> None:
        try:
            self._calls.put_nowait(call)
        except queue.Full:
            self._warn(f"{_MOST_WAITING:,} calls are waiting for it")

    def _work(self, folder: Path, config: RunConfig) -> None:
        """Make the calls in order; skip them all if the run could not begin."""
        has_begun = self._succeeds(lambda: self._begin(folder, config))
        while (call := self._calls.get()) is not None:
            if has_begun:
                self._succeeds(call)

    def _begin(self, folder: Path, config: RunConfig) -> None:
        file = folder / "trackers" / f"{self._service.NAME}.json"
        known = str(read_object(file, "run")["run"]) if file.is_file() else None
        configuration = config.model_dump(mode="json")
        if starts := read_versions(folder):
            configuration["made_with"] = starts[-1]
        name = self._service.begin(folder.resolve(), known, configuration)
        if name != known:
            file.parent.mkdir(exist_ok=True)
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
            warning = f"{self._service.NAME} misses metrics ({reason})"
            print(f"\n{warning}; the run continues, and {METRICS_FILE} is complete", file=sys.stderr)

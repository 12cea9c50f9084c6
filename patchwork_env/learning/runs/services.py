"""Tracking services, to which a run sends its metrics.

Their clients take addresses, keys and modes from their own environment variables and files.
"""

from __future__ import annotations

import json
import os
import queue
import re
import sys
import threading
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from patchwork_env.core.documents import one_line, read_object
from patchwork_env.core.files import write_text
from patchwork_env.learning.config import RunConfig, flattened
from patchwork_env.learning.runs.folder import METRICS_FILE, read_versions

PROJECT = "patchwork-env"
"""The project, or experiment, of all runs, if the environment variables of a client name no other."""

Figures = Mapping[str, float | str]
Frame = npt.NDArray[np.uint8]
_MOST_WAITING = 10_000  # the calls that wait for a service that does not answer; later ones are left out
_SECONDS_AT_END = 30.0  # the time that a service has for the remaining calls when the run ends


class Service(Protocol):
    """A tracking service. Its calls come from one thread, may take long, and may raise anything."""

    NAME: str  # the name of the service, of its client's module, and of the extra that installs it

    def begin(self, folder: Path, known: str | None, configuration: dict[str, Any]) -> str:
        """Begin a run, named like its folder, or resume a known one; return the name that identifies it."""

    def send(self, metrics: Figures, steps: int) -> None:
        """Send metrics after so many steps."""

    def send_picture(self, name: str, frame: Frame, steps: int) -> None:
        """Send a picture, uint8 ``(height, width, 3)``."""

    def send_final(self, figures: Figures, steps: int) -> None:
        """Send the results of the whole run."""

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
        self._picture = wandb.Image
        self._run.define_metric("*", step_metric="steps")
        return str(self._run.id)  # in a sweep of W&B, its own

    def send(self, metrics: Mapping[str, Any], steps: int) -> None:
        self._run.log({"steps": steps, **metrics})

    def send_picture(self, name: str, frame: Frame, steps: int) -> None:
        self.send({name: self._picture(frame)}, steps)

    def send_final(self, figures: Figures, steps: int) -> None:
        self._run.summary.update(dict(figures))

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
        values = [(key, str(value)[:500]) for key, value in flattened(configuration).items()]
        for first in range(0, len(values) if known is None else 0, 100):  # a server takes 100 at once
            mlflow.log_params(dict(values[first : first + 100]))
        return str(self._id)

    def send(self, metrics: Figures, steps: int) -> None:
        numbers = {re.sub(r"[^\w\-./ ]", "_", name): value for name, value in metrics.items()}
        self._mlflow.log_metrics(numbers, step=steps)

    def send_picture(self, name: str, frame: Frame, steps: int) -> None:
        self._mlflow.log_image(frame, key=name, step=steps)

    def send_final(self, figures: Figures, steps: int) -> None:
        texts = {name: value for name, value in figures.items() if isinstance(value, str)}
        self._mlflow.set_tags(texts)
        self.send({name: value for name, value in figures.items() if name not in texts}, steps)

    def end(self) -> None:
        self._mlflow.end_run()


SERVICES: dict[str, Callable[[], Service]] = {_Wandb.NAME: _Wandb, _Mlflow.NAME: _Mlflow}
"""The services, by the names that the key ``tracker`` of a configuration takes."""


class Sender:
    """Makes the calls of a service in another thread, so that training never waits or stops.

    The first call that fails is reported, once. The folder of the run keeps its name at the service.
    """

    def __init__(self, service: Service, folder: Path, config: RunConfig) -> None:
        self._service, self._has_failed = service, False
        self._calls: queue.Queue[Callable[[], object] | None] = queue.Queue(_MOST_WAITING)
        self._thread = threading.Thread(target=self._work, args=(folder, config), daemon=True)
        self._thread.start()

    def later(self, method: str, *arguments: Any) -> None:
        """Have a method of the service called."""
        self._put(lambda: getattr(self._service, method)(*arguments))

    def close(self) -> None:
        """End the run at the service; wait a while for the remaining calls."""
        self._put(self._service.end)
        self._put(None)
        self._thread.join(_SECONDS_AT_END)
        if self._thread.is_alive():
            self._warn(f"it has not taken everything in {_SECONDS_AT_END:.0f} seconds")

    def _put(self, call: Callable[[], object] | None) -> None:
        try:
            self._calls.put_nowait(call)
        except queue.Full:
            self._warn(f"{_MOST_WAITING:,} calls are waiting for it")

    def _work(self, folder: Path, config: RunConfig) -> None:
        """Make the calls, in order; none if the run could not begin."""
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
            file.parent.mkdir(parents=True, exist_ok=True)
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
            warning = f"{self._service.NAME} does not get everything ({reason})"
            print(
                f"\n{warning}; the run goes on, and {METRICS_FILE} is complete", file=sys.stderr, flush=True
            )

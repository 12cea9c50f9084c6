"""Tracking services: Weights & Biases, MLflow and trackio, through their own clients.

A client takes its addresses, keys and modes from its own environment variables and files. To add a service,
write a class with the methods of :class:`Service` and enter it in :data:`SERVICES`.
"""

from __future__ import annotations

import os
import re
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from patchwork_env.learning.config import flattened

PROJECT = "patchwork-env"
"""The project, or experiment, of all runs, if the environment variables of a client name no other."""

Figures = Mapping[str, float | str]
Frame = npt.NDArray[np.uint8]


class Service(ABC):
    """A tracking service; any of its methods may take long and raise anything."""

    NAME: ClassVar[str]
    """The name of the service, of its client's module, and of the extra that installs it."""

    @abstractmethod
    def begin(self, folder: Path, known: str | None, configuration: dict[str, Any]) -> str:
        """Begins a run, called like its folder, or goes on with a known one.

        Returns what the service knows the run by: ``known`` when it is resumed, None when it begins.
        """

    @abstractmethod
    def add(self, metrics: Figures, steps: int) -> None:
        """Sends figures after so many steps."""

    @abstractmethod
    def add_picture(self, name: str, frame: Frame, steps: int) -> None:
        """Sends a picture, uint8 ``(height, width, 3)``."""

    @abstractmethod
    def conclude(self, figures: Figures, steps: int) -> None:
        """Sends what the whole run came to, after so many steps."""

    @abstractmethod
    def end(self) -> None:
        """Ends the run, or this part of it."""


class _Wandb(Service):
    """Weights & Biases; without a network by ``WANDB_MODE=offline``, and ``wandb sync`` later."""

    NAME = "wandb"
    _run: Any

    def begin(self, folder: Path, known: str | None, configuration: dict[str, Any]) -> str:
        import wandb

        known = known or uuid.uuid4().hex[:8]
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

    def add(self, metrics: Figures, steps: int) -> None:
        self._run.log({"steps": steps, **metrics})

    def add_picture(self, name: str, frame: Frame, steps: int) -> None:
        import wandb

        self._run.log({"steps": steps, name: wandb.Image(frame)})

    def conclude(self, figures: Figures, steps: int) -> None:
        self._run.summary.update(dict(figures))

    def end(self) -> None:
        self._run.finish()


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

    def add(self, metrics: Figures, steps: int) -> None:
        from mlflow.entities import Metric

        now = int(1000 * time.time())
        sent = [Metric(self._ODD.sub("_", name), value, now, steps) for name, value in metrics.items()]
        self._client.log_batch(self._id, metrics=sent)

    def add_picture(self, name: str, frame: Frame, steps: int) -> None:
        self._client.log_image(self._id, frame, key=name, step=steps)

    def conclude(self, figures: Figures, steps: int) -> None:
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


class _Trackio(Service):
    """trackio: on this machine, or where ``TRACKIO_SPACE_ID`` or ``TRACKIO_SERVER_URL`` say."""

    NAME = "trackio"
    _run: Any

    def begin(self, folder: Path, known: str | None, configuration: dict[str, Any]) -> str:
        import trackio

        known = known or f"{folder.name}-{uuid.uuid4().hex[:6]}"
        self._run = trackio.init(PROJECT, known, config=configuration, resume="allow", embed=False)
        return known

    def add(self, metrics: Figures, steps: int) -> None:
        self._run.log(dict(metrics), step=steps)

    def add_picture(self, name: str, frame: Frame, steps: int) -> None:
        import trackio

        self._run.log({name: trackio.Image(frame)}, step=steps)

    def conclude(self, figures: Figures, steps: int) -> None:
        self._run.log(dict(figures), step=steps)

    def end(self) -> None:
        self._run.finish()


SERVICES: dict[str, type[Service]] = {service.NAME: service for service in (_Wandb, _Mlflow, _Trackio)}
"""The services, by the names that the key ``tracker`` of a configuration takes."""

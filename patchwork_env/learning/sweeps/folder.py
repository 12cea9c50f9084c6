"""The files in the folder of a sweep, and how they are read and written.

SWEEP/config.yaml        the configuration that all trials share
SWEEP/sweep.json         the parameters, how trials are compared, and the values of every trial
SWEEP/trials/003/        the run of a trial, which is a run as any other
SWEEP/trials/003.json    how the trial ended; absent until then
SWEEP/results.txt, results.csv, results.json
SWEEP/winner.json        the best trial, measured again on circles or decks that it was not chosen by
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal

from patchwork_env.core.documents import read_document, read_object
from patchwork_env.core.files import make_folder, storing_in, write_text
from patchwork_env.core.names import short_repr
from patchwork_env.learning.config import RunConfig, dump_config, load_stored_config
from patchwork_env.learning.distributed.ray_cluster import LOCAL
from patchwork_env.learning.runs.folder import (
    CONFIG_FILE,
    METRICS,
    evaluation_files,
    metric_of,
    read_evaluation,
)
from patchwork_env.learning.sweeps.parameters import Values, overrides
from patchwork_env.learning.system.contents import as_type

FORMAT = "patchwork-env sweep"
VERSION = 1
SWEEP_FILE = "sweep.json"
_TRIALS = "trials"

FINISHED: Final = "finished"
STOPPED: Final = "stopped"
FAILED: Final = "failed"


@dataclass(frozen=True)
class Metric:
    """What trials are compared by: a figure of the match against one opponent; more is better.

    Attributes:
        name: ``win_rate``, ``score_difference``, or ``score``, the mean score of the policy.
        against: The name of the opponent.
    """

    name: str
    against: str

    def __str__(self) -> str:
        return f"{self.name.replace('_', ' ')} against {self.against}"

    def of(self, evaluation: Mapping[str, Any]) -> float:
        """The figure in an evaluation of a run; see :mod:`patchwork_env.learning.runs.folder`."""
        match = next(match for match in evaluation["matches"] if match["opponent"] == self.against)
        return metric_of(match, self.name)


@dataclass(frozen=True)
class Halving:
    """Asynchronous successive halving (Li et al. 2020), which ends trials early: ASHA in Ray Tune.

    Attributes:
        grace: The number of steps before which no trial ends.
        reduction: The number of trials of which one goes on after ``grace`` steps, and again after
            ``reduction`` times as many steps, and so on.
    """

    grace: int
    reduction: int


@dataclass(frozen=True)
class Sweep:
    """A sweep in its folder.

    Attributes:
        folder: The folder of the sweep, which exists.
        parameters: The parameters that are varied, as the user wrote them.
        trials: The values of every trial.
        metric: The figure that trials are compared by.
        halving: How trials are ended early; None if all trials run to their ends.
        workers: The largest number of trials at the same time; None for as many as there are processors for.
        cluster: The address of the Ray cluster.
    """

    folder: Path
    parameters: tuple[str, ...]
    trials: tuple[Values, ...]
    metric: Metric
    halving: Halving | None
    workers: int | None = None
    cluster: str = LOCAL

    def run_folder(self, trial: int) -> Path:
        """The folder of the run of a trial."""
        return self.folder / _TRIALS / name_of(trial)

    def config(self, trial: int) -> RunConfig:
        """The configuration of a trial."""
        return load_stored_config(self.folder / CONFIG_FILE, overrides(self.trials[trial]))

    @property
    def common_config(self) -> RunConfig:
        """The configuration that all trials share."""
        return load_stored_config(self.folder / CONFIG_FILE)

    def evaluation(self, trial: int) -> dict[str, Any] | None:
        """The newest evaluation of a trial; None if there is none yet."""
        files = evaluation_files(self.run_folder(trial))
        return read_evaluation(files[-1]) if files else None

    def end(self, trial: int) -> End | None:
        """How a trial ended; None if it has not ended.

        Raises:
            ValueError: The file that says so is damaged.
        """
        path = self._end_file(trial)
        if not path.exists():
            return None
        contents = read_object(path, "state", "error")
        if contents["state"] not in (FINISHED, STOPPED, FAILED):
            raise ValueError(f"{path} is damaged: its state is {short_repr(contents['state'])}")
        return End(contents["state"], None if contents["error"] is None else str(contents["error"]))

    def set_end(self, trial: int, end: End) -> None:
        """Writes how a trial ended."""
        with storing_in(self.folder):
            write_text(self._end_file(trial), json.dumps(asdict(end), indent=1) + "\n")

    def forget_failures(self) -> None:
        """Deletes the ends of trials that failed, so that these go on."""
        with storing_in(self.folder):
            for trial in range(len(self.trials)):
                end = self.end(trial)
                if end is not None and end.state == FAILED:
                    self._end_file(trial).unlink()

    def _end_file(self, trial: int) -> Path:
        return self.folder / _TRIALS / f"{name_of(trial)}.json"


@dataclass(frozen=True)
class End:
    """How a trial ended: it finished, was stopped early, or failed with an error, whose text is kept."""

    state: Literal["finished", "stopped", "failed"]
    error: str | None = None


def name_of(trial: int) -> str:
    """The name of a trial: its number with at least three digits."""
    return f"{trial:03}"


def begin_sweep(sweep: Sweep, config: RunConfig) -> None:
    """Writes the files of a new sweep; the last one is ``sweep.json``, which makes the folder a sweep.

    Raises:
        StorageError: The folder cannot be written.
    """
    contents = {"format": FORMAT, "version": VERSION} | asdict(sweep)
    del contents["folder"]
    with storing_in(sweep.folder):
        make_folder(sweep.folder / _TRIALS)
        write_text(sweep.folder / CONFIG_FILE, dump_config(config))
        write_text(sweep.folder / SWEEP_FILE, json.dumps(contents, indent=1) + "\n")


def read_sweep(folder: Path) -> Sweep:
    """Reads the sweep in a folder.

    Raises:
        FileNotFoundError: The folder does not hold a sweep.
        ValueError: The file ``sweep.json`` is damaged or of another version.
    """
    path = folder / SWEEP_FILE
    if not path.is_file():
        raise FileNotFoundError(f"{folder} is no sweep: it holds no {SWEEP_FILE}")
    sweep = as_type(Sweep, read_document(path, FORMAT, VERSION) | {"folder": str(folder)}, path)
    if sweep.metric.name not in METRICS:
        raise ValueError(f"{path} is damaged: its metric is {short_repr(sweep.metric.name)}")
    return sweep

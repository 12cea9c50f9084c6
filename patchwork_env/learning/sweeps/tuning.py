"""Ray Tune: which trials run when, and which of them end early. This imports Ray, so import it late."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Callable, Sequence
from typing import Any

from ray import tune
from ray.tune.schedulers import ASHAScheduler, FIFOScheduler, TrialScheduler

from patchwork_env.learning.config import RunConfig
from patchwork_env.learning.sweeps.folder import FAILED, STOPPED, End, Sweep
from patchwork_env.learning.sweeps.trial import METRIC, run_trial
from patchwork_env.learning.system.signals import Interruption, Waiting, signals_wait

RETRIES = 4
"""How often a trial whose process was lost is resumed from its newest checkpoint."""
_QUIET = {
    "TUNE_DISABLE_SIGINT_HANDLER": "1",  # signals are ours
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",  # and so are the files
    "TUNE_DISABLE_STRICT_METRIC_CHECKING": "1",  # a trial may fail before its first evaluation
    "RAY_CHDIR_TO_TRIAL_DIR": "0",
    "RAY_AIR_NEW_OUTPUT": "0",
}
_FILES = ".tune"

Say = Callable[[str], object]


def resources(config: RunConfig) -> dict[str, int]:
    """The processors and GPUs of the cluster that a trial takes, as Ray counts them."""
    return {"cpu": config.threads} | ({"gpu": 1} if config.device.startswith("cuda") else {})


def tune_trials(
    sweep: Sweep, trials: Sequence[int], most: int | None, ended: Callable[[int], object], say: Say
) -> None:
    """Runs trials to their ends on the cluster to which this process is connected.

    At most ``most`` of them run at the same time, by default as many as the cluster has processors for.
    ``ended`` is called with the number of every trial that has ended, ``say`` with lines about what happens.

    Raises:
        Interruption: A signal came; the trials that were running can be resumed.
    """
    os.environ.update(_QUIET)
    logging.getLogger("ray.tune").setLevel(logging.ERROR)
    files = sweep.folder / _FILES
    shutil.rmtree(files, ignore_errors=True)
    try:
        with signals_wait("stops; what trials did since their last checkpoints is lost") as waiting:
            tuner = tune.Tuner(
                tune.with_resources(run_trial, resources(sweep.common_config)),
                param_space={
                    "sweep": str(sweep.folder.resolve()),
                    "directory": os.getcwd(),
                    "trial": tune.grid_search(list(trials)),
                },
                tune_config=tune.TuneConfig(
                    metric=METRIC, mode="max", scheduler=_scheduler(sweep), max_concurrent_trials=most
                ),
                run_config=tune.RunConfig(
                    name=_FILES,
                    storage_path=str(sweep.folder.resolve()),
                    callbacks=[_Observer(sweep, ended, say)],
                    stop=_Stopper(waiting),
                    failure_config=tune.FailureConfig(max_failures=RETRIES),
                    verbose=0,
                ),
            )
            tuner.fit()
    finally:
        shutil.rmtree(files, ignore_errors=True)


def _scheduler(sweep: Sweep) -> TrialScheduler:
    return FIFOScheduler() if sweep.halving is None else _Halving(sweep)


class _Halving(ASHAScheduler):
    """ASHA that writes down which trials it stops; it does not stop a trial at its last evaluation."""

    def __init__(self, sweep: Sweep) -> None:
        assert sweep.halving is not None
        super().__init__(
            time_attr="steps",
            max_t=max(sweep.common_config.total_steps, sweep.halving.grace),
            grace_period=sweep.halving.grace,
            reduction_factor=sweep.halving.reduction,
            stop_last_trials=False,
        )
        self._sweep = sweep

    def on_trial_result(self, controller: Any, trial: Any, result: dict[str, Any]) -> str:
        """Decides whether a trial that has reported goes on."""
        decision: str = super().on_trial_result(controller, trial, result)
        if decision != TrialScheduler.STOP or result["is_last"]:
            return TrialScheduler.CONTINUE
        self._sweep.set_end(trial.config["trial"], End(STOPPED))
        return decision


class _Stopper(tune.Stopper):
    """Ends the sweep when a signal waits.

    Without it Ray Tune would wait for the next evaluations, and it swallows exceptions that signals raise in
    it.
    """

    def __init__(self, waiting: Waiting) -> None:
        self._waiting = waiting

    def __call__(self, trial_id: str, result: dict[str, Any]) -> bool:
        return False

    def stop_all(self) -> bool:
        if self._waiting.number is not None:
            raise Interruption(self._waiting.number)
        return False


class _Observer(tune.Callback):
    """Prints what happens to trials, and writes down failures that their processes cannot write."""

    def __init__(self, sweep: Sweep, ended: Callable[[int], object], say: Say) -> None:
        self._sweep = sweep
        self._ended = ended
        self._say = say

    def on_trial_start(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        number = trial.config["trial"]
        if self._sweep.end(number) is None:
            values = ", ".join(f"{key} {value}" for key, value in self._sweep.trials[number].items())
            self._say(f"trial {number:03} runs with {values}")

    def on_trial_result(
        self, iteration: int, trials: list[Any], trial: Any, result: dict[str, Any], **info: Any
    ) -> None:
        if result.get("is_new"):
            number, metric = trial.config["trial"], self._sweep.metric
            value = f"{result[METRIC]:.1%}" if metric.name == "win_rate" else f"{result[METRIC]:.2f}"
            self._say(f"trial {number:03} after {result['steps']:,} steps: {metric} {value}")

    def on_trial_complete(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        self._ended(trial.config["trial"])

    def on_trial_recover(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        self._say(f"trial {trial.config['trial']:03} has lost its process; it goes on in another one")

    def on_trial_error(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        number = trial.config["trial"]
        reason = " ".join(str(trial.get_error()).split())
        self._sweep.set_end(number, End(FAILED, f"lost its process {RETRIES + 1} times: {reason}"))
        self._ended(number)

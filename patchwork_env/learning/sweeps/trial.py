"""A trial in its process: an ordinary run that reports its evaluations to Ray Tune."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from patchwork_env.learning.runs.folder import CONFIG_FILE, evaluation_files, read_evaluation
from patchwork_env.learning.sweeps.folder import FAILED, FINISHED, End, Sweep, read_sweep

METRIC = "metric"
"""The name under which Ray Tune knows what trials are compared by."""


def run_trial(job: Mapping[str, Any]) -> None:
    """Begins the run of a trial or goes on with it, to its end.

    What the run has evaluated before is reported again: who ends trials early may not know it any more. An
    error of the run is noted in the sweep's folder. An error here is one of the cluster, for another attempt.

    Args:
        job: ``sweep``, the folder, ``trial``, its number, and ``directory``, where the command was started.
    """
    os.chdir(job["directory"])
    sweep, number = read_sweep(Path(job["sweep"])), job["trial"]
    reporter = _Reporter(sweep, number)
    for file in evaluation_files(sweep.run_folder(number)):
        reporter.report(file, is_new=False)
    if sweep.end(number) is not None:
        return
    try:
        _train(sweep, number, reporter)
    except Exception as error:
        sweep.set_end(number, End(FAILED, f"{type(error).__name__}: {error}"))
    else:
        sweep.set_end(number, End(FINISHED))


def _train(sweep: Sweep, number: int, reporter: _Reporter) -> None:
    from patchwork_env.learning.runs.training import new_run, resumed_run, train  # PyTorch takes seconds

    folder = sweep.run_folder(number)
    with ExitStack() as stack:
        if (folder / CONFIG_FILE).is_file():
            run = resumed_run(folder, stack)
        else:
            shutil.rmtree(folder, ignore_errors=True)  # half begun
            run = new_run(sweep.config(number), folder, stack)
        run.evaluated = reporter.report
        train(run)


class _Reporter:
    """Tells Ray Tune of evaluations; returns when the trial may go on."""

    def __init__(self, sweep: Sweep, number: int) -> None:
        self._sweep = sweep
        self._total_steps = sweep.config(number).total_steps

    def report(self, file: Path, is_new: bool = True) -> None:
        from ray import tune

        evaluation = read_evaluation(file)
        steps = evaluation["steps"]
        tune.report(
            {
                "steps": steps,
                "minutes": evaluation["minutes"],
                METRIC: self._sweep.metric.of(evaluation),
                "is_last": steps >= self._total_steps,
                "is_new": is_new,
            }
        )

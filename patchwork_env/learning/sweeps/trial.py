"""A trial in a process of its own: a run as any other, which reports its evaluations to Ray Tune."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from patchwork_env.errors import InUseError
from patchwork_env.learning.runs.folder import CONFIG_FILE, evaluation_files, read_evaluation
from patchwork_env.learning.sweeps.folder import FAILED, FINISHED, End, Sweep, read_sweep

METRIC = "metric"
"""The name of the metric in what Ray Tune gets."""


def run_trial(job: Mapping[str, Any]) -> None:
    """Begins or resumes the run of a trial, and trains it to its end.

    Earlier evaluations of the run are reported again, for the scheduler may not know them any more. An error
    of the run is written into the folder of the sweep. An error of anything else is raised, and Ray Tune
    tries the trial again. ``job`` has the folder of the ``sweep``, the number of the ``trial``, and the
    ``directory`` in which the command was started.

    Raises:
        InUseError: A process trains there that the sweep has lost, or whose sweep was killed; it soon ends.
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
    except InUseError:
        raise
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
            shutil.rmtree(folder, ignore_errors=True)  # what a killed process had begun
            run = new_run(sweep.config(number), folder, stack)
        run.evaluated = reporter.report
        train(run)


class _Reporter:
    """Reports evaluations to Ray Tune, which may end the trial then."""

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

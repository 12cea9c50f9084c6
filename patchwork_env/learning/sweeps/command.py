"""The work of the command ``sweep``: begins or resumes a sweep, trains its trials, and reports."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from patchwork_env.core.checks import check_seed
from patchwork_env.core.documents import read_text
from patchwork_env.core.files import remove_partial, storing_in
from patchwork_env.errors import ConfigError
from patchwork_env.learning.config import ClusterRun, RunConfig, find_config, load_config, parse_yaml
from patchwork_env.learning.distributed.jobs import OnCluster, check_workers
from patchwork_env.learning.evaluation.runners import runner_of
from patchwork_env.learning.runs.checkpoints import free_folder, new_run_folder
from patchwork_env.learning.runs.run import check_names
from patchwork_env.learning.sweeps import OPPONENT, RANDOM
from patchwork_env.learning.sweeps.parameters import check_trials, draw_trials, parse_parameter
from patchwork_env.learning.sweeps.sweep import FINISHED, UNFINISHED, Settings, Sweep, begin_sweep
from patchwork_env.learning.system.lock import exclusive_lock

_LARGEST_REDUCTION = 1000


def run(options: argparse.Namespace) -> int:
    """Carries out what the options of the command say; returns the exit code."""
    with ExitStack() as stack:
        sweep = _resumed(options, stack) if options.resume else _new(options, stack)
        return _train(sweep, options)


# --- new sweeps and old ones ------------------------------------------------------------------------------


def _new(options: argparse.Namespace, stack: ExitStack) -> Sweep:
    """Begins a sweep; nothing is written before everything that can be checked is checked."""
    path = find_config(options.config)
    parameters = [parse_parameter(text) for text in options.param]
    config, changes = _common_config(path, options.set)
    settings = _settings(options, config)
    trials = draw_trials(parameters, options.trials, settings.seed, settings.sampler)
    check_trials(path, changes, parameters, trials)
    folder = new_run_folder(options.out or free_folder(Path("runs") / f"{path.stem}-sweep"))
    stack.enter_context(exclusive_lock(folder))
    sweep, options.folder = begin_sweep(folder, config, settings, trials), folder
    print(f"new sweep in {folder}: {len(trials)} trials of {path}")
    print(f"if it is cut off, go on with --resume {folder}", flush=True)
    return sweep


def _resumed(options: argparse.Namespace, stack: ExitStack) -> Sweep:
    sweep, options.folder = Sweep(options.resume), options.resume
    stack.enter_context(exclusive_lock(sweep.folder))
    with storing_in(sweep.folder):
        remove_partial(sweep.folder)
        sweep.mend()
    return sweep


def _common_config(path: Path, changes: Sequence[str]) -> tuple[RunConfig, list[str]]:
    """The configuration that all trials share, and the overrides that lead to it."""
    config, settings = load_config(path, changes), list(changes)
    if "threads" not in (parse_yaml(read_text(path)) or {}) and "threads=" not in "".join(changes):
        settings.append("threads=1")
        config = load_config(path, settings)
    if isinstance(config, ClusterRun) and config.cluster.workers:
        raise ConfigError(
            f"cluster.workers is {config.cluster.workers}; trials have no workers of their own: "
            "--set cluster.workers=0"
        )
    if not config.evaluation.opponents:
        raise ConfigError("evaluation.opponents is []; trials are compared by their evaluations")
    check_names(config)
    return config, settings


def _settings(options: argparse.Namespace, config: RunConfig) -> Settings:
    opponents, steps = config.evaluation.opponents, config.total_steps
    against = options.against or (OPPONENT if OPPONENT in opponents else opponents[-1])
    if against not in opponents:
        raise ConfigError(f"--against {against}: evaluation.opponents are {', '.join(opponents)}")
    grace, reduction = 0, 3 if options.reduction is None else options.reduction
    if options.scheduler == "asha":
        if not 2 <= reduction <= _LARGEST_REDUCTION:
            raise ConfigError(f"--reduction is {reduction}; allowed are 2 to {_LARGEST_REDUCTION}")
        grace = max(steps // reduction**2, 1) if options.grace is None else options.grace
        if not 1 <= grace < steps:
            raise ConfigError(f"--grace is {grace}; allowed are 1 to total_steps - 1, {steps - 1}")
    _check_workers(options.workers, options.cluster)
    metric: Any = options.metric or runner_of(config.game).metric
    sampler: Any = options.sampler or RANDOM
    return Settings(
        parameters=tuple(options.param),
        metric=metric,
        against=against,
        sampler=sampler,
        seed=check_seed(options.seed or 0),
        grace=grace,
        reduction=reduction,
        workers=options.workers,
        cluster=options.cluster,
    )


def _check_workers(workers: int | None, cluster: str | None) -> None:
    check_workers(OnCluster(cluster, workers) if cluster is not None else 1 if workers is None else workers)


# --- while it runs ----------------------------------------------------------------------------------------


def _train(sweep: Sweep, options: argparse.Namespace) -> int:
    """Trains the trials that have not ended, and reports; ``--workers`` and ``--cluster`` are as before."""
    workers = options.workers or sweep.settings.workers
    cluster = options.cluster or sweep.settings.cluster
    _check_workers(workers, cluster)
    began, rows = time.monotonic(), sweep.rows()
    left = sorted(row.number for row in rows if row.state == UNFINISHED)
    print(f"{len(rows) - len(left)} of {len(rows)} trials have ended", flush=True)
    for number in sweep.train(left, workers, cluster) if left else ():
        rows = sweep.rows()
        sweep.write_table(rows)
        row = next(row for row in rows if row.number == number)
        end = f"{row.state}: {row.error}" if row.error else row.state
        ended = sum(row.state != UNFINISHED for row in rows)
        minutes = (time.monotonic() - began) / 60
        print(f"{minutes:6.1f} min  trial {number:03} {end} ({ended} of {len(rows)} have ended)", flush=True)
    return _report(sweep)


def _report(sweep: Sweep) -> int:
    rows = sweep.rows()
    table = sweep.write_table(rows)
    name = f"{sweep.settings.metric} against {sweep.settings.against}"
    print("\n".join(["", f"by {name}, the best first", "", *table.lines(), ""]))
    for row in rows:
        if row.error:
            print(f"trial {row.number:03} failed: {row.error}")
    print(f"results: {sweep.folder / 'results.csv'}")
    best = rows[0]
    if best.state != FINISHED:
        return 2
    print(f"best: {sweep.run_folder(best.number)}, with config.yaml and final/")
    match = sweep.measure_again(best)
    low, high = match["win_rate_interval"]
    wins = f"wins {match['win_rate']:.1%} ({low:.1%} to {high:.1%}) against {match['opponent']}"
    score, difference = match["sides"]["agent"]["score"], match["score_difference"]
    print(
        f"measured again, on circles or decks that no trial was chosen by: {wins}, "
        f"score {score:.1f}, score difference {difference:.1f}"
    )
    return 0

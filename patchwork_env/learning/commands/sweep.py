"""Trains runs that differ in some values of one configuration, and compares them in one table.

patchwork-env sweep quick --param 'ppo.epochs=grid(1, 2, 4)'
patchwork-env sweep quick --param 'reward.margin=uniform(0, 2)' --trials 8
patchwork-env sweep --resume runs/quick-sweep
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from patchwork_env.core.checks import check_seed
from patchwork_env.core.commands import CommandParser, run_command
from patchwork_env.core.documents import read_text
from patchwork_env.core.files import remove_partial, storing_in
from patchwork_env.errors import ConfigError
from patchwork_env.learning.config import ClusterRun, RunConfig, find_config, load_config, parse_yaml
from patchwork_env.learning.distributed.jobs import OnCluster, check_workers
from patchwork_env.learning.distributed.ray_cluster import LOCAL, connected
from patchwork_env.learning.evaluation.contests import contest_of
from patchwork_env.learning.runs.checkpoints import new_run_folder
from patchwork_env.learning.runs.folder import METRICS, evaluation_files
from patchwork_env.learning.runs.training import check_names
from patchwork_env.learning.sweeps.folder import (
    FINISHED,
    Halving,
    Metric,
    Sweep,
    begin_sweep,
    name_of,
    read_sweep,
)
from patchwork_env.learning.sweeps.parameters import FORMS, check_trials, draw_trials, parse_parameter
from patchwork_env.learning.sweeps.table import as_text, show_figures, write_results
from patchwork_env.learning.sweeps.winner import measured_again
from patchwork_env.learning.system.lock import sole_user
from patchwork_env.learning.system.machine import usable_cores
from patchwork_env.learning.system.signals import Interruption, signals_interrupt

_OF_NEW = ("param", "set", "trials", "seed", "metric", "against", "scheduler", "grace", "reduction", "out")
"""The options that a sweep that is resumed does not take."""
DEFAULT_OPPONENT = "greedy"
"""The opponent that trials are compared by, if it is one of the configuration's; or else its last one."""
_LARGEST_REDUCTION = 1000


def main(arguments: list[str] | None = None, program: str = "training.sweep") -> int:
    """The command; returns the exit code.

    It is 0 if a trial has finished, 2 if none has and for an error, and 128 + the number of a signal that
    stopped the sweep.
    """
    return run_command(_parser(), _run, arguments, program)


def _run(options: argparse.Namespace) -> int:
    _check(options)
    try:
        with signals_interrupt(), ExitStack() as stack:
            return _resume(options, stack) if options.resume else _begin(options, stack)
    except Interruption as interruption:
        print(f"stopped by {interruption}", flush=True)
        return 128 + interruption.signal


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        description="Trains runs that differ in some values of one configuration, and compares them.",
        epilog=f"A FORM is one of {', '.join(FORMS.values())}; quote it, for shells know parentheses.",
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="a configuration: a name or a path")
    parser.add_argument("--config", metavar="FILE", help="the same as NAME")
    parser.add_argument("--resume", type=Path, metavar="SWEEP_DIR", help="go on with a sweep as it is")
    _add_many(parser, "--param", "KEY=FORM", "keys of the configuration to vary, and how")
    _add_many(parser, "--set", "KEY=VALUE", "override keys of the configuration in all trials")
    parser.add_argument(
        "--trials", type=int, metavar="N", help="trials for each combination of the grids (default: 1)"
    )
    parser.add_argument("--seed", type=int, help="seed of the values that are drawn (default: 0)")
    parser.add_argument(
        "--metric", choices=METRICS, help="what trials are compared by (win_rate; for nmbr9 score)"
    )
    parser.add_argument(
        "--against",
        metavar="AGENT",
        help=f"the opponent of this metric ({DEFAULT_OPPONENT}, or the last one)",
    )
    parser.add_argument("--scheduler", choices=("none", "asha"), help="what ends trials early (none)")
    parser.add_argument(
        "--grace",
        type=int,
        metavar="STEPS",
        help="asha: steps before which no trial ends (total_steps / reduction²)",
    )
    parser.add_argument("--reduction", type=int, metavar="N", help="asha: one trial in N goes on (3)")
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="folder of the sweep; default runs/NAME-sweep"
    )
    parser.add_argument(
        "--workers",
        type=int,
        metavar="N",
        help="trials at the same time; default: as many as there are processors for, or as before",
    )
    parser.add_argument(
        "--cluster",
        metavar="ADDRESS",
        help="the Ray cluster: local, one of its own on this machine; auto; or host:port (default: local, or "
        "as before)",
    )
    parser.set_defaults(fail=parser.error)
    return parser


def _check(options: argparse.Namespace) -> None:
    """Ends the command with an error if options do not go together."""
    options.config = options.config or options.name
    if (options.config is None) == (options.resume is None):
        options.fail("give NAME or --config for a new sweep, or --resume")
    if options.resume:
        _refuse(options, _OF_NEW)
    if options.scheduler != "asha":
        _refuse(options, ("grace", "reduction"), "--scheduler asha")
    if options.config is not None:
        options.config = find_config(options.config)


def _add_many(parser: argparse.ArgumentParser, flag: str, form: str, text: str) -> None:
    parser.add_argument(flag, action="extend", default=[], metavar=form, nargs="+", help=text)


def _refuse(options: argparse.Namespace, names: Sequence[str], of: str = "new sweeps") -> None:
    given = [f"--{name}" for name in names if getattr(options, name) not in (None, [])]
    if given:
        options.fail(f"{', '.join(given)}: only for {of}")


# --- new sweeps and old ones ------------------------------------------------------------------------------


def _begin(options: argparse.Namespace, stack: ExitStack) -> int:
    """Begins a sweep; nothing is written before everything that can be checked is checked."""
    parameters = [parse_parameter(text) for text in options.param]
    config, settings = _common_config(options)
    trials = draw_trials(parameters, options.trials, check_seed(options.seed or 0))
    check_trials(options.config, settings, parameters, trials)
    metric, halving = _metric(options, config), _halving(options, config)
    on = _cluster(options, OnCluster(LOCAL))
    _connect(on, config, stack)
    folder = new_run_folder(options.out or Path("runs") / f"{options.config.stem}-sweep")
    stack.enter_context(sole_user(folder))
    sweep = Sweep(folder, tuple(options.param), tuple(trials), metric, halving, on.most, on.address)
    begin_sweep(sweep, config)
    print(f"new sweep in {folder}: {len(trials)} trials of {options.config}, by {metric}")
    print(f"if it is cut off, go on with --resume {folder}", flush=True)
    return _go_on(sweep, list(range(len(trials))), on.most)


def _resume(options: argparse.Namespace, stack: ExitStack) -> int:
    sweep = read_sweep(options.resume)
    on, config = _cluster(options, OnCluster(sweep.cluster, sweep.workers)), sweep.common_config
    stack.enter_context(sole_user(sweep.folder))
    sweep.forget_failures()
    ended = [trial for trial in range(len(sweep.trials)) if sweep.end(trial) is not None]
    left = [trial for trial in range(len(sweep.trials)) if trial not in ended]
    print(f"resuming {sweep.folder}: {len(ended)} of {len(sweep.trials)} trials have ended", flush=True)
    if not left:
        return _report(sweep)
    _connect(on, config, stack)
    with storing_in(sweep.folder):
        remove_partial(sweep.folder)
    # What ends trials early compares them with those that have ended, so these report once more.
    return _go_on(sweep, ended + left if sweep.halving else left, on.most)


def _common_config(options: argparse.Namespace) -> tuple[RunConfig, list[str]]:
    """The configuration that all trials share, and the overrides that lead to it."""
    config, settings = load_config(options.config, options.set), list(options.set)
    given = parse_yaml(read_text(options.config)) or {}
    if "threads" not in given and not any(text.startswith("threads=") for text in settings):
        settings.append("threads=1")
        config = load_config(options.config, settings)
    if isinstance(config, ClusterRun) and config.cluster.workers:
        raise ConfigError(
            f"cluster.workers is {config.cluster.workers}; trials have no workers of their own: "
            "--set cluster.workers=0"
        )
    if not config.evaluation.opponents:
        raise ConfigError("evaluation.opponents is []; trials are compared by their evaluations")
    check_names(config)
    return config, settings


def _metric(options: argparse.Namespace, config: RunConfig) -> Metric:
    opponents = config.evaluation.opponents
    against = options.against
    if against is None:
        against = DEFAULT_OPPONENT if DEFAULT_OPPONENT in opponents else opponents[-1]
    if against not in opponents:
        raise ConfigError(f"--against {against}: evaluation.opponents are {', '.join(opponents)}")
    return Metric(options.metric or contest_of(config.game).metric, against)


def _halving(options: argparse.Namespace, config: RunConfig) -> Halving | None:
    if options.scheduler != "asha":
        return None
    reduction = 3 if options.reduction is None else options.reduction
    if not 2 <= reduction <= _LARGEST_REDUCTION:
        raise ConfigError(f"--reduction is {reduction}; allowed are 2 to {_LARGEST_REDUCTION}")
    grace = max(config.total_steps // reduction**2, 1) if options.grace is None else options.grace
    if not 1 <= grace < config.total_steps:
        raise ConfigError(f"--grace is {grace}; allowed are 1 to total_steps - 1, {config.total_steps - 1}")
    return Halving(grace, reduction)


def _cluster(options: argparse.Namespace, before: OnCluster) -> OnCluster:
    """The cluster and the largest number of trials at the same time: as given, or else as before."""
    most = before.most if options.workers is None else options.workers
    on = OnCluster(options.cluster or before.address, most)
    check_workers(on)
    return on


def _connect(on: OnCluster, config: RunConfig, stack: ExitStack) -> None:
    at_once = on.most or max(usable_cores() // config.threads, 1)
    ray = stack.enter_context(connected(on.address, at_once * config.threads, "sweeps need"))
    largest = max((node["Resources"].get("CPU", 0) for node in ray.nodes() if node["Alive"]), default=0)
    if largest < config.threads:
        print(
            f"trials wait for a node with {config.threads} processors: threads is {config.threads}, and the "
            f"largest node of the cluster has {largest:.0f}",
            flush=True,
        )


# --- while it runs ----------------------------------------------------------------------------------------


def _go_on(sweep: Sweep, trials: list[int], most: int | None) -> int:
    from patchwork_env.learning.sweeps.tuning import tune_trials  # needs Ray

    began, known = time.monotonic(), {trial for trial in trials if sweep.end(trial) is not None}

    def say(line: str) -> None:
        print(f"{(time.monotonic() - began) / 60:6.1f} min  {line}", flush=True)

    def ended(trial: int) -> None:
        if trial in known:
            return
        rows = write_results(sweep)
        row = next(row for row in rows if row.trial == trial)
        count = sum(row.state is not None for row in rows)
        reason = f": {' '.join(row.error.split())}" if row.error else ""
        say(f"trial {name_of(trial)} {row.state}{reason} ({count} of {len(rows)} have ended)")

    try:
        tune_trials(sweep, trials, most, ended, say)
    except Interruption:
        ended_trials = sum(row.state is not None for row in write_results(sweep))
        print(
            f"\n{ended_trials} of {len(sweep.trials)} trials have ended; go on with --resume {sweep.folder}",
            flush=True,
        )
        raise
    return _report(sweep)


def _report(sweep: Sweep) -> int:
    rows = write_results(sweep)
    print(f"\n{as_text(sweep, rows)}\n\nresults: {sweep.folder / 'results.csv'}, .json and .txt")
    if sweep.halving and all(len(evaluation_files(sweep.run_folder(row.trial))) < 2 for row in rows):
        print("no trial was evaluated before its end, so none could end early: lower evaluation.every")
    best = rows[0]
    if best.state != FINISHED:
        return 2
    print(f"best: {sweep.run_folder(best.trial)}, with config.yaml and final/")
    again = show_figures(measured_again(sweep, best.trial)["match"], sweep.metric)
    print(f"measured again, on circles or decks that no trial was chosen by: {again}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

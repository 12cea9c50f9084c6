"""Trains runs that differ in some values of one configuration, and compares them in one table.

patchwork-env sweep quick --param 'ppo.epochs=grid(1, 2, 4)'
patchwork-env sweep quick --param 'reward.margin=uniform(0, 2)' --trials 8
patchwork-env sweep --resume runs/quick-sweep
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from patchwork_env.core.commands import CommandParser, run_command
from patchwork_env.learning.evaluation.statistics import METRICS
from patchwork_env.learning.sweeps import FORMS, OPPONENT, SAMPLERS
from patchwork_env.learning.system import Interruption, signals_interrupt

_OF_ASHA = ("grace", "reduction")
_OF_NEW = ("param", "set", "trials", "seed", "sampler", "metric", "against", "scheduler", *_OF_ASHA, "out")
"""The options that a sweep that is resumed does not take."""
_EPILOG = f"A FORM is one of {', '.join(FORMS.values())}; quote it, for shells know parentheses."
_SAMPLER_HELP = "how values are drawn: independently, or where those of earlier trials were good (random)"
_GRACE_HELP = "asha: steps before which no trial ends (total_steps / reduction²)"
_WORKERS_HELP = "trials at the same time (default: as many as there are processors for, or as before)"
_CLUSTER_HELP = "let a Ray cluster train: local, a new one on this machine; auto; or host:port"


def main(arguments: list[str] | None = None, program: str = "training.sweep") -> int:
    """The command; returns the exit code, 2 if no trial finished, 128 + a signal that stopped the sweep."""
    parser = CommandParser(__doc__, _EPILOG)
    option = parser.add_argument
    option("name", nargs="?", metavar="NAME", help="a configuration: a name or a path")
    option("--config", metavar="FILE", help="the same as NAME")
    option("--resume", type=Path, metavar="SWEEP_DIR", help="go on with a sweep as it is")
    for flag, form, text in (
        ("--param", "KEY=FORM", "keys of the configuration to vary, and how"),
        ("--set", "KEY=VALUE", "override keys of the configuration in all trials"),
    ):
        option(flag, action="extend", default=[], metavar=form, nargs="+", help=text)
    option("--trials", type=int, metavar="N", help="trials for each combination of the grids (default: 1)")
    option("--seed", type=int, help="seed of the values that are drawn (default: 0)")
    option("--sampler", choices=SAMPLERS, help=_SAMPLER_HELP)
    option("--metric", choices=METRICS, help="what trials are compared by (win_rate; for nmbr9 score)")
    option("--against", metavar="AGENT", help=f"the opponent of this metric ({OPPONENT}, or the last one)")
    option("--scheduler", choices=("none", "asha"), help="what ends trials early (none)")
    option("--grace", type=int, metavar="STEPS", help=_GRACE_HELP)
    option("--reduction", type=int, metavar="N", help="asha: one trial in N goes on (3)")
    option("--out", type=Path, metavar="DIR", help="folder of the sweep (default: runs/NAME-sweep)")
    option("--workers", type=int, metavar="N", help=_WORKERS_HELP)
    option("--cluster", metavar="ADDRESS", help=_CLUSTER_HELP)
    parser.set_defaults(fail=parser.error, folder=None)
    return run_command(parser, _run, arguments, program, "train,sweep")


def _run(options: argparse.Namespace) -> int:
    from patchwork_env.learning.sweeps.sweep import run

    options.config = options.config or options.name
    if (options.config is None) == (options.resume is None):
        options.fail("give NAME or --config for a new sweep, or --resume")
    if options.resume:
        _refuse(options, _OF_NEW, "new sweeps")
    if options.scheduler != "asha":
        _refuse(options, _OF_ASHA, "--scheduler asha")
    try:
        with signals_interrupt():
            return run(options)
    except Interruption as interruption:
        folder = f"; go on with --resume {options.folder}" if options.folder else ""
        print(f"\nstopped by {interruption}{folder}", flush=True)
        return 128 + interruption.signal


def _refuse(options: argparse.Namespace, names: Sequence[str], of: str) -> None:
    present = [f"--{name}" for name in names if getattr(options, name) not in (None, [])]
    if present:
        options.fail(f"{', '.join(present)}: only for {of}")

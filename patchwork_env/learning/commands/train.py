"""Trains a policy by self-play from a configuration.

patchwork-env train quick
patchwork-env train my.yaml --set ppo.epochs=3 --set seed=1
patchwork-env train --resume runs/quick
patchwork-env train --list
patchwork-env train --explain ppo
"""

from __future__ import annotations

import argparse
from pathlib import Path

from patchwork_env.core.commands import CommandParser, run_command

_RESUME_HELP = (
    "go on with a run from its newest checkpoint, with its own configuration and what --set changes"
)
_EXPLAIN_HELP = "print type, bounds, default and meaning of keys, sections, or all keys of an algorithm"


def main(arguments: list[str] | None = None, program: str = "training.train") -> int:
    """The command; returns the exit code: 0, 2 for an error, 128 + the number of a signal that stopped it."""
    parser = CommandParser(__doc__)
    option = parser.add_argument
    option("name", nargs="?", metavar="NAME", help="a name of --list, or the path of a YAML file")
    option("--config", metavar="FILE", help="the same as NAME")
    option("--resume", type=Path, metavar="RUN_DIR", help=_RESUME_HELP)
    keys = "override keys of the configuration, as in ppo.epochs=3"
    option("--set", action="extend", default=[], metavar="KEY=VALUE", nargs="+", help=keys)
    option(
        "--run-dir",
        type=Path,
        metavar="DIR",
        help="a new folder (default: runs/NAME, or runs/NAME-2 ... if that exists)",
    )
    option("--list", action="store_true", help="list the configurations that come with the project")
    option("--explain", nargs="*", metavar="KEY", help=_EXPLAIN_HELP)
    parser.set_defaults(fail=parser.error)
    return run_command(parser, _run, arguments, program, "train")


def _run(options: argparse.Namespace) -> int:
    source = options.config or options.name
    if not (source or options.resume or options.list or options.explain is not None):
        options.fail("one of NAME, --config, --resume, --list and --explain is required")
    if options.resume and (source or options.run_dir):
        options.fail("NAME, --config and --run-dir are for new runs; a run that is resumed keeps its own")

    from patchwork_env.learning.config import explain, list_configs, load_config

    if options.list:
        configs = [(path.stem, description) for path, description in list_configs()]
        width = max(len(name) for name, _ in configs)
        print("\n".join(f"{name:<{width}}  {description}" for name, description in configs))
        return 0
    if options.explain is not None:
        print(explain(options.explain))
        return 0
    config = load_config(source, options.set) if source else None

    from patchwork_env.learning.runs.checkpoints import free_folder  # what trains loads PyTorch
    from patchwork_env.learning.runs.run import new_run, resumed_run

    if config:
        with new_run(config, options.run_dir or free_folder(Path("runs") / Path(source).stem)) as run:
            return run.train()
    with resumed_run(options.resume, options.set) as run:
        return run.train()

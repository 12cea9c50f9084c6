"""Trains a policy by self-play from a configuration.

patchwork-env train quick
patchwork-env train my.yaml --set ppo.epochs=3 --set seed=1
patchwork-env train --resume runs/quick
patchwork-env train --list
patchwork-env train --explain ppo
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from patchwork_env.core.commands import CommandParser, run_command
from patchwork_env.learning.config import (
    differences,
    explain,
    list_configs,
    load_config,
)
from patchwork_env.learning.runs.folder import CONFIG_FILE
from patchwork_env.learning.runs.run import Run, new_run, resumed_run


def main(arguments: list[str] | None = None, program: str = "training.train") -> int:
    """The command; returns the exit code: 0, 2 for an error, 128 + the number of a signal that stopped it."""
    return run_command(_parser(), _run, arguments, program)


def _run(options: argparse.Namespace) -> int:
    if options.list:
        return _list()
    if options.explain is not None:
        print(explain(options.explain))
        return 0
    options.config = options.config or options.name
    if not (options.config or options.resume):
        options.fail("one of NAME, --config, --resume, --list and --explain is required")
    if options.resume and options.run_dir:
        options.fail("--run-dir is for new runs; --resume goes on in the folder of the old one")
    begin = _resumed_run if options.resume else _new_run
    with begin(options) as run:
        return run.train()


def _new_run(options: argparse.Namespace) -> AbstractContextManager[Run]:
    config = load_config(options.config, options.set)
    return new_run(config, options.run_dir or Path("runs") / Path(options.config).stem)


@contextmanager
def _resumed_run(options: argparse.Namespace) -> Iterator[Run]:
    given = load_config(options.config, options.set) if options.config else None
    with resumed_run(options.resume, options.set) as run:
        others = differences(load_config(options.resume / CONFIG_FILE), given) if given else []
        if others:
            listed = ", ".join(others)
            print(f"the run keeps its own configuration; {options.config} differs in {listed}", flush=True)
        yield run


def _list() -> int:
    configs = [(path.stem, description) for path, description in list_configs()]
    width = max((len(name) for name, _ in configs), default=0)
    for name, description in configs:
        print(f"{name:<{width}}  {description}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(description="Trains a policy by self-play.")
    parser.set_defaults(fail=parser.error)
    parser.add_argument(
        "name",
        nargs="?",
        metavar="NAME",
        help="a configuration: a name of --list or a path of a YAML file",
    )
    parser.add_argument("--config", metavar="FILE", help="the same as NAME")
    parser.add_argument(
        "--resume",
        type=Path,
        metavar="RUN_DIR",
        help="go on with a run from its newest checkpoint, with its own configuration and what --set changes",
    )
    parser.add_argument(
        "--set",
        action="extend",
        default=[],
        metavar="KEY=VALUE",
        nargs="+",
        help="override keys of the configuration, as in ppo.epochs=3",
    )
    parser.add_argument(
        "--run-dir",
        type=Path,
        metavar="DIR",
        help="folder of the new run, with a number after it if it exists; default runs/NAME",
    )
    parser.add_argument(
        "--list", action="store_true", help="list the configurations that come with the project"
    )
    parser.add_argument(
        "--explain",
        nargs="*",
        metavar="KEY",
        help="print type, bounds, default and meaning of keys, sections, or all keys of an algorithm",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())

"""Train a policy by self-play from a configuration.

patchwork-env train quick
patchwork-env train my.yaml --set ppo.epochs=3 --set seed=1
patchwork-env train --resume runs/quick
patchwork-env train --list
patchwork-env train --explain ppo
"""

from __future__ import annotations

import argparse
from pathlib import Path

from patchwork_env.core.commands import CommandParser, keep_working, refuse, run_command, set_hint
from patchwork_env.core.names import short_repr

_RESUME_HELP = "resume a run from its newest checkpoint, with its own configuration and what --set changes"
_EXPLAIN_HELP = "print type, bounds, default and meaning of keys, sections, or all keys of an algorithm"


def main(arguments: list[str] | None = None, program: str = "training.train") -> int:
    """Run the command; return 0, 2 for an error, or 128 + the number of a signal that stopped it."""
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
    source = _source(options)
    if not source:
        refuse(options, ["run_dir"], "it is for new runs; a run that is resumed keeps its folder")
    if options.set and not (source or options.resume):
        options.fail("--set would have no effect: it changes the configuration of a run")
    keys = [override.partition("=")[0] for override in options.set]
    if twice := next((key for key in keys if keys.count(key) > 1), None):
        options.fail(f"--set gives {short_repr(twice)} twice; give each key once")

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

    from patchwork_env.learning.runs.checkpoints import free_folder  # imports PyTorch
    from patchwork_env.learning.runs.run import new_run, resumed_run

    with keep_working():
        if config and source:
            with new_run(config, options.run_dir or free_folder(Path("runs") / Path(source).stem)) as run:
                return run.train()
        with resumed_run(options.resume, options.set) as run:
            return run.train()


def _source(options: argparse.Namespace) -> str | None:
    """Return the configuration of a new run, or None for another task; exit unless one task is given."""
    name = options.name
    if name and "=" in name and not Path(name).exists():
        options.fail(f"{short_repr(name)} is no configuration; {set_hint(name)}")
    tasks = {
        "NAME": name,
        "--config": options.config,
        "--resume": options.resume,
        "--list": options.list or None,
        "--explain": options.explain,
    }
    given = [task for task, value in tasks.items() if value is not None]
    if len(given) != 1:
        number = f"given are {' and '.join(given)}" if given else "none is given"
        options.fail(f"give one of {', '.join(tasks)}; {number}; keys are set with --set KEY=VALUE")
    return options.config or name

"""The gauntlet: an agent plays a fixed pool of reference players under frozen settings, and gets a rating.

patchwork-env gauntlet runs/ppo/final --json result.json
patchwork-env gauntlet my_module:my_function

In Python: play_gauntlet(my_function) of patchwork_env.learning.evaluation.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from patchwork_env.core.commands import CommandParser, check_place, run_command
from patchwork_env.core.progress import Bar
from patchwork_env.learning.commands.match_options import (
    add_format,
    add_json,
    add_worker_options,
    help_on_agents,
    stoppable,
    write_json,
)
from patchwork_env.learning.evaluation.gauntlet import games_of_gauntlet, play_gauntlet
from patchwork_env.learning.system import usable_cores


def main(arguments: list[str] | None = None, program: str = "patchwork-env gauntlet") -> int:
    """Run the command; return the exit code."""
    parser = CommandParser(__doc__, help_on_agents())
    option = parser.add_argument
    option("agent", metavar="AGENT", help="the agent that is measured")
    option("--games", type=int, metavar="N", help="at most N games against each member, for a trial")
    option("--skip", nargs="+", default=[], metavar="MEMBER", help="leave out members; the result says so")
    option(
        "--folder",
        type=Path,
        metavar="DIR",
        help="keep the games here, so that the same command resumes after a stop",
    )
    add_worker_options(parser, usable_cores())
    add_format(parser)
    add_json(parser)
    return run_command(parser, _run, arguments, program)


def _run(options: argparse.Namespace) -> int:
    check_place(options, options.json, "--json", is_file=True)
    games = games_of_gauntlet(options.games, options.skip)
    kept = f"; the same command resumes from the games in {options.folder}" if options.folder else ""
    with stoppable(lambda: kept), Bar(games, "games") as bar:
        result = play_gauntlet(
            options.agent,
            games=options.games,
            skip=options.skip,
            workers=options.workers,
            folder=options.folder,
            progress=bar.update,
        )
    write_json(options, result.as_dict())
    print(result.table(options.format))
    return 0

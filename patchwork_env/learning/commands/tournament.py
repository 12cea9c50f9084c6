"""A round robin: every agent plays every other with the same circles or decks, and all get ratings.

patchwork-env tournament random greedy ppo-quick ppo --games 400 --out runs/tournament
patchwork-env tournament random greedy --game nmbr9 --out runs/nmbr9
patchwork-env tournament runs/ppo/checkpoints/step_* greedy --out runs/checkpoints

DIR stores the games, and at the end results.json, tables and a picture. After a stop, the same command
resumes. A command with other agents reuses the games in DIR.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from patchwork_env.core.commands import CommandParser, run_command
from patchwork_env.core.progress import Bar
from patchwork_env.errors import IllegalActionError, OpponentError
from patchwork_env.learning.commands.match_options import (
    add_format,
    add_games,
    add_worker_options,
    help_on_agents,
    stoppable,
    variant_of,
)
from patchwork_env.learning.evaluation.tables import TEXT
from patchwork_env.learning.system import usable_cores

_FORFEITS_HELP = "an agent that fails loses the game; without this, it is an error after all other games"
_ANCHOR_HELP = "the agent whose rating is fixed (default: random if it takes part, or else the mean of all)"


def main(arguments: list[str] | None = None, program: str = "patchwork-env tournament") -> int:
    """Run the command; return the exit code."""
    parser = CommandParser(__doc__, help_on_agents())
    option = parser.add_argument
    option("agents", metavar="AGENT", nargs="+", help="the agents that take part")
    option("--out", type=Path, required=True, metavar="DIR", help="the folder of the tournament")
    option("--forfeits", action="store_true", help=_FORFEITS_HELP)
    add_games(parser, "games per pairing, even in patchwork")
    option("--anchor", metavar="AGENT", help=_ANCHOR_HELP)
    option("--anchor-rating", type=float, default=0.0, help="the rating at which it is fixed (default: 0)")
    add_worker_options(parser, usable_cores())
    add_format(parser)
    return run_command(parser, _run, arguments, program, "train")


def _run(options: argparse.Namespace) -> int:
    from patchwork_env.learning.evaluation.tournament import Tournament
    from patchwork_env.learning.reports.plots import write_results

    tournament = Tournament.enter(
        options.agents,
        options.games,
        options.seed,
        variant_of(options),
        options.anchor,
        options.anchor_rating,
        options.game,
        options.forfeits,
    )
    workers, total = options.workers, tournament.num_games
    bar = Bar(total, "games")
    kept = f"games are in {options.out}; the same command resumes"
    with stoppable(lambda: f": {bar.done:,} of {total:,} {kept}"), bar:
        try:
            standings = tournament.play(options.out, workers, bar.update)
        except (IllegalActionError, OpponentError) as error:
            raise type(error)(
                f"{error}; all other games are in {options.out}: repeat the command with --forfeits, "
                "where a failure is a loss, or without the agent that fails"
            ) from None
    write_results(options.out, tournament, standings)
    print(standings.table(options.format), flush=True)
    print(f"\nresults and plots: {options.out}", file=sys.stdout if options.format == TEXT else sys.stderr)
    return 0

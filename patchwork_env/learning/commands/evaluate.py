"""Measure an agent against others: every circle of Patchwork from both seats, every deck of NMBR 9 once.

patchwork-env evaluate greedy --against random --games 1000
patchwork-env evaluate runs/quick/final --against random greedy --json figures.json
patchwork-env evaluate greedy --against random --game nmbr9
patchwork-env evaluate champion:fast --against champion:instant --sprt 0 20
"""

from __future__ import annotations

import argparse
import itertools
from contextlib import nullcontext

from patchwork_env.core.checks import check_seed
from patchwork_env.core.commands import CommandParser, check_place, keep_working, run_command
from patchwork_env.core.progress import Bar
from patchwork_env.learning.commands.match_options import (
    GAMES_OF_A_MATCH,
    add_format,
    add_games,
    add_json,
    add_worker_options,
    help_on_agents,
    variant_of,
    write_json,
)
from patchwork_env.learning.evaluation.sequential import MOST_GAMES, SequentialTest
from patchwork_env.learning.evaluation.tables import TEXT, render

_GAMES_HELP = f"games per opponent, even in patchwork; with --sprt at most so many, {MOST_GAMES:,} by default"
_SPRT_HELP = "end each match once a sequential test decides between these differences in Elo, such as 0 20"


def main(arguments: list[str] | None = None, program: str = "training.evaluate") -> int:
    """Run the command; return the exit code."""
    parser = CommandParser(__doc__, help_on_agents())
    option = parser.add_argument
    option("agents", metavar="AGENT", nargs="+", help="the agents that are measured")
    option("--against", metavar="AGENT", nargs="+", required=True, help="their opponents")
    add_games(parser, _GAMES_HELP)
    option("--sprt", type=float, nargs=2, metavar=("H0", "H1"), help=_SPRT_HELP)
    parser.set_defaults(games=None)
    add_worker_options(parser, 1)
    add_format(parser)
    add_json(parser)
    return run_command(parser, _run, arguments, program)


def _run(options: argparse.Namespace) -> int:
    from patchwork_env.learning.evaluation.matches import Participant, check_games, play_all
    from patchwork_env.learning.evaluation.results import matches_table, results_as_dict
    from patchwork_env.learning.evaluation.runners import Match, check_variant, common_game

    check_place(options, options.json, "--json", is_file=True)
    test = None if options.sprt is None else SequentialTest.between(options.sprt)
    participants = [Participant.load(spec) for spec in (*options.agents, *options.against)]
    players, names = [one.agent for one in participants], [one.name for one in participants]
    game = common_game(players, options.game)
    variant, seed = check_variant(game, variant_of(options)), check_seed(options.seed)
    most = GAMES_OF_A_MATCH if test is None else MOST_GAMES
    games = check_games(most if options.games is None else options.games, game)
    first = len(options.agents)  # the place of the first opponent
    matches = [
        Match((i, j), (names[i], names[j]), game, variant, games, seed, test=test)
        for i, j in itertools.product(range(first), range(first, len(players)))
    ]
    workers, results = options.workers, []
    with keep_working() if options.json else nullcontext(), Bar(games * len(matches), "games") as bar:

        def show(test: SequentialTest) -> None:
            bar.note = str(test)

        for result in play_all(players, matches, workers, bar.update, watch=show):
            results.append(result)
            if options.format == TEXT:
                bar.print(result.table())
    write_json(options, results_as_dict(results, {one.name: one.weights for one in participants}))
    if options.format != TEXT:
        heading = results[0].test.title if results[0].test else results[0].set_ups()
        print(render([heading, matches_table(results)], options.format))
    return 0

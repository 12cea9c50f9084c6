"""Measure an agent against others: every circle of Patchwork from both seats, every deck of NMBR 9 once.

patchwork-env evaluate greedy --against random --games 1000
patchwork-env evaluate runs/quick/final --against random greedy --json figures.json
patchwork-env evaluate greedy --against random --game nmbr9
patchwork-env evaluate champion:fast --against champion:instant --sprt 0 20
"""

from __future__ import annotations

import argparse
import itertools
from typing import TYPE_CHECKING

from patchwork_env.core.checks import check_seed
from patchwork_env.core.commands import CommandParser, run_command
from patchwork_env.core.progress import Bar
from patchwork_env.learning.commands import match_options
from patchwork_env.learning.commands.match_options import add_worker_options, workers_of
from patchwork_env.learning.evaluation.sequential import MOST_GAMES, SequentialTest
from patchwork_env.learning.evaluation.tables import TEXT, render

if TYPE_CHECKING:
    from patchwork_env.learning.evaluation.matches import Participant
    from patchwork_env.learning.evaluation.results import MatchResult


def main(arguments: list[str] | None = None, program: str = "training.evaluate") -> int:
    """Run the command; return the exit code."""
    parser = CommandParser(__doc__, match_options.help_on_agents())
    option = parser.add_argument
    option("agents", metavar="AGENT", nargs="+", help="the agents that are measured")
    option("--against", metavar="AGENT", nargs="+", required=True, help="their opponents")
    match_options.add_games(
        parser,
        f"games per opponent, even in patchwork; with --sprt at most so many, {MOST_GAMES:,} by default",
    )
    test = "end each match once a sequential test decides between these differences in Elo, such as 0 20"
    option("--sprt", type=float, nargs=2, metavar=("H0", "H1"), help=test)
    parser.set_defaults(games=None)
    add_worker_options(parser, 1)
    match_options.add_format(parser)
    match_options.add_json(parser)
    return run_command(parser, _run, arguments, program)


def _run(options: argparse.Namespace) -> int:
    from patchwork_env.learning.evaluation.matches import Participant
    from patchwork_env.learning.evaluation.results import matches_table, results_as_dict

    match_options.check_json(options)
    repeated = sorted({spec for spec in options.agents if options.agents.count(spec) > 1})
    if repeated:
        raise ValueError(f"agents are measured once; given more than once: {', '.join(repeated)}")
    agents = [Participant.load(spec) for spec in options.agents]
    opponents = [Participant.load(spec) for spec in options.against]
    results = _play(options, agents, opponents)
    match_options.write_json(
        options, results_as_dict(results, {one.name: one.weights for one in (*agents, *opponents)})
    )
    if options.format != TEXT:
        heading = results[0].test.title if results[0].test else results[0].set_ups()
        print(render([heading, matches_table(results)], options.format))
    return 0


def _play(
    options: argparse.Namespace, agents: list[Participant], opponents: list[Participant]
) -> list[MatchResult]:
    from patchwork_env.learning.evaluation.matches import check_games, play_all
    from patchwork_env.learning.evaluation.runners import Match, check_variant, common_game

    test = None if options.sprt is None else SequentialTest.between(options.sprt)
    players = [one.agent for one in (*agents, *opponents)]
    game = common_game(players, options.game)
    variant = check_variant(game, match_options.variant_of(options))
    most = match_options.GAMES_OF_A_MATCH if test is None else MOST_GAMES
    games, seed = (
        check_games(most if options.games is None else options.games, game),
        check_seed(options.seed),
    )
    workers, names = workers_of(options), [player.name for player in players]
    matches = [
        Match((i, j), (names[i], names[j]), game, variant, games, seed, test=test)
        for i, j in itertools.product(range(len(agents)), range(len(agents), len(players)))
    ]
    results = []
    with Bar(games * len(matches), "games") as bar:
        for result in play_all(players, matches, workers, bar.update):
            results.append(result)
            if options.format == TEXT:
                bar.print(result.table())
    return results

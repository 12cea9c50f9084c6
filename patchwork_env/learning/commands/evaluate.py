"""Measures an agent against others: every circle of Patchwork from both seats, every deck of NMBR 9 once.

patchwork-env evaluate greedy --against random --games 1000
patchwork-env evaluate runs/quick/final --against random greedy --json figures.json
patchwork-env evaluate greedy --against random --game nmbr9
patchwork-env evaluate runs/a/final runs/b/final runs/c/final --against greedy --seeds

With --seeds the agents count as runs of one configuration with different seeds: a table at the end says what
they reach together.
"""

from __future__ import annotations

import argparse
import itertools
from typing import TYPE_CHECKING

from patchwork_env.core.checks import check_seed
from patchwork_env.core.commands import CommandParser, run_command
from patchwork_env.core.progress import Bar
from patchwork_env.learning.commands.match_options import (
    add_format,
    add_games,
    add_json,
    check_json,
    help_on_agents,
    variant_of,
    write_json,
)
from patchwork_env.learning.distributed import add_worker_options, workers_of
from patchwork_env.learning.evaluation.tables import CSV, TEXT, render

if TYPE_CHECKING:
    from patchwork_env.learning.evaluation.matches import Participant
    from patchwork_env.learning.evaluation.results import MatchResult


def main(arguments: list[str] | None = None, program: str = "training.evaluate") -> int:
    """The command; returns the exit code."""
    parser = CommandParser(__doc__, help_on_agents())
    option = parser.add_argument
    option("agents", metavar="AGENT", nargs="+", help="the agents that are measured")
    option("--against", metavar="AGENT", nargs="+", required=True, help="their opponents")
    option("--seeds", action="store_true", help="the agents are runs of one configuration: sum them up")
    add_games(parser, "games per opponent, even in patchwork")
    add_worker_options(parser, 1)
    add_format(parser)
    add_json(parser)
    return run_command(parser, _run, arguments, program)


def _run(options: argparse.Namespace) -> int:
    from patchwork_env.learning.evaluation.matches import Participant
    from patchwork_env.learning.evaluation.results import matches_table, results_as_dict
    from patchwork_env.learning.evaluation.statistics import OF_RUNS, over_seeds, seeds_table

    check_json(options)
    repeated = sorted({spec for spec in options.agents if options.agents.count(spec) > 1})
    if repeated:
        raise ValueError(f"agents are measured once; given more than once: {', '.join(repeated)}")
    runs = [Participant.load(spec) for spec in options.agents]
    opponents = [Participant.load(spec) for spec in options.against]
    if options.seeds:
        _check_runs(runs)
    results = _play(options, runs, opponents)
    if options.format != TEXT:
        print(render([results[0].set_ups(), matches_table(results)], options.format))
    contents = results_as_dict(results, {one.name: one.weights for one in (*runs, *opponents)})
    if options.seeds:
        matches = [result.as_dict() for result in results]
        together = over_seeds(
            [matches[k : k + len(opponents)] for k in range(0, len(matches), len(opponents))]
        )
        contents["over_seeds"] = [entry._asdict() for entry in together]
        if options.format != CSV:
            print("", render([f"Over the runs. {OF_RUNS}.", seeds_table(together)], options.format), sep="\n")
    write_json(options, contents)
    return 0


def _check_runs(agents: list[Participant]) -> None:
    """Raises ValueError unless there are several agents with different weights."""
    from patchwork_env.learning.evaluation.statistics import check_independent

    if len(agents) < 2:
        raise ValueError("--seeds is for several agents, runs of one configuration; there is one")
    without = [agent.name for agent in agents if agent.weights is None]
    if without:
        raise ValueError(f"--seeds is for checkpoints of runs; without weights: {', '.join(without)}")
    check_independent(((agent.name, str(agent.weights)) for agent in agents), "weights")


def _play(
    options: argparse.Namespace, runs: list[Participant], opponents: list[Participant]
) -> list[MatchResult]:
    """Plays all matches; each table is printed when its match has ended."""
    from patchwork_env.learning.evaluation.matches import check_games, play_all
    from patchwork_env.learning.evaluation.runners import Match, check_variant, common_game

    players = [one.agent for one in (*runs, *opponents)]
    game = common_game(players, options.game)
    variant = check_variant(game, variant_of(options))
    games, seed = check_games(options.games, game), check_seed(options.seed)
    workers, names = workers_of(options), [player.name for player in players]
    matches = [
        Match((i, j), (names[i], names[j]), game, variant, games, seed)
        for i, j in itertools.product(range(len(runs)), range(len(runs), len(players)))
    ]
    with Bar(games * len(matches), "games") as bar:
        results = []
        for result in play_all(players, matches, workers, bar.update):
            results.append(result)
            if options.format == TEXT:
                bar.print(result.table())
        return results

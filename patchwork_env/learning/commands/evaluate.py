"""Measures an agent against others: every circle of Patchwork from both seats, every deck of NMBR 9 once.

patchwork-env evaluate greedy --against random --games 1000
patchwork-env evaluate runs/quick/final --against random greedy --json figures.json
patchwork-env evaluate greedy --against random --game nmbr9
patchwork-env evaluate runs/a/final runs/b/final runs/c/final --against greedy

If several agents are measured, they count as runs of one configuration with different seeds: a table at the
end says what they reach together.
"""

from __future__ import annotations

import argparse
import itertools
import sys

from tqdm import tqdm

from patchwork_env.agents import Agent
from patchwork_env.core.commands import CommandParser, run_command
from patchwork_env.learning.commands.match_options import (
    add_format,
    add_games,
    add_json,
    check_json,
    variant_of,
    write_json,
)
from patchwork_env.learning.distributed.jobs import Workers, add_worker_options, kept_connected, workers_of
from patchwork_env.learning.evaluation.contests import common_game
from patchwork_env.learning.evaluation.matches import play_matches
from patchwork_env.learning.evaluation.players import HELP, Entrant
from patchwork_env.learning.evaluation.results import MatchResult, matches_table, results_as_dict
from patchwork_env.learning.evaluation.seeds import SEEDS_HEADING, over_seeds, seeds_table
from patchwork_env.learning.evaluation.tables import CSV, TEXT, render


def main(arguments: list[str] | None = None, program: str = "training.evaluate") -> int:
    """The command; returns the exit code."""
    return run_command(_parser(), _run, arguments, program)


def _run(options: argparse.Namespace) -> int:
    check_json(options)
    repeated = sorted({spec for spec in options.agents if options.agents.count(spec) > 1})
    if repeated:
        raise ValueError(f"agents are measured once; given more than once: {', '.join(repeated)}")
    runs, opponents = ([Entrant.load(spec) for spec in specs] for specs in (options.agents, options.against))
    game = common_game([entrant.agent for entrant in (*runs, *opponents)], options.game)
    workers, results = workers_of(options), []
    with kept_connected(workers):
        for run, opponent in itertools.product(runs, opponents):
            results.append(_play(options, game, run.agent, opponent.agent, workers))
            if options.format == TEXT:
                print(results[-1].table(), flush=True)
    if options.format != TEXT:
        print(render([results[0].set_ups(), matches_table(results)], options.format))
    together = over_seeds(results) if len(runs) > 1 else []
    if together and options.format != CSV:
        print("", render([SEEDS_HEADING, seeds_table(together)], options.format), sep="\n")
    contents = results_as_dict(results, (*runs, *opponents))
    contents |= {"over_seeds": [entry._asdict() for entry in together]} if together else {}
    write_json(options, contents)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        description="Measures an agent against others, with the same circles or decks.",
        epilog=HELP,
    )
    parser.add_argument(
        "agents",
        metavar="AGENT",
        nargs="+",
        help="the agent that is measured; several are runs with different seeds",
    )
    parser.add_argument("--against", metavar="AGENT", nargs="+", required=True, help="its opponents")
    add_games(parser, "opponent")
    add_worker_options(parser, 1)
    add_format(parser)
    add_json(parser)
    return parser


def _play(
    options: argparse.Namespace, game: str, agent: Agent, opponent: Agent, workers: Workers
) -> MatchResult:
    with tqdm(total=options.games, desc=opponent.name, unit=" games", leave=False, disable=None) as bar:
        return play_matches(
            agent,
            opponent,
            options.games,
            options.seed,
            game=game,
            workers=workers,
            progress=bar.update,
            **variant_of(options),
        )


if __name__ == "__main__":
    sys.exit(main())

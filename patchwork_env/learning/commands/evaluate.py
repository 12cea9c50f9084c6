"""Measures an agent against others: every circle of Patchwork from both seats, every deck of NMBR 9 once.

patchwork-env evaluate greedy --against random --games 1000
patchwork-env evaluate runs/quick/final --against random greedy --json figures.json
patchwork-env evaluate greedy --against random --game nmbr9
patchwork-env evaluate runs/a/final runs/b/final runs/c/final --against greedy

Several agents that are measured are runs of one configuration with different seeds: a table at the end puts
them together.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from pathlib import Path

from tqdm import tqdm

from patchwork_env.agents import Agent
from patchwork_env.learning.commands.command import run_command
from patchwork_env.learning.commands.match_options import add_format, add_options, variant_of
from patchwork_env.learning.distributed.jobs import Workers, add_worker_options, kept_connected, workers_of
from patchwork_env.learning.evaluation.contests import common_game
from patchwork_env.learning.evaluation.matches import MatchResult, play_matches
from patchwork_env.learning.evaluation.players import HELP, Entrant
from patchwork_env.learning.evaluation.results import matches_table, results_as_dict
from patchwork_env.learning.evaluation.seeds import SEEDS_HEADING, over_seeds, seeds_table
from patchwork_env.learning.evaluation.tables import CSV, TEXT, render
from patchwork_env.learning.system.files import check_file_path, write_text


def main(arguments: list[str] | None = None, program: str = "training.evaluate") -> int:
    """The command; returns the exit code."""
    return run_command(_parser(), _run, arguments, program)


def _run(options: argparse.Namespace) -> int:
    if options.json:
        check_file_path(options.json, "--json")
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
    if options.json:
        contents = results_as_dict(results, (*runs, *opponents))
        contents |= {"over_seeds": [entry._asdict() for entry in together]} if together else {}
        write_text(options.json, json.dumps(contents, indent=2) + "\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
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
    parser.add_argument(
        "--games", type=int, default=400, help="per opponent, even in patchwork (default: 400)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of circles or decks, and agents (default: 0)")
    add_options(parser)
    add_worker_options(parser, 1)
    add_format(parser)
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the figures to this file")
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

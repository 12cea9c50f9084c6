"""Measures an agent against others: every circle of Patchwork from both seats, every deck of NMBR 9 once.

python -m training.evaluate greedy --against random --games 1000
python -m training.evaluate runs/quick/final --against random greedy --json figures.json
python -m training.evaluate greedy --against random --game nmbr9
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from tqdm import tqdm

from patchwork_env.agents import Agent
from patchwork_env.errors import TableEdgeError
from patchwork_env.learning.commands.match_options import add_options, variant_of
from patchwork_env.learning.distributed.worker_options import add_options as add_worker_options
from patchwork_env.learning.distributed.worker_options import workers_of
from patchwork_env.learning.distributed.workers import Workers, kept_connected
from patchwork_env.learning.evaluation.contests import common_game
from patchwork_env.learning.evaluation.matches import Result, play_matches
from patchwork_env.learning.evaluation.players import HELP, load_player
from patchwork_env.learning.system.files import check_file_path, write_text

FORMAT = "patchwork-env evaluation"
VERSION = 1


def main(arguments: list[str] | None = None) -> int:
    """The command; returns the exit code."""
    options = _parse(arguments)
    try:
        if options.json:
            check_file_path(options.json, "--json")
        agent, *opponents = map(load_player, (options.agent, *options.against))
        game = common_game((agent, *opponents), options.game)
        workers, results = workers_of(options), []
        with kept_connected(workers):
            for opponent in opponents:
                results.append(_play(options, game, agent, opponent, workers))
                print(results[-1].table(), flush=True)
        if options.json:
            write_text(options.json, json.dumps(as_json(results), indent=2) + "\n")
    except (ValueError, OSError, ImportError, TableEdgeError, WorkerError) as error:
        print(f"training.evaluate: {error}", file=sys.stderr)
        return 2
    return 0


def as_json(results: list[Result]) -> dict[str, Any]:
    """The contents of the JSON file.

    ``{"format", "version", "game", "matches"}``; every match is the ``as_dict`` of a
    :class:`~patchwork_env.learning.evaluation.results.Result`, in the order of the opponents.
    """
    matches = [result.as_dict() for result in results]
    return {"format": FORMAT, "version": VERSION, "game": results[0].kind.game, "matches": matches}


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m training.evaluate",
        description="Measures an agent against others, with the same circles or decks.",
        epilog=HELP,
    )
    parser.add_argument("agent", metavar="AGENT", help="the agent that is measured")
    parser.add_argument("--against", metavar="AGENT", nargs="+", required=True, help="its opponents")
    parser.add_argument(
        "--games", type=int, default=400, help="per opponent, even in patchwork (default: 400)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of circles or decks, and agents (default: 0)")
    add_options(parser)
    add_worker_options(parser, 1)
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the figures to this file")
    return parser.parse_args(arguments)


def _play(options: argparse.Namespace, game: str, agent: Agent, opponent: Agent, workers: Workers) -> Result:
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

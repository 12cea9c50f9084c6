"""Measures the spread of the tiles of NMBR 9 and the scores of simple players.

    python -m research.nmbr9_spread [--random N] [--greedy N] [--json]

A placement with which the tiles would spread over more than 63 rows or columns is not legal. Random play
chooses each legal placement with the same probability; greedy play takes the highest level and there the most
contact.
"""

import argparse
import json
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.nmbr9.greedy import choose_action
from patchwork_env.core.batches import begin_games
from patchwork_env.core.checks import seed_streams
from patchwork_env.core.compile import kernel
from patchwork_env.core.kernels import nth_legal
from patchwork_env.core.random import Streams, random_below
from patchwork_env.learning.system import describe_setup
from patchwork_env.nmbr9.actions import MAX_SPREAD, TABLE_SIZE
from patchwork_env.nmbr9.engine import NUM_MAPS, apply, bounds, legal, num_placed, score
from patchwork_env.nmbr9.rules import RULES
from patchwork_env.nmbr9.state import States

BATCH = 10_000


class Sample(NamedTuple):
    """Of each game the score, and the larger of its rows and columns before the last tile."""

    scores: npt.NDArray[np.int64]
    spreads: npt.NDArray[np.int64]


@kernel(allocates=True)
def play_games(
    states: States,
    streams: Streams,
    greedy: bool,
    scores: npt.NDArray[np.int64],
    spreads: npt.NDArray[np.int64],
) -> None:
    """Plays all games to their ends."""
    maps = np.empty((NUM_MAPS, TABLE_SIZE), np.uint64)
    for i in range(len(states)):
        for _ in range(states[i]["num_rounds"]):
            if num_placed(states, i, 0) > 0:
                _, _, height, width = bounds(states, i, 0, num_placed(states, i, 0))
                spreads[i] = max(height, width)
            if greedy:
                apply(states, i, choose_action(states, i))
            else:
                apply(states, i, nth_legal(maps, random_below(streams, i, legal(states, i, maps))))
        scores[i] = score(states, i, 0)


def sample(games: int, greedy: bool, seed: int = 1) -> Sample:
    """Plays standard games in batches."""
    scores, spreads = np.zeros(games, np.int64), np.zeros(games, np.int64)
    for number, first in enumerate(range(0, games, BATCH)):
        part = slice(first, min(first + BATCH, games))
        streams = seed_streams(seed + 1000 * number, part.stop - part.start)
        states = begin_games(RULES, streams)
        play_games(states, streams, greedy, scores[part], spreads[part])
    return Sample(scores, spreads)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--random", type=int, default=100_000, help="games (default: 100000)")
    parser.add_argument("--greedy", type=int, default=2000, help="games (default: 2000)")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON, last")
    options = parser.parse_args()
    if min(options.random, options.greedy) < 1:
        parser.error("--random and --greedy must be positive")
    print(describe_setup())
    print(f"the tiles may spread over {MAX_SPREAD} rows and columns\n")
    print(f"{'play':<8}{'games':>8}{'score':>8}{'+-':>7}{'spread: mean':>14}{'99.9%':>7}{'most':>6}")
    figures = {}
    for name, games in (("random", options.random), ("greedy", options.greedy)):
        played = sample(games, name == "greedy")
        high = np.percentile(played.spreads, 99.9)
        print(
            f"{name:<8}{games:>8}{played.scores.mean():>8.2f}{played.scores.std():>7.2f}"
            f"{played.spreads.mean():>14.1f}{high:>7.0f}{played.spreads.max():>6}"
        )
        figures[name] = {
            "mean_score": float(played.scores.mean()),
            "standard_deviation": float(played.scores.std()),
            "largest_spread": int(played.spreads.max()),
        }
    if options.json:
        print(json.dumps(figures))


if __name__ == "__main__":
    main()

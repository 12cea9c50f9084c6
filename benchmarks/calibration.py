"""Compares the probabilities to win and the margins that the champion states with how its games end.

    python benchmarks/calibration.py [--agent SPEC] [--games N] [--every N] [--seed S] [--workers N] [--write]

The agent plays games with itself. In every N-th position with a choice it says what it expects, before each of
its moves alike; positions that it knows to be won or lost are left out. Intervals take a game as one sample.
"""

import argparse
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.keeping import add_write_option, figure, keep
from patchwork_env import agents
from patchwork_env.learning.system import describe_setup
from patchwork_env.patchwork import Game
from patchwork_env.patchwork.components import LAST_SPACE

TENTHS, STAGES = 10, 4
Table = npt.NDArray[np.float64]


class Statement(NamedTuple):
    """What an agent said of a position, and what came of it for the player to move."""

    game: int
    spaces_left: int
    win: float
    margin: float
    won: float
    final_margin: float


load = cache(agents.load)


def statements(spec: str, every: int, seed: int) -> list[Statement]:
    """What an agent says of positions of a game with itself."""
    agent, game, said = load(spec), Game(seed=seed), []
    random = np.random.default_rng(seed)
    while not game.is_over:
        if len(game.legal_actions()) > 1 and random.integers(every) == 0:
            best = agent.search(game)[0]
            if not best.exact and 0 < best.win < 1:
                spaces_left = 2 * LAST_SPACE - sum(game.positions)
                said.append((spaces_left, best.win, best.margin, game.current_player))
        game.play(agent.act(game))
    scores = game.scores()
    return [
        Statement(seed, left, win, margin, game.winner() == player, scores[player] - scores[1 - player])
        for left, win, margin, player in said
    ]


def by_class(said: Table, classes: npt.NDArray[np.int64], number: int) -> list[Table]:
    return [said[classes == k] for k in range(number)]


def error_of_mean(said: Table, values: Table) -> float:
    """The half of a 95% interval of the mean, with games as samples."""
    games, place = np.unique(said[:, 0], return_inverse=True)
    sums = np.zeros(len(games))
    np.add.at(sums, place, values - values.mean())
    return float(1.96 * np.sqrt((sums**2).sum()) / len(values))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--agent", metavar="SPEC", default="champion:instant", help="default: %(default)s")
    parser.add_argument("--games", type=int, default=5000, help="default: %(default)s")
    parser.add_argument("--every", type=int, default=4, help="default: %(default)s")
    parser.add_argument("--seed", type=int, default=0, help="of the first game; default: %(default)s")
    parser.add_argument("--workers", type=int, default=1, help="default: %(default)s")
    parser.add_argument("--samples", metavar="FILE", help="keep what was said as a NumPy array")
    add_write_option(parser)
    options = parser.parse_args()
    if min(options.games, options.every, options.workers) < 1:
        parser.error("--games, --every and --workers must be at least 1")
    seeds = range(options.seed, options.seed + options.games)
    with ProcessPoolExecutor(options.workers) as pool:
        rows = pool.map(partial(statements, options.agent, options.every), seeds, chunksize=10)
        said = np.array([row for rows_of_game in rows for row in rows_of_game])
    if options.samples:
        np.save(options.samples, said)
    print(describe_setup())
    report(said)


def report(said: Table) -> None:
    tenths = np.minimum(said[:, 2] * TENTHS, TENTHS - 1).astype(np.int64)
    print("stated        positions  mean stated  won")
    for k, part in enumerate(by_class(said, tenths, TENTHS)):
        error = error_of_mean(part, part[:, 4])
        print(f"{k / TENTHS:.1f} to {(k + 1) / TENTHS:.1f} {len(part):12,} {part[:, 2].mean():12.1%} {part[:, 4].mean():7.1%} ± {error:.1%}")
    stages = np.minimum(said[:, 1] * STAGES // (2 * LAST_SPACE + 1), STAGES - 1).astype(np.int64)
    print("spaces left   error of the margin, root of the mean square; bias")
    for k, part in enumerate(by_class(said, stages, STAGES)):
        error = part[:, 3] - part[:, 5]
        print(f"{k} {len(part):8,} {np.sqrt((error**2).mean()):.1f} {error.mean():+.2f}")


if __name__ == "__main__":
    main()

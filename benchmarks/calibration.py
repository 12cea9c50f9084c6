"""Compares the probabilities to win and the margins that the champion states with the results of its games.

    python benchmarks/calibration.py [--agent SPEC] [--games N] [--every N] [--seed S] [--workers N] [--write]

The agent plays against itself. In one of N positions with a choice, drawn at random, it states its
expectations; positions with a known winner are left out. In intervals, a game is one sample.
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.keeping import Figures, add_write_option, figure, keep
from patchwork_env import agents
from patchwork_env.agents.patchwork.champion.agent import ChampionAgent
from patchwork_env.learning.system import describe_setup
from patchwork_env.patchwork import Game
from patchwork_env.patchwork.components import LAST_SPACE

TENTHS = 10
SPACES, LAST_STAGE = 20, 4
"""The size of a stage in spaces left of both players together, and the number of the stage of first turns."""
Table = npt.NDArray[np.float64]


class Statement(NamedTuple):
    """An agent's statement on a position, and the result for the player to move."""

    game: int
    spaces_left: int
    win: float
    margin: float
    won: float
    final_margin: float


@cache
def load(spec: str) -> ChampionAgent:
    agent = agents.load(spec)
    if not isinstance(agent, ChampionAgent):
        raise ValueError(f"agent {spec!r} states no probability to win")
    return agent


def statements(spec: str, every: int, seed: int) -> list[Statement]:
    """Return an agent's statements on the positions of a game against itself."""
    agent, game = load(spec), Game(seed=seed)
    said: list[tuple[int, float, float, int]] = []
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


def error_of_mean(said: Table, values: Table) -> float:
    """The half of a 95% interval of the mean, with games as samples."""
    games, place = np.unique(said[:, 0], return_inverse=True)
    sums = np.zeros(len(games))
    np.add.at(sums, place, values - values.mean())
    return float(1.96 * np.sqrt((sums**2).sum()) / len(values))


def report(said: Table) -> Figures:
    """Prints the tables, and returns their figures."""
    found: Figures = {}
    print("stated         positions  on average  won")
    tenths = np.minimum(said[:, 2] * TENTHS, TENTHS - 1).astype(np.int64)
    for k in range(TENTHS):
        part, name = said[tenths == k], f"{10 * k} to {10 * k + 10}%"
        won, error = part[:, 4].mean(), error_of_mean(part, part[:, 4])
        print(f"{name:11} {len(part):12,} {part[:, 2].mean():11.1%} {won:7.1%} ± {error:.1%}")
        found[f"{name}, stated"] = figure(part[:, 2].mean(), "share")
        found[f"{name}, won"] = figure(won, "share", (won - error, won + error))
    print("\nspaces left   positions   error of the margin")
    stages = np.minimum(said[:, 1] // SPACES, LAST_STAGE).astype(np.int64)
    for k in range(LAST_STAGE + 1):
        most = 2 * LAST_SPACE if k == LAST_STAGE else SPACES * (k + 1) - 1
        part, name = said[stages == k], f"{SPACES * k} to {most}"
        error = float(np.sqrt(((part[:, 3] - part[:, 5]) ** 2).mean()))
        print(f"{name:11} {len(part):11,} {error:9.1f}")
        found[f"{name} spaces, margin"] = figure(error, "points")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--agent", metavar="SPEC", default="champion:instant", help="default: %(default)s")
    parser.add_argument("--games", type=int, default=5000, help="default: %(default)s")
    parser.add_argument("--every", type=int, default=4, help="default: %(default)s")
    parser.add_argument("--seed", type=int, default=0, help="of the first game; default: %(default)s")
    parser.add_argument("--workers", type=int, default=1, help="default: %(default)s")
    add_write_option(parser)
    options = parser.parse_args()
    if min(options.games, options.every, options.workers) < 1:
        parser.error("--games, --every and --workers must be at least 1")
    try:
        load(options.agent)
    except (ValueError, OSError, ImportError) as error:
        parser.error(str(error))
    seeds = range(options.seed, options.seed + options.games)
    with ProcessPoolExecutor(options.workers) as pool:
        games = pool.map(partial(statements, options.agent, options.every), seeds, chunksize=10)
        said = np.array([statement for game in games for statement in game])
    print(f"{describe_setup()}\n{options.agent} with itself, {options.games:,} games\n")
    figures = report(said)
    if options.write:
        keep("calibration", figures, options.write)


if __name__ == "__main__":
    main()

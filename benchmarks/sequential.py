"""Simulates sequential tests of known differences in strength: wrong decisions and numbers of games.

    python benchmarks/sequential.py [--matches N] [--seed S] [--json] [--write]

The two games of a simulated pair of Patchwork are independent. Decks of NMBR 9 are ties with a probability of
5%. The matches have no maximum of games.
"""

import argparse
import json
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.keeping import Figures, add_write_option, figure, keep
from patchwork_env.games import NMBR9, PATCHWORK
from patchwork_env.learning.evaluation.playing import BLOCK_SIZE
from patchwork_env.learning.evaluation.ratings import expected_wins
from patchwork_env.learning.evaluation.runners import match_part
from patchwork_env.learning.evaluation.sequential import (
    BOUNDS,
    MOST_GAMES,
    RESULTS,
    log_likelihood_ratio,
)
from patchwork_env.learning.evaluation.statistics import win_rate_interval

TESTS = ((PATCHWORK, 0, 40), (PATCHWORK, 0, 20), (PATCHWORK, 0, 10), (PATCHWORK, -5, 5), (NMBR9, 0, 20))
STRENGTHS = {"below": -0.5, "at H0": 0.0, "halfway": 0.5, "at H1": 1.0, "above": 1.5}
"""The true difference in Elo: 0 is that of H0, and 1 that of H1."""
TIES = 0.05

Array = npt.NDArray[np.float64]


class Ended(NamedTuple):
    """Simulated matches: counts ``(n, 5)``, the final LLR ``(n,)`` and the number of games ``(n,)``."""

    counts: npt.NDArray[np.int64]
    llr: Array
    games: npt.NDArray[np.int64]


def chances(game: str, elo: float) -> Array:
    """Return the probability of each result of a pair."""
    wins = float(expected_wins(elo))
    if game == NMBR9:
        return np.array([1 - wins - TIES / 2, 0, TIES, 0, wins - TIES / 2])
    return np.array([(1 - wins) ** 2, 0, 2 * wins * (1 - wins), 0, wins**2])


def simulate(game: str, test: tuple[float, float], elo: float, matches: int, seed: int) -> Ended:
    """Play matches until the test decides, which looks at the result after every block."""
    random = np.random.default_rng(seed)
    counts, llr = np.zeros((matches, len(RESULTS)), np.int64), np.zeros(matches)
    running = np.arange(matches)
    while len(running):
        counts[running] += random.multinomial(BLOCK_SIZE, chances(game, elo), len(running))
        llr[running] = log_likelihood_ratio(counts[running], test)
        running = running[(BOUNDS[0] < llr[running]) & (llr[running] < BOUNDS[1])]
    return Ended(counts, llr, counts.sum(1) * match_part(game).games_per_set_up)


def covered(ended: Ended, elo: float) -> float:
    """Return the share of matches whose final interval contains the true score."""
    score, several = float(expected_wins(elo)), list(map(tuple, ended.counts.tolist()))
    intervals = {counts: win_rate_interval(np.repeat(RESULTS, counts)) for counts in set(several)}
    return float(np.mean([intervals[one][0] <= score <= intervals[one][1] for one in several]))


def measure(game: str, test: tuple[float, float], matches: int, seed: int) -> Figures:
    """Print a line for each strength; return the figures."""
    found: Figures = {}
    name = f"{game}, {test[0]:g} and {test[1]:g}"
    for place, share in STRENGTHS.items():
        elo = test[0] + share * (test[1] - test[0])
        ended = simulate(game, test, elo, matches, seed)
        for_h1 = (ended.llr > 0).astype(np.float64)
        mean, error = ended.games.mean(), ended.games.std(ddof=1) / np.sqrt(matches)
        over, hit = float((ended.games > MOST_GAMES).mean()), covered(ended, elo)
        low, high = win_rate_interval(for_h1)
        print(
            f"{name:22} {elo:6.1f} {for_h1.mean():8.2%} ({low:.2%} to {high:.2%})"
            f" {mean:9,.0f} ± {error:<5,.0f} {over:8.1%} {hit:9.1%}"
        )
        found[f"{name}, games {place}"] = figure(mean, "games", error=error)
        found[f"{name}, over the maximum {place}"] = figure(over, "share")
        found[f"{name}, covered {place}"] = figure(hit, "share")
        wrong = {"at H0": for_h1, "at H1": 1 - for_h1}
        if place in wrong:
            rate = wrong[place]
            found[f"{name}, wrong {place}"] = figure(rate.mean(), "share", win_rate_interval(rate))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--matches", type=int, default=10_000, help="of each strength (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="(default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON in the last line")
    add_write_option(parser)
    options = parser.parse_args()
    if options.matches < 2:
        parser.error(f"--matches is {options.matches}; it must be at least 2")
    print(
        f"test                     true  decided for H1             mean of games  >{MOST_GAMES:,}  covered"
    )
    figures: Figures = {}
    for game, *test in TESTS:
        figures |= measure(game, (test[0], test[1]), options.matches, options.seed)
    if options.write:
        keep("sequential", figures, options.write)
    if options.json:
        print(json.dumps({name: one["value"] for name, one in figures.items()}))


if __name__ == "__main__":
    main()

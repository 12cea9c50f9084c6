"""Random play has the published statistics, within the sampling error of both samples.

The published figures come from 239,000 games in which each legal action is equally likely. A mean agrees with
one of them if they differ by at most 4 standard errors plus the rounding of the published one; the standard
error is that of the difference, with half of the published games, should the two editions share them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

from patchwork_env.patchwork_v0 import SelfPlayBatch

NUM_GAMES = 10_000
PUBLISHED_GAMES = 239_000 // 2
STANDARD_ERRORS = 4.0


class Sample(NamedTuple):
    """Per game: turns (special patches count as turns), legal actions in all turns together, both scores."""

    turns: npt.NDArray[np.int64]
    choices: npt.NDArray[np.int64]
    scores: npt.NDArray[np.int64]
    winners: npt.NDArray[np.int8]


def sample(variant):
    """The first game at each index of a batch, so that short games are not counted more often."""
    env = SelfPlayBatch(NUM_GAMES, seed=5, special_patches=variant, masks=False, observations=False)
    turns, choices = np.zeros(NUM_GAMES, np.int64), np.zeros(NUM_GAMES, np.int64)
    scores, winners = np.zeros((NUM_GAMES, 2), np.int64), np.full(NUM_GAMES, -1, np.int8)
    playing = np.ones(NUM_GAMES, bool)
    while playing.any():
        turns += playing
        choices += playing * env.counts
        env.step(env.random_actions)
        ended = playing & env.terminations
        scores[ended], winners[ended] = env.final_scores[ended], env.rewards[ended].argmax(axis=1)
        playing &= ~ended
    return Sample(turns, choices, scores, winners)


def assert_close(mean, deviation, published, rounding):
    """``deviation`` is the standard deviation of one game's contribution to the mean."""
    error = deviation * np.sqrt(1 / NUM_GAMES + 1 / PUBLISHED_GAMES)
    assert abs(mean - published) <= STANDARD_ERRORS * error + rounding, (
        f"{mean} is not {published} (error {error})"
    )


@pytest.mark.parametrize(
    ("variant", "turns", "choices", "score"), [("revised", 42.81, 78.6, -11.2), ("2014", 42.83, 78.5, -11.4)]
)
def test_random_play(variant, turns, choices, score):
    games = sample(variant)
    assert_close(games.turns.mean(), games.turns.std(), turns, 0.005)
    assert games.turns.max() <= 63
    mean = games.choices.sum() / games.turns.sum()
    residuals = (games.choices - mean * games.turns) / games.turns.mean()  # of the ratio of two means
    assert_close(mean, residuals.std(), choices, 0.05)
    per_game = games.scores.mean(axis=1)
    assert_close(per_game.mean(), per_game.std(), score, 0.05)
    assert -106 <= games.scores.min() <= games.scores.max() <= 85
    difference = games.scores[:, 0] - games.scores[:, 1]
    assert (games.winners[difference > 0] == 0).all()
    assert (games.winners[difference < 0] == 1).all()
    assert set(games.winners[difference == 0].tolist()) == {0, 1}


def assert_uniform(counts, freedom):
    """Pearson's chi-square, of mean `freedom` and variance twice that where all cells are equally likely."""
    expected = counts.mean()
    chi_square = ((counts - expected) ** 2 / expected).sum()
    assert abs(chi_square - freedom) <= STANDARD_ERRORS * np.sqrt(2 * freedom)


def test_circles_and_first_players_are_uniformly_random():
    """Every patch but the last is at every place, and after every other patch, equally often."""
    env = SelfPlayBatch(NUM_GAMES, seed=11, masks=False, observations=False, first_player="random")
    circles = env.states["circle"][:, :32].astype(np.int64) - 1
    places = np.zeros((32, 32), np.int64)
    np.add.at(places, (circles, np.arange(32)), 1)
    assert_uniform(places, 31 * 31)
    pairs = np.zeros((32, 32), np.int64)
    np.add.at(pairs, (circles[:, :-1], circles[:, 1:]), 1)
    assert not pairs.diagonal().any()
    assert_uniform(pairs[~np.eye(32, dtype=bool)], 31 * 31 - 1)
    assert_uniform(np.bincount(env.current_players, minlength=2), 1)

"""Who sits where, and what the results of league games are."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

pytest.importorskip("ray")

from patchwork_env import nmbr9, patchwork
from patchwork_env.integrations.rllib.league import (
    Seats,
    allotted,
    finished_game,
    league_results,
    seats_of,
)

pytestmark = pytest.mark.older


@pytest.mark.parametrize("players", [2, 3, 4])
def test_the_learner_has_every_seat_against_every_past_self_equally_often(players):
    games, opponents = 4 * 3 * players, [(2, 7), (0, 8), (4, 9)]
    dealt = [seats_of(game, games, players, 0.5, opponents) for game in range(games)]
    assert dealt[: games // 2] == [Seats(-1, 0)] * (games // 2)
    league = Counter(dealt[games // 2 :])
    expected = {Seats(slot, seat, snapshot) for slot, snapshot in opponents for seat in range(players)}
    assert set(league) == expected
    assert max(league.values()) - min(league.values()) <= 1
    assert {seats_of(game, 8, players, 0.5, opponents=[]) for game in range(8)} == {Seats(-1, 0)}


def test_a_snapshot_waits_for_a_slot_that_no_game_needs():
    slots = allotted([5, 6], {}, set(), 3)
    assert slots == {0: 5, 1: 6}
    slots = allotted([7, 6], slots, {0, 1}, 3)
    assert slots == {0: 5, 1: 6, 2: 7}
    slots = allotted([7, 8], slots, {0, 1, 2}, 3)
    assert slots == {0: 5, 1: 6, 2: 7}  # 8 waits
    slots = allotted([7, 8], slots, {1, 2}, 3)
    assert slots == {0: 8, 1: 6, 2: 7}
    assert allotted([7, 8], slots, set(), 3) == {0: 8, 2: 7}


def played_out(game):
    rng = np.random.default_rng(0)
    while not game.is_over:
        game.play(rng.choice(game.legal_actions()))
    return game


def test_wins_are_counted_by_the_learners_seat():
    game = played_out(patchwork.Game(seed=1))
    seats = [Seats(-1, 0), Seats(0, 0, 5), Seats(0, 1, 5), Seats(0, 1, 6)]
    wins, games = league_results([finished_game(game, each, 40) for each in seats])
    assert games == {5: 2, 6: 1}
    assert wins == {5: 1, 6: float(game.winner() == 1)}


def test_a_shared_win_is_half_a_win(monkeypatch):
    game = played_out(nmbr9.Game(seed=1, players=3))
    monkeypatch.setattr(nmbr9.Game, "scores", lambda self: (5, 9, 9))
    finished = [finished_game(game, Seats(0, seat, 4), 60) for seat in (0, 1, 2)]
    assert [one.won for one in finished] == [0, 0.5, 0.5]
    assert league_results(finished) == ({4: 1.0}, {4: 3.0})

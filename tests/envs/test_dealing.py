"""Random streams of games and seats."""

import numpy as np

from patchwork_env.core.checks import seed_streams
from patchwork_env.envs.dealing import Dealer
from patchwork_env.nmbr9 import Game
from patchwork_env.nmbr9.state import empty_states


def test_a_seed_begins_one_game_anew_and_leaves_the_others():
    """The stream of its seats is the complement of the stream that deals, so the two never meet."""
    players, seed = 3, 13
    options = {**Game.rules.options, "players": players}
    dealer, alternating = (Dealer(Game.rules, 4, options, seat, seed=5) for seat in ("random", "alternate"))
    before = dealer.streams.copy(), dealer._seat_streams.copy()
    for each in (dealer, alternating):
        each.reseed(1, seed)
    own, others = seed_streams(seed)[0], [0, 2, 3]
    assert dealer.streams[1] == own
    assert dealer._seat_streams[1] == ~own
    for streams, earlier in zip((dealer.streams, dealer._seat_streams), before, strict=True):
        assert streams[others].tolist() == earlier[others].tolist()
    states, seats, games = empty_states(4), np.zeros(4, np.int64), np.array([1])
    dealer.deal(states, games)
    assert states[1:2].tobytes() == Game(seed=seed, players=players).state.tobytes()
    for expected in (seed % players, (seed + 1) % players):
        alternating.assign_seats(seats, games)
        assert seats[1] == expected

"""Where games stand at their next choice, against games that are played move by move."""

from __future__ import annotations

import numpy as np

from patchwork_env.learning.algorithms.common.next_choices import next_choices
from patchwork_env.patchwork_v0 import SelfPlayVectorEnv


def test_it_plays_forced_turns_and_tells_who_won():
    env = SelfPlayVectorEnv(60, seed=5, masks=False, observations=False)
    ends = forced = 0
    for turn in range(70):
        if turn > 40:
            before = env.states.copy()
            ahead = next_choices(env.states)
            np.testing.assert_array_equal(env.states, before)
            for i, game in enumerate(env.games()):
                while len(game.legal_actions()) == 1:
                    game.play(game.legal_actions()[0])
                    forced += 1
                assert ahead.states[i : i + 1].tobytes() == game.state.tobytes()
                assert ahead.winners[i] == (game.winner() if game.is_over else -1)
                assert ahead.scores[i].tolist() == (list(game.scores()) if game.is_over else [0, 0])
                ends += game.is_over
        env.step(env.random_actions)
    assert forced > ends > 10

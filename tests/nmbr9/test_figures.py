"""Figures of games, compared with the game object."""

import numpy as np
import pytest

from patchwork_env.nmbr9.figures import GameStats, player_figures
from patchwork_env.nmbr9_v0 import SelfPlayBatch


def test_games_that_end_are_counted():
    env, states, actions = SelfPlayBatch(3, seed=4, deck_size=7), [], []
    games, ended = env.games(), []
    for _ in range(20):
        states.append(env.states.copy())
        actions.append(env.random_actions.copy())
        for i, game in enumerate(games):
            game.play(int(env.random_actions[i]))
            if game.is_over:
                ended.append(game)
        env.step(env.random_actions)
        games = [new if game.is_over else game for game, new in zip(games, env.games(), strict=True)]
    scores = [game.scores()[0] for game in ended]
    levels = [[move.level or 0 for move in game.placements(0)] for game in ended]
    assert GameStats(1).count(np.stack(states), np.stack(actions)) == pytest.approx(
        {
            "score": np.mean(scores),
            "score_deviation": np.std(scores),
            "levels": np.mean([1 + max(of_tiles) for of_tiles in levels]),
            "tiles_on_table": np.mean([of_tiles.count(0) for of_tiles in levels]),
        }
    )
    assert len(ended) == 6
    assert GameStats(1).count(np.stack(states[:6]), np.stack(actions[:6])) == {}
    finals = np.concatenate([game.state for game in ended])
    finals["level"][:, 0] = np.arange(40)  # the first seven tiles are placed
    counts = [set(figure.flat) for name, figure in player_figures(finals, 1).items() if name != "score"]
    assert counts == [{7}, {1}, {1}, {1}, {1}, {3}]

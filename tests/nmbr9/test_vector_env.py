"""Batched play agrees with single games."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from patchwork_env.nmbr9 import Game, IllegalActionError
from patchwork_env.nmbr9_v0 import SelfPlayVectorEnv

OPTIONS: list[dict[str, Any]] = [
    {},
    {"players": 3, "deck_size": 5},
    {"order": "free", "players": 2, "max_digit": 5, "deck_size": 4},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_every_game_is_a_game(options: dict[str, Any]) -> None:
    env = SelfPlayVectorEnv(3, seed=2, **options)
    games = env.games()
    for _ in range(60):
        for i, game in enumerate(games):
            assert (env.masks[i] == game.action_mask()).all()
            assert env.counts[i] == len(game.legal_actions())
            assert env.masks[i, env.random_actions[i]]
            assert (env.observations[i] == game.observation()).all()
            assert env.current_players[i] == game.current_player
        actions = env.random_actions.copy()
        env.step(actions)
        for i, game in enumerate(games):
            player, before = game.current_player, game.scores()
            game.play(actions[i])
            assert env.gains[i] == game.scores()[player] - before[player]
            assert env.endings[i] == game.is_over
            if game.is_over:
                assert tuple(env.final_scores[i, : game.num_players]) == game.scores()
                games[i] = Game.from_state(env.states, i)
                assert games[i].round == 0
            assert games[i] == env.games()[i]


def test_the_first_decks_are_those_of_the_seed_alone() -> None:
    few, many = SelfPlayVectorEnv(2, seed=9), SelfPlayVectorEnv(5, seed=9)
    for _ in range(50):
        few.step(few.random_actions)
        many.step(many.random_actions)
    assert few.states.tobytes() == many.states[:2].tobytes()
    assert SelfPlayVectorEnv(1, seed=9).games()[0] == Game(seed=9)


def test_a_given_deck_comes_again_and_again() -> None:
    env = SelfPlayVectorEnv(2, deck=[3, 1, 4], seed=1)
    for _ in range(7):
        env.step(env.random_actions)
        assert {game.deck for game in env.games()} == {(3, 1, 4)}


def test_the_edge_cuts_a_game_off() -> None:
    env = SelfPlayVectorEnv(1, deck=[3] * 20, seed=1)
    for _ in range(14):
        before = env.games()[0]
        env.step(env.masks.argmax(axis=1))
    while env.endings[0] == 0:
        before = env.games()[0]
        env.step(env.masks.argmax(axis=1))
    assert env.endings[0] == 2
    assert len(before.placements()) < 20
    assert env.games()[0].round == 0


def test_an_illegal_action_changes_nothing() -> None:
    env = SelfPlayVectorEnv(3, seed=1)
    before = env.save()
    actions = env.random_actions.copy()
    actions[1] = 5
    with pytest.raises(IllegalActionError, match="action 5 of game 1"):
        env.step(actions)
    assert all((before[name] == value).all() for name, value in env.save().items())
    with pytest.raises(ValueError, match="must be 3 integers"):
        env.step(np.zeros(3))


def test_saved_games_go_on_alike() -> None:
    env, other = SelfPlayVectorEnv(3, seed=1), SelfPlayVectorEnv(3, seed=2)
    for _ in range(5):
        env.step(env.random_actions)
    other.restore(env.save())
    for _ in range(30):
        assert (env.random_actions == other.random_actions).all()
        env.step(env.random_actions)
        other.step(other.random_actions)
    assert env.states.tobytes() == other.states.tobytes()


def test_masks_and_observations_may_be_left_out() -> None:
    env = SelfPlayVectorEnv(2, seed=1, masks=False, observations=False)
    env.step(env.random_actions)
    assert env.masks.shape == (0, 16394)
    assert len(env.observations) == 0

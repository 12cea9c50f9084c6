"""Statistics of games against games played one by one."""

from __future__ import annotations

import numpy as np
import pytest

from patchwork_env.patchwork import PATCHES, Game
from patchwork_env.patchwork.components import LAST_SPACE
from patchwork_env.patchwork.state import States, empty_states
from patchwork_env.patchwork.vector_env import SelfPlayVectorEnv
from training.statistics import (
    FROM_ADVANCING,
    FROM_INCOME,
    SPENT,
    apply_counting,
    statistics_of_games,
    statistics_of_turns,
)

GAMES, TURNS = 6, 150


def played(variant: str = "revised") -> tuple[States, np.ndarray]:
    """States before each turn and actions of some random games, ``(TURNS, GAMES)``."""
    env = SelfPlayVectorEnv(GAMES, seed=3, special_patches=variant, masks=False, observations=False)
    states, actions = np.empty((TURNS, GAMES), env.states.dtype), np.empty((TURNS, GAMES), np.int64)
    for turn in range(TURNS):
        states[turn], actions[turn] = env.states, env.random_actions
        env.step(actions[turn])
    return states, actions


def economy_by_hand(game: Game, action: int) -> tuple[int, int, int]:
    """Buttons spent, from income and from advancing, of one turn; the game is played on."""
    player, move = game.current_player, game.decode(action)
    buttons, position = game.buttons[player], game.positions[player]
    game.play(action)
    change = game.buttons[player] - buttons
    if move.kind == "advance":
        spaces = game.positions[player] - position
        return 0, change - spaces, spaces
    price = PATCHES[move.patch].buttons if move.kind == "buy" else 0
    return price, change + price, 0


@pytest.mark.parametrize("variant", ["revised", "2014"])
def test_statistics_of_turns_are_those_of_the_games(variant: str) -> None:
    states, actions = played(variant)
    finals, economy = [], np.zeros(3)
    for turn, i in np.ndindex(TURNS, GAMES):
        game = Game.from_state(states[turn], i)
        economy += economy_by_hand(game, actions[turn, i])
        if game.is_over:
            finals.append(game)
    assert len(finals) > GAMES
    found = statistics_of_turns(states, actions)
    _, from_income, from_advancing = economy / (2 * len(finals))
    spent = [sum(PATCHES[i].buttons for i in set(range(33)) - set(game.circle)) / 2 for game in finals]
    expected = {
        "score": np.mean([game.scores() for game in finals]),
        "winner_score": np.mean([game.scores()[game.winner()] for game in finals]),
        "loser_score": np.mean([game.scores()[1 - game.winner()] for game in finals]),
        "empty_cells": np.mean([81 - game.quilt(player).sum() for game in finals for player in (0, 1)]),
        "income": np.mean([game.incomes for game in finals]),
        "buttons": np.mean([game.buttons for game in finals]),
        "buttons_spent": np.mean(spent),
        "bonus_tiles": np.mean([game.bonus_owner is not None for game in finals]),
        "turns_per_game": TURNS * GAMES / len(finals),
        "buttons_from_income": from_income,
        "buttons_from_advancing": from_advancing,
    }
    assert found == pytest.approx(expected)


def test_all_buttons_of_a_game_are_accounted_for() -> None:
    game, random = Game(seed=5), np.random.default_rng(0)
    states, economy = Game(seed=5).state.copy(), np.zeros((2, 3), np.int64)
    while not game.is_over:
        action = int(random.choice(game.legal_actions()))
        apply_counting(states, 0, action, economy[game.current_player])
        game.play(action)
        assert Game.from_state(states) == game
        for player in (0, 1):
            spent, from_income, from_advancing = economy[player]
            assert game.buttons[player] == 5 + from_income + from_advancing - spent
    assert economy[:, SPENT].min() > 0
    assert economy[:, FROM_INCOME].max() > 0
    assert 0 < economy[:, FROM_ADVANCING].max() < LAST_SPACE


def test_the_states_are_left_as_they_were() -> None:
    states, actions = played()
    before = states.tobytes(), actions.tobytes()
    statistics_of_turns(states, actions)
    assert (states.tobytes(), actions.tobytes()) == before


def test_without_a_game_that_ended_there_is_nothing_to_say() -> None:
    states, actions = played()
    assert statistics_of_turns(states[:3], actions[:3]) == {}
    assert statistics_of_games(empty_states(0)) == {}

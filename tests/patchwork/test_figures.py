"""Statistics of games against games played one by one."""

import numpy as np
import pytest

from patchwork_env.patchwork import PATCHES, Game
from patchwork_env.patchwork.figures import GameStats, statistics_of_games
from patchwork_env.patchwork_v0 import SelfPlayBatch

GAMES, TURNS = 6, 150


def played(variant="revised"):
    """States before each turn and actions of some random games, ``(TURNS, GAMES)``."""
    env = SelfPlayBatch(GAMES, seed=3, special_patches=variant, masks=False, observations=False)
    states, actions = np.empty((TURNS, GAMES), env.states.dtype), np.empty((TURNS, GAMES), np.int64)
    for turn in range(TURNS):
        states[turn], actions[turn] = env.states, env.random_actions
        env.step(actions[turn])
    return states, actions


def economy_by_hand(game, action):
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


def by_hand(states, actions):
    """Figures of every game that ended, in the order of their ends."""
    found, counts = [], np.zeros((GAMES, 4))
    for turn, i in np.ndindex(len(states), GAMES):
        game = Game.from_state(states[turn], i)
        counts[i] += (*economy_by_hand(game, actions[turn, i]), 1)
        if game.is_over:
            spent, from_income, from_advancing, turns = counts[i]
            counts[i] = 0
            figures = {
                "score": np.mean(game.scores()),
                "winner_score": game.scores()[game.winner()],
                "loser_score": game.scores()[1 - game.winner()],
                "empty_cells": np.mean([81 - game.quilt(player).sum() for player in (0, 1)]),
                "income": np.mean(game.incomes),
                "buttons": np.mean(game.buttons),
                "buttons_spent": spent / 2,
                "bonus_tiles": game.bonus_owner is not None,
                "turns_per_game": turns,
                "buttons_from_income": from_income / 2,
                "buttons_from_advancing": from_advancing / 2,
            }
            found.append(figures | {"turn": turn})
    return found


def mean(figures):
    return {name: np.mean([game[name] for game in figures]) for name in figures[0] if name != "turn"}


@pytest.mark.parametrize("variant", ["revised", "2014"])
def test_figures_of_whole_games(variant):
    states, actions = played(variant)
    expected = by_hand(states, actions)
    assert len(expected) > GAMES
    assert GameStats(GAMES).count(states[:3], actions[:3]) == {} == statistics_of_games(states[0, :0])
    before = states.tobytes(), actions.tobytes()
    assert GameStats(GAMES).count(states, actions) == pytest.approx(mean(expected))
    assert (states.tobytes(), actions.tobytes()) == before


def test_games_are_counted_from_their_first_turn():
    """Also if they began before, in another process."""
    states, actions = played()
    first, second = GameStats(GAMES), GameStats(GAMES)
    split = 70
    games = by_hand(states, actions)
    early, late = ([g for g in games if (g["turn"] < split) == is_early] for is_early in (True, False))
    assert first.count(states[:split], actions[:split]) == pytest.approx(mean(early))
    second.counts[:] = first.counts
    for stats in (first, second):
        assert stats.count(states[split:], actions[split:]) == pytest.approx(mean(late))

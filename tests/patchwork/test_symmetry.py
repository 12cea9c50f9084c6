"""Turned quilts: the same game in other coordinates."""

import numpy as np
import pytest

from patchwork_env.patchwork import Game
from patchwork_env.patchwork.symmetry import NUM_SYMMETRIES, reorder, turn_actions, turn_quilts


def positions(number=12):
    """Games in the middle of random play, special patches included."""
    random, games = np.random.default_rng(3), []
    while len(games) < number:
        game = Game(seed=int(random.integers(1000)))
        stop = random.integers(1, 40)
        while not game.is_over and (len(game.history) < stop or len(game.legal_actions()) == 1):
            game.play(random.choice(game.legal_actions()))
        if not game.is_over:
            games.append(game)
    return games


GAMES = positions()


def turned_quilt(quilt, g):
    """An independent reading of the definition: a flip, then clockwise quarter turns."""
    return np.rot90(quilt[:, ::-1] if g >= 4 else quilt, -(g % 4))


def turn(game, own, other):
    """Only the quilts differ."""
    state = game.state.copy()
    turn_quilts(state, np.array([own]), np.array([other]))
    turned, mover = Game.from_state(state), game.current_player
    np.testing.assert_array_equal(turned.quilt(mover), turned_quilt(game.quilt(mover), own))
    np.testing.assert_array_equal(turned.quilt(1 - mover), turned_quilt(game.quilt(1 - mover), other))
    state["quilt"] = game.state["quilt"]
    assert (state == game.state).all()
    return turned


@pytest.mark.parametrize("g", range(NUM_SYMMETRIES))
def test_turned_actions_are_the_legal_ones_and_lead_to_turned_games(g):
    assert any(game.pending_special for game in GAMES)
    for game in GAMES:
        legal, turned = game.legal_actions().astype(np.int64), turn(game, g, 3 * g % NUM_SYMMETRIES)
        moved = turn_actions(game.state, np.array([len(legal)]), legal, np.array([g]))
        assert sorted(moved) == turned.legal_actions().tolist()
        assert len(set(moved)) == len(moved)
        for action, image in list(zip(legal, moved, strict=True))[:: max(1, len(legal) // 5)]:
            before, after = game.clone(), turned.clone()
            before.play(action)
            after.play(image)
            mover = game.current_player
            np.testing.assert_array_equal(after.quilt(mover), turned_quilt(before.quilt(mover), g))
            assert after.buttons == before.buttons
            assert after.positions == before.positions


def test_reorder():
    counts, actions = np.array([3, 1, 2]), np.array([5, 0, 2000, 7, 3, 1])
    values = np.arange(6, dtype=np.float32)
    order = np.array([0, 2000, 5, 7, 1, 3])
    assert reorder(counts, actions, values, order).tolist() == [1, 2, 0, 3, 5, 4]

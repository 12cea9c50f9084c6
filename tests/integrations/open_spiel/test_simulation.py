"""OpenSpiel's own checks of games, with many parameters."""

import copy
import pickle

import numpy as np
import pytest

pytest.importorskip("pyspiel")

import pyspiel

from tests.integrations.open_spiel.cases import GAMES, any_action, load, states_of_a_game

pytestmark = pytest.mark.libraries


@pytest.mark.parametrize("name", GAMES)
def test_random_simulations(name):
    """Legal actions, chances, lengths, utilities and stored states, as OpenSpiel tests them."""
    game = load(name)
    pyspiel.random_sim_test(game, num_sims=1, serialize=True, verbose=False)
    *_, end = states_of_a_game(game, 3)
    assert end.rewards() == end.returns()
    with pytest.raises(ValueError, match="after the end"):
        end.apply_action(0)


@pytest.mark.parametrize("name", GAMES)
def test_games_survive_being_written_and_copied(name):
    game = load(name)
    for twin in (load(str(game)), pickle.loads(pickle.dumps(game)), copy.deepcopy(game)):
        assert str(twin) == str(game)
        assert twin.get_parameters() == game.get_parameters()
        assert str(twin.new_initial_state()) == str(game.new_initial_state())


@pytest.mark.parametrize("name", GAMES)
def test_copies_and_stored_states_go_on_alike(name):
    """Only at powers of two, because storing takes time."""
    game, rng = load(name), np.random.default_rng(2)
    for number, state in enumerate(states_of_a_game(game, 1)):
        if number & (number - 1):
            continue
        stored = pyspiel.serialize_game_and_state(game, state)
        twins = [
            state.clone(),
            copy.deepcopy(state),
            pyspiel.deserialize_game_and_state(stored)[1],
            game.deserialize_state(state.serialize()),
            pickle.loads(pickle.dumps(state)),
        ]
        before = str(state)
        assert all(same(twin, state) for twin in twins)
        if state.is_terminal():
            return
        action = any_action(state, rng)
        for twin in twins:
            twin.apply_action(action)
        assert str(state) == before
        assert all(same(twin, twins[0]) for twin in twins)
        assert not same(twins[0], state)


def same(one, other):
    return (str(one), one.history(), one.current_player(), one.legal_actions(), one.returns()) == (
        *(str(other), other.history(), other.current_player(), other.legal_actions(), other.returns()),
    )


@pytest.mark.parametrize("name", GAMES)
def test_words_of_actions(name):
    for state in states_of_a_game(load(name), 5):
        if state.is_terminal():
            return
        player, actions = state.current_player(), state.legal_actions()[::17]
        for action in actions:
            word = state.action_to_string(player, action)
            assert state.string_to_action(word) == state.string_to_action(player, word) == action
            if action == actions[0]:
                twin = state.clone()
                twin.apply_action(action)
                assert str(twin) == str(state.child(action))

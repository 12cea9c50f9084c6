"""OpenSpiel's own checks, and what its tests of all its games look at, in all parameterisations."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

pytest.importorskip("pyspiel")

import pyspiel
from open_spiel.python.observation import make_observation

from tests.integrations.open_spiel.cases import GAMES, any_action, load, states_of_a_game

pytestmark = pytest.mark.libraries


@pytest.mark.parametrize("name", GAMES)
def test_random_simulations(name):
    pyspiel.random_sim_test(load(name), num_sims=1, serialize=True, verbose=False)


@pytest.mark.parametrize("name", GAMES)
def test_a_game_and_its_type_are_stored(name):
    game = load(name)
    assert str(pyspiel.load_game(str(game))) == str(game)
    assert str(pickle.loads(pickle.dumps(game))) == str(game)
    assert pickle.loads(pickle.dumps(game.get_type())) == game.get_type()


BLANKS = [" ", "\t", "\n "]


def random_parameters(name, rng):
    """Parameters of a short game, texts of lists with whatever space between and around the numbers."""

    def text(numbers):
        return "".join(rng.choice(["", " ", "  "]) + str(number) + rng.choice(BLANKS) for number in numbers)

    if name == "python_patchwork":
        circle = text([*rng.permutation(range(1, 33)), 0]) if rng.random() < 0.5 else ""
        choices = {
            "first_player": [-1, 0, 1],
            "special_patches": ["revised", "edition2014"],
            "rewards": ["outcome", "margin", "score"],
            "seed": [-1] if circle else [-1, 0, 2**31 - 1],
        }
        return {"circle": circle, **{key: rng.choice(some).item() for key, some in choices.items()}}
    cards = rng.integers(0, 10, rng.integers(0, 4)).tolist()
    deck = text(cards).strip() if rng.random() < 0.5 else text(cards)
    players = int(rng.integers(1, 5))
    return {
        "deck": deck,
        "deck_size": 0 if cards else int(rng.integers(1, 4)),
        "players": players,
        "order": rng.choice(["unknown", "known"]).item(),
        "seed": -1 if cards else rng.choice([-1, 0, 2**31 - 1]).item(),
        "rewards": rng.choice(["", "margin", "score"] if players > 1 else ["", "score"]).item(),
    }


@pytest.mark.parametrize("name", ["python_patchwork", "python_nmbr9"])
def test_random_parameters_survive_being_written_and_copied(name):
    """And so do the states of a random game, at each step of it in NMBR 9 and at some in Patchwork."""
    rng = np.random.default_rng(5)
    for number in range(60):
        game = pyspiel.load_game(name, random_parameters(name, rng))
        for twin in (pyspiel.load_game(str(game)), pickle.loads(pickle.dumps(game)), copy.deepcopy(game)):
            assert str(twin) == str(game)
            assert twin.get_parameters() == game.get_parameters()
            assert str(twin.new_initial_state()) == str(game.new_initial_state())
        if name == "python_patchwork" and number > 3:
            continue
        for step, state in enumerate(states_of_a_game(game, number)):
            if name == "python_nmbr9" or step % 16 == 0:
                assert same(pickle.loads(pickle.dumps(state)), state)
                assert same(copy.deepcopy(state), state)
                assert same(game.deserialize_state(state.serialize()), state)


@pytest.mark.parametrize("name", GAMES)
def test_copies_and_stored_states_go_on_alike(name):
    """At every power of two, as storing takes time; the copies play on by themselves."""
    game, rng = load(name), np.random.default_rng(2)
    for number, state in enumerate(states_of_a_game(game, 1)):
        if number & (number - 1):
            continue
        stored = pyspiel.serialize_game_and_state(game, state)
        twins = [
            state.clone(),
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
def test_players_chance_and_the_end(name):
    game = load(name)
    decisions = {True: 0, False: 0}
    for state in states_of_a_game(game, 3):
        if state.is_terminal():
            break
        assert state.returns() == state.rewards() == [0.0] * game.num_players()
        decisions[state.is_chance_node()] += 1
        if state.is_chance_node():
            outcomes, probabilities = zip(*state.chance_outcomes(), strict=True)
            assert state.current_player() == pyspiel.PlayerId.CHANCE
            assert list(outcomes) == sorted(set(outcomes)) == state.legal_actions()
            assert 0 <= outcomes[0] <= outcomes[-1] < game.max_chance_outcomes()
            assert sum(probabilities) == pytest.approx(1)
            assert min(probabilities) > 0
        else:
            player, legal = state.current_player(), state.legal_actions()
            assert legal == sorted(set(legal)) == state.legal_actions(player)
            assert np.flatnonzero(state.legal_actions_mask()).tolist() == legal
            assert all(not state.legal_actions(other) for other in others(game, player))
    assert decisions[True] == game.max_chance_nodes_in_history()
    assert 0 < decisions[False] <= game.max_game_length()
    assert state.current_player() == pyspiel.PlayerId.TERMINAL
    assert state.legal_actions() == []
    assert all(state.legal_actions(player) == [] for player in range(game.num_players()))
    returns = state.returns()
    assert state.rewards() == returns == [state.player_return(p) for p in range(game.num_players())]
    assert all(game.min_utility() <= value <= game.max_utility() for value in returns)
    if game.utility_sum() is not None:
        assert sum(returns) == pytest.approx(game.utility_sum())
    with pytest.raises(ValueError, match="after the end"):
        state.apply_action(0)


def others(game, player):
    return set(range(game.num_players())) - {player}


@pytest.mark.parametrize("name", GAMES)
def test_words_of_actions(name):
    for state in states_of_a_game(load(name), 5):
        if state.is_terminal():
            return
        player, actions = state.current_player(), state.legal_actions()[::17]
        for action in actions:
            word = state.action_to_string(player, action)
            assert state.string_to_action(word) == state.string_to_action(player, word) == action
            struct = state.action_to_struct(player, action)
            assert struct.to_dict()["move"] == word
            assert state.struct_to_actions(struct) == [action]
            if action == actions[0]:
                twin = state.clone()
                twin.apply_action_struct(struct)
                assert str(twin) == str(state.child(action))


@pytest.mark.parametrize("name", GAMES)
def test_observers_agree_with_the_states(name):
    game = load(name)
    kinds = {
        "observation": pyspiel.IIGObservationType(perfect_recall=False),
        "information_state": pyspiel.IIGObservationType(perfect_recall=True),
    }
    for what, kind in kinds.items():
        observer = make_observation(game, kind)
        size = getattr(game, f"{what}_tensor_size")()
        assert sum(np.size(tensor) for tensor in observer.dict.values()) == len(observer.tensor) == size
        assert all(np.shares_memory(tensor, observer.tensor) for tensor in observer.dict.values())
        for state in states_of_a_game(game, 6):
            player = max(state.current_player(), 0)
            observer.set_from(state, player)
            assert getattr(state, f"{what}_tensor")(player) == observer.tensor.tolist()
            assert getattr(state, f"{what}_string")(player) == observer.string_from(state, player)


@pytest.mark.parametrize("name", GAMES)
def test_structs_tell_the_state(name):
    game = load(name)
    for state in states_of_a_game(game, 8):
        struct = state.to_struct().to_dict()
        assert struct["current_player"] == state.current_player()
        assert struct["is_terminal"] == state.is_terminal()
        assert len(struct["scores"]) == game.num_players()
        seen = state.to_observation_struct(0).to_dict()
        assert seen["position"] == state.observation_string(0)
        if not state.is_chance_node():
            assert str(game.new_initial_state(state.to_struct())) == str(state)
            assert str(game.new_initial_state(struct)) == str(game.new_initial_state(str(state)))
    assert struct["scores"] == list(state.position().scores())

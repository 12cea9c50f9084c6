"""Both games of OpenSpiel against the engines, and the information of their players."""

import numpy as np
import pytest

pytest.importorskip("pyspiel")

import pyspiel
from open_spiel.python.observation import make_observation

from patchwork_env.errors import IllegalActionError
from patchwork_env.nmbr9 import Game as Nmbr9
from patchwork_env.patchwork import Game as Patchwork
from tests.integrations.open_spiel.cases import CIRCLE, GAMES, NMBR9, any_action, load, states_of_a_game

pytestmark = pytest.mark.libraries


@pytest.mark.parametrize("name", [name for name in GAMES if not load(name).max_chance_nodes_in_history()])
def test_the_engine_plays_the_same(name):
    table, rng = load(name), np.random.default_rng(4)
    state = table.new_initial_state()
    game = state.position()
    while not game.is_over:
        legal = game.legal_actions()
        assert state.legal_actions() == legal.tolist()
        assert state.current_player() == game.current_player
        assert str(state) == game.position_text()
        action = int(rng.choice(legal))
        assert state.action_to_string(action) == game.move_text(action)
        for player in range(table.num_players()):
            seen = np.array(state.observation_tensor(player), np.float32)
            np.testing.assert_array_equal(seen, game.observation(player))
        state.apply_action(action)
        game.play(action)
    assert state.is_terminal()
    assert str(state) == game.position_text()


def test_the_set_up_of_patchwork():
    circle = tuple(map(int, CIRCLE.split()))
    assert load("python_patchwork(seed=7)").new_initial_state().position() == Patchwork(seed=7)
    given = load(f"python_patchwork(circle={CIRCLE},first_player=1,special_patches=edition2014)")
    expected = Patchwork(circle=circle, first_player=1, special_patches="2014")
    assert given.new_initial_state().position() == expected
    assert given.get_type().chance_mode == pyspiel.GameType.ChanceMode.DETERMINISTIC


def test_the_set_up_of_nmbr9():
    assert load("python_nmbr9(seed=4)").new_initial_state().position() == Nmbr9(seed=4)
    given = load("python_nmbr9(deck=4 7 3,players=2,order=known,deck_size=2)")
    expected = Nmbr9(deck=[4, 7, 3], players=2, order="known", deck_size=2)
    assert given.new_initial_state().position() == expected
    free = load("python_nmbr9(order=free,copies=1,max_digit=3)")
    assert free.new_initial_state().position() == Nmbr9(order="free", copies=1, max_digit=3)


@pytest.mark.parametrize("deck", ["7 7", " 0 7", "9 7 9", "0 4 9 6 9", " ".join("0123456789" * 2)])
def test_decks_without_spaces_are_digits_that_survive_being_written(deck):
    given = pyspiel.load_game("python_nmbr9", {"deck": deck})
    expected = Nmbr9(deck=list(map(int, deck.split())))
    for game in (given, load(str(given))):
        assert game.new_initial_state().position() == expected


@pytest.mark.parametrize("name", [name for name in NMBR9 if load(name).max_chance_nodes_in_history()])
def test_cards_are_hidden_before_they_are_turned(name):
    game = load(name)
    observer = make_observation(game)
    for state in states_of_a_game(game, 2):
        if not state.is_chance_node():
            continue
        deck, turned = state.node.game.deck, state.node.dealing
        observer.set_from(state, 0)
        left = 2 * observer.dict["remaining"]
        known = game.get_parameters()["order"] == "known"
        hidden = deck[min(turned, 1) :] if known else deck[turned:]
        assert left.tolist() == [hidden.count(digit) for digit in range(10)]
        assert observer.dict["phase"][:2].tolist() == [0, 0]
        assert observer.dict["tile"].any() == (known and turned > 0)
        assert np.count_nonzero(observer.dict["upcoming"]) == (max(turned - 1, 0) if known else 0)
        assert f"deck={','.join(map(str, deck[:turned])) or '-'} " in state.observation_string(0)


def test_observations_are_those_of_one_player_without_parameters():
    game = load("python_patchwork")
    with pytest.raises(ValueError, match="observations have no parameters"):
        make_observation(game, params={"size": 3})
    alone = {"private_info": pyspiel.PrivateInfoType.NONE}
    for part in (alone, {"public_info": False}, {"perfect_recall": True}):
        kind = pyspiel.IIGObservationType(**{"perfect_recall": False, **part})
        assert make_observation(game, kind) is None


def test_decks_that_are_given_are_unknown():
    first, second = (
        load(f"python_nmbr9(deck={deck},players=2)").new_initial_state() for deck in ("4 7 3 1", "4 1 7 3")
    )
    assert first.get_game().get_type().information == pyspiel.GameType.Information.IMPERFECT_INFORMATION
    assert known_to(first, 0) == known_to(second, 0)
    assert str(first) != str(second)


@pytest.mark.parametrize("order", ["unknown", "free"])
def test_players_know_nothing_of_the_others_in_a_round(order):
    game = load(f"python_nmbr9(players=3,order={order},max_digit=4)")
    rng, state, compared = np.random.default_rng(1), game.new_initial_state(), 0
    for _ in range(35):
        before = state.clone()
        state.apply_action(any_action(state, rng))
        after = state.clone()
        if after.current_player() != 1:
            continue
        for action in before.legal_actions()[:20]:
            other = before.clone()
            other.apply_action(action)
            assert known_to(other, 1) == known_to(after, 1)
            if str(other) != str(after):
                assert known_to(other, 0) != known_to(after, 0)
                compared += 1
    assert compared > 50


def known_to(state, player):
    return (
        state.information_state_string(player),
        state.information_state_tensor(player),
        state.observation_string(player),
        state.observation_tensor(player),
    )


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("python_patchwork(seed={})", "outcome"),
        ("python_nmbr9(seed={},players=4)", "outcome"),
        ("python_nmbr9(seed={},players=3,rewards=margin)", "margin"),
        ("python_nmbr9(seed={})", "score"),
    ],
)
def test_returns(name, kind):
    for seed in range(4):
        *_, state = states_of_a_game(load(name.format(seed)), seed)
        game, returns = state.position(), state.returns()
        scores = game.scores()
        best_of_others = [max((*scores[:p], *scores[p + 1 :]), default=0) for p in range(len(scores))]
        if kind == "margin":
            assert returns == [(mine - best) / 100 for mine, best in zip(scores, best_of_others, strict=True)]
        elif kind == "score":
            assert returns == list(scores)
        else:
            assert returns.count(max(returns)) == len(game.winners())
            assert all(returns[winner] == max(returns) for winner in game.winners())
            assert max(returns) == 1 or len(game.winners()) > 1


# --- states from positions --------------------------------------------------------------------------------


def test_a_state_goes_on_from_a_position():
    ours, tiles = Patchwork(seed=5), Nmbr9(seed=5, players=2)
    states = []
    for name, game in (("python_patchwork", ours), ("python_nmbr9(players=2)", tiles)):
        for _ in range(12):
            game.play(int(game.legal_actions()[-1]))
        state = load(name).new_initial_state(game.position_text())
        stored = pyspiel.serialize_game_and_state(state.get_game(), state)
        assert str(state.clone()) == str(pyspiel.deserialize_game_and_state(stored)[1]) == str(state)
        states.append(state)
    assert states[0].position() == ours
    assert not states[0].is_chance_node()
    found = states[1].position()
    assert found.placements(1) == tiles.placements(1)
    assert found.deck == (*tiles.deck[:7], *sorted(tiles.deck[7:]))


@pytest.mark.parametrize(
    ("name", "start", "message"),
    [
        ("python_patchwork", "patchwork/1 nonsense", "nonsense"),
        ("python_patchwork", Nmbr9(seed=1).position_text(), "nmbr9/1"),
        ("python_patchwork", Patchwork(1, special_patches="2014").position_text(), "this game of 'revised'"),
        ("python_nmbr9", Nmbr9(seed=1, players=2).position_text(), "2 players, and this game 1"),
        ("python_nmbr9", Nmbr9(seed=1, order="known").position_text(), "in known order"),
        ("python_nmbr9(deck_size=3)", Nmbr9(seed=1).position_text(), "20 rounds in unknown order"),
    ],
)
def test_no_position_to_go_on_from(name, start, message):
    with pytest.raises(ValueError, match=message):
        load(name).new_initial_state(start)


def test_chance_has_no_position():
    for name in ("python_patchwork", "python_nmbr9", "python_nmbr9(order=known)"):
        state = load(name).new_initial_state()
        with pytest.raises(ValueError, match="chance is to move"):
            state.position()
        with pytest.raises(ValueError, match="dealt"):
            state.get_game().new_initial_state(str(state))


# --- errors -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("python_patchwork(seed=-2)", "seed, if not -1 for none, is -2; allowed are -1 to"),
        (f"python_patchwork(seed=1,circle={CIRCLE})", "give a seed or a circle, not both"),
        ("python_patchwork(circle=1 2 3)", "the circle has 3 patches"),
        ("python_patchwork(circle=1 2 x)", "x"),
        ("python_patchwork(first_player=2)", "first_player is 2; allowed are 0 to 1"),
        ("python_patchwork(special_patches=edition2015)", "allowed are 'revised', 'edition2014'"),
        ("python_patchwork(rewards=money)", "allowed are 'outcome', 'margin', 'score'"),
        ("python_nmbr9(rewards=outcome)", "needs 2 players"),
    ],
)
def test_parameters_that_are_not_allowed(name, message):
    with pytest.raises(ValueError, match=message):
        load(name)


def test_illegal_actions_change_nothing():
    state = load("python_nmbr9(players=2)").new_initial_state()
    calls = (
        (lambda: state.apply_action(10), lambda: state.string_to_action("+")),
        (lambda: state.action_to_string(99999), lambda: state.string_to_action("nonsense")),
    )
    for of_phase, message in zip(
        calls, ("not an outcome of chance now", "does not exist|not a move"), strict=True
    ):
        before = str(state)
        for call in of_phase:
            with pytest.raises(IllegalActionError, match=message):
                call()
            assert str(state) == before
        state.apply_action(state.legal_actions()[0])

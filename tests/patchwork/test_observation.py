"""Every documented number of an observation, computed again from the properties of the game."""

import numpy as np
import pytest

from patchwork_env.agents.ragged import observations_of
from patchwork_env.envs.spaces import GameSpaces
from patchwork_env.patchwork import PATCHES, Game
from patchwork_env.patchwork.components import INCOME_SPACES, LAST_SPACE, SPECIAL_SPACES, START_BUTTONS
from patchwork_env.patchwork.observation import (
    BUTTONS_FEATURE,
    LAYOUT,
    OBSERVATION_SIZE,
    SHAPES,
    SLICES,
    as_dict,
    read_observation,
)
from patchwork_env.patchwork.rules import RULES, most_buttons
from patchwork_env.patchwork.state import NOBODY, STATE, empty_states
from patchwork_env.patchwork.tables import INCOMES_UP_TO

ALL_INCOME = sum(patch.income for patch in PATCHES)
SPACES = np.arange(LAST_SPACE + 1)


def positions_of_play(seed, buy, variant):
    """All positions of a game of random moves, with or without a preference for buying."""
    rng = np.random.default_rng(seed)
    game = Game(seed=seed, special_patches=variant, first_player=seed % 2)
    yield game
    while not game.is_over:
        actions = game.legal_actions()
        wanted = actions[actions > 0] if buy and actions[-1] > 0 else actions
        game.play(rng.choice(wanted))
        yield game


def offered(patch):
    """Drawing, size, prices and income of an offered patch."""
    if patch is None:
        return [0] * 29
    drawing = [float((row, column) in PATCHES[patch].cells) for row in range(5) for column in range(5)]
    _, buttons, time, income = PATCHES[patch]
    return [*drawing, len(PATCHES[patch].cells) / 8, buttons / 10, time / 6, income / 3]


def player(game, who):
    """The ten numbers of one player."""
    position = game.positions[who]
    ahead = [mark for mark in INCOME_SPACES if mark > position]
    to_move = game.current_player == who
    return [
        to_move,
        to_move and game.pending_special,
        position / 53,
        game.buttons[who] / 32,
        game.incomes[who] / 38,
        len(ahead) / 9,
        (ahead[0] - position) / 6 if ahead else 0,
        np.count_nonzero(~game.quilt(who)) / 81,
        game.bonus_owner == who,
        game.first_finisher == who,
    ]


def expected(game, observer):
    """The tensors that the observer sees according to the documentation."""
    circle = [(patch + 1) / 33 for patch in game.circle]
    slots = [*game.offered, None, None, None][:3]
    spaces = SPECIAL_SPACES[game.special_patches]
    tensors = {
        "quilts": np.stack([game.quilt(observer), game.quilt(1 - observer)]),
        "offered": np.array([offered(patch) for patch in slots]),
        "circle": np.array(circle + [0.0] * (33 - len(circle))),
        "players": np.array([player(game, observer), player(game, 1 - observer)]),
        "specials": np.array([space / 53 if space in game.special_spaces else 0 for space in spaces]),
    }
    return {name: tensor.astype(np.float32) for name, tensor in tensors.items()}


@pytest.mark.parametrize("variant", ["revised", "2014"])
@pytest.mark.parametrize("buy", [False, True])
def test_every_field_for_both_players(buy, variant):
    pending = 0
    for seed in range(3):
        for game in positions_of_play(seed, buy, variant):
            pending += game.pending_special
            for observer in range(2):
                vector = game.observation(observer)
                assert vector.dtype == np.float32
                assert vector in GameSpaces(RULES).observation_space(named=False)
                if observer == game.current_player:
                    np.testing.assert_array_equal(game.observation(), vector)
                tensors, wanted = as_dict(vector), expected(game, observer)
                assert list(tensors) == list(wanted)
                for name, tensor in wanted.items():
                    np.testing.assert_allclose(tensors[name], tensor, rtol=1e-6, err_msg=name)
                    np.testing.assert_array_equal(vector[SLICES[name]], tensors[name].ravel())
    assert pending > 5


def test_the_layout_is_the_documented_one():
    assert SHAPES == {
        "quilts": (2, 9, 9),
        "offered": (3, 29),
        "circle": (33,),
        "players": (2, 10),
        "specials": (5,),
    }
    assert [part.start for part in SLICES.values()] == [0, 162, 249, 282, 302]
    assert OBSERVATION_SIZE == 307
    vectors = np.arange(6 * OBSERVATION_SIZE, dtype=np.float32).reshape(2, 3, OBSERVATION_SIZE)
    for name, tensor in as_dict(vectors).items():
        assert np.shares_memory(tensor, vectors)
        np.testing.assert_array_equal(tensor[1, 2], as_dict(vectors[1, 2])[name])


@pytest.mark.parametrize("variant", SPECIAL_SPACES)
def test_a_state_is_read_from_the_observation_of_the_player_to_move(variant):
    found = empty_states(1)
    for game in positions_of_play(3, buy=True, variant=variant):
        read_observation(observations_of(game.state)[0], found, 0)
        mover = game.current_player
        expected = game.state
        if mover == 1:
            for name in ("quilt", "buttons", "position", "income"):
                expected[name] = expected[name][:, ::-1]
            for name in ("bonus_owner", "first_finisher"):
                expected[name] = [1, 0, NOBODY][expected[name][0]]
        expected["current_player"] = 0
        names = [name for name in STATE.names or () if name != "variant"]  # both are alike near the end
        assert found[names] == expected[names]
        assert (observations_of(found) == observations_of(game.state)).all()


def test_any_array_is_read_as_a_state_within_bounds():
    found, random = empty_states(1), np.random.default_rng(2)
    for number in (np.nan, np.inf, -np.inf, 1e30, -1e30, 0.7):
        observation = random.normal(size=OBSERVATION_SIZE).astype(np.float32)
        observation[random.random(OBSERVATION_SIZE) < 0.5] = number
        read_observation(observation, found, 0)
        assert (found["position"] <= 53).all()
        assert (found["circle"] < 33).all()
        assert found["num_patches"][0] <= 33
        assert found["variant"][0] < 2
        assert {found["bonus_owner"][0], found["first_finisher"][0]} <= {0, 1, NOBODY}


def test_the_most_buttons_have_room():
    """At the last space with all income there are 400, and records and observations hold more."""
    most = most_buttons(LAST_SPACE, ALL_INCOME)
    assert most == START_BUTTONS + LAST_SPACE + 9 * ALL_INCOME == 400
    assert most < np.iinfo(STATE["buttons"].base).max
    assert most <= 32 * as_dict(LAYOUT.upper_bounds)["players"][:, BUTTONS_FEATURE].min()
    assert max(ALL_INCOME, LAST_SPACE + max(patch.time for patch in PATCHES)) <= np.iinfo(np.uint8).max


def test_no_move_leads_beyond_the_most_buttons():
    """The bound rises by at least the gain of a move, so it holds after the move if it held before."""
    for income in range(ALL_INCOME + 1):
        for old in SPACES:
            marks = INCOMES_UP_TO[old:].astype(int) - INCOMES_UP_TO[old]
            room = np.array([most_buttons(new, income) for new in SPACES[old:]]) - most_buttons(old, income)
            assert (room >= SPACES[old:] - old + marks * income).all(), "advancing"
        for patch in PATCHES:
            richer = income + patch.income
            if richer <= ALL_INCOME:
                for old in SPACES:
                    new = min(old + patch.time, LAST_SPACE)
                    gain = int(INCOMES_UP_TO[new] - INCOMES_UP_TO[old]) * richer - patch.buttons
                    room = most_buttons(new, richer) - most_buttons(old, income)
                    assert room - patch.buttons >= gain, "buying; the price is gone for both players together"

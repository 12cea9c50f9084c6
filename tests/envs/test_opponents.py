"""Opponents of games: several in a batch, and changes while games go on."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from patchwork_env import agents, patchwork_v0
from patchwork_env.envs.opponents import Opponents
from tests.envs.cases import CASES, LastAction, batched

NAME, ALONE = "patchwork_env:Patchwork-v0", "patchwork_env:Nmbr9-v0"


class Marked(LastAction):
    """Records the circles of the games that it is asked about, and the seeds that it gets."""

    def __init__(self, name):
        self.name, self.circles, self.seeds = name, set(), []

    def reseed(self, seed=None):
        self.seeds.append(seed)

    def act_batch(self, states):
        self.circles.update(bytes(circle) for circle in states["circle"])
        return super().act_batch(states)


def play_on(envs, steps):
    """Play a number of steps; return the indices of the games that ended and of their opponents."""
    ended: list[tuple[int, int]] = []
    for _ in range(steps):
        *_, terminations, _, infos = envs.step(envs.action_masks().argmax(axis=1))
        games = np.flatnonzero(terminations).tolist()
        ended += [(game, int(infos["final_info"]["opponent"][game])) for game in games]
    return ended


def test_several_opponents_share_the_games():
    first, second, third = (Marked(name) for name in "abc")
    envs = batched(CASES[0], 8, opponent=[first, second, third], opponent_shares=[2, 1, 1])
    envs.reset(seed=3)
    assert envs.opponents == [first, second, third]
    assert envs.opponent is None
    assert envs.opponent_numbers.tolist() == [0] * 4 + [1] * 2 + [2] * 2
    ended = play_on(envs, 60)
    assert len(ended) > 8
    assert all(opponent == envs.opponent_numbers[game] for game, opponent in ended)
    assert first.circles.isdisjoint(second.circles | third.circles)
    evenly = batched(CASES[4], 12, opponent=[first, second, third])  # one in each of three seats
    assert evenly.opponent_numbers.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2, 0, 0, 0]
    assert batched(CASES[0], 2, opponent=[first]).opponent is first
    few = batched(CASES[0], 4, opponent=[first, second, third])  # too few for pairs of neighbors
    assert few.opponent_numbers.tolist() == [0, 1, 2, 0]
    none = batched(CASES[0], 4, opponent=[first, second, third], opponent_shares=[1, 0, 1])
    assert none.opponent_numbers.tolist() == [0, 0, 2, 2]


def test_each_opponent_gets_another_seed_if_all_games_begin():
    """If some games continue, the opponents that they share keep their random numbers."""
    one, other = Marked("one"), Marked("other")
    envs = batched(CASES[0], 3, opponent=[one, other])
    assert envs.reset(seed=5)[1]["opponent"].tolist() == [0, 1, 0]
    play_on(envs, 1)
    assert other.circles
    assert one.circles.isdisjoint(other.circles)
    envs.reset(seed=6, options={"reset_mask": np.array([True, False, True])})
    envs.reset(seed=[None, 2**64 - 1, None], options={"reset_mask": np.ones(3, np.bool_)})
    assert one.seeds == [2**64 - 6, 0]
    assert other.seeds == [2**64 - 7, 2**64 - 1]


def test_games_keep_their_opponents_to_the_end():
    old, new, newest = (Marked(name) for name in ("old", "new", "newest"))
    envs = batched(CASES[0], 6, opponent=old)
    envs.reset(seed=3)
    play_on(envs, 5)
    envs.set_opponents([new, newest], shares=[0.5, 0.5])
    assert envs.opponents == [new, newest, old]
    assert envs.opponent_numbers.tolist() == [2] * 6
    assert not new.circles
    ended = play_on(envs, 60)
    for game in range(6):
        opponents = [opponent for other, opponent in ended if other == game]
        assert opponents[:2] == [2, int(game >= 3)], "the game that was on, and the next one"
    assert old.circles.isdisjoint(new.circles)
    envs.set_opponents([newest], at_once=True)
    assert (envs.opponents, envs.opponent_numbers.tolist()) == ([newest], [0] * 6)


@pytest.mark.parametrize(
    ("opponents", "shares", "message"),
    [
        ([], None, "the number of opponents is 0"),
        ([AutoresetMode.DISABLED], None, "opponent is <.*; it must be an agent"),  # has a name
        ([LastAction()], [1, 2], r"shares of the opponents are \[1, 2\]; they must be 1 numbers"),
        ([LastAction()] * 2, [1, -1], "from 0 on that are not all 0"),
        ([LastAction()] * 2, [0, 0], "from 0 on that are not all 0"),
        ([LastAction()] * 5, None, "opponent 4 of 5 has a share, but none of the 4 games; take more"),
        ([LastAction()] * 2, [0.1, 0.9], "opponent 0 of 2 has a share, but none of the 4 games"),
        ([LastAction()] * 2, "ab", "shares of the opponents are 'ab'"),
    ],
)
def test_opponents_and_shares_that_do_not_fit(opponents, shares, message):
    with pytest.raises(ValueError, match=message):
        batched(CASES[0], 4, opponent=opponents, opponent_shares=shares)
    envs = batched(CASES[0], 4)
    kept = envs.opponents
    with pytest.raises(ValueError, match=message):
        envs.set_opponents(opponents, shares)
    assert envs.opponents == kept


def test_a_single_player_has_no_opponent():
    envs = batched(CASES[2], 2)
    assert (envs.opponents, envs.opponent_numbers.tolist()) == ([], [0, 0])
    for make, name in ((gymnasium.make, "opponent"), (gymnasium.make_vec, "opponents")):
        assert make(ALONE, players=2).unwrapped.opponent.name == "random"
        change = getattr(make(ALONE).unwrapped, f"set_{name}")
        for call, given in ((make, {"id": ALONE, "opponent": "greedy"}), (change, {name: "greedy"})):
            with pytest.raises(ValueError, match=r"opponents? (is|are) .*; a game for one player has none"):
                call(**given)


@pytest.mark.parametrize("numbers", [[0, 1], [0, 1, 2, 0], [0, -1, 0, 0], [0.0, 1.0, 0.0, 1.0], "abcd"])
def test_numbers_of_opponents_that_do_not_fit(numbers):
    opponents = Opponents(4, [LastAction(), LastAction()])
    with pytest.raises(ValueError, match="they must be 4 integers from 0 to 1"):
        opponents.change([LastAction(), LastAction()], numbers)
    with pytest.raises(ValueError, match=r"shares are \[1, 2\] and there are numbers; give one of them"):
        opponents.change([LastAction(), LastAction()], [0, 1, 0, 1], shares=[1, 2])
    assert len(opponents.agents) == 2


@pytest.mark.parametrize("by_attribute", [False, True])
def test_a_game_keeps_its_opponent_and_the_next_has_the_new_one(by_attribute):
    env, twin = (gymnasium.make(NAME, opponent=LastAction(), seat=0) for _ in range(2))
    new = gymnasium.make(NAME, opponent="greedy", seat=0)
    for one in (env, twin):
        one.reset(seed=1)
    if by_attribute:
        env.set_wrapper_attr("opponent", "greedy")
    else:
        env.unwrapped.set_opponent("greedy")
    assert env.unwrapped.opponent.name == "greedy"
    over = False
    while not over:
        action = env.unwrapped.action_masks().argmax()
        result, expected = env.step(action), twin.step(action)
        assert (result[0] == expected[0]).all()
        over = result[2]
    for one in (env, new):
        one.reset(seed=2)
        for _ in range(5):
            one.step(one.unwrapped.action_masks().argmax())
    assert env.unwrapped.game == new.unwrapped.game


def test_an_opponent_that_is_refused_changes_nothing():
    env = patchwork_v0.PatchworkEnv("random")
    for wrong in ("gredy", 3, None):
        with pytest.raises(ValueError, match=str(wrong)):
            env.opponent = wrong
    assert env.opponent.name == "random"


def test_a_batch_has_the_interface_of_gymnasiums_vector_environments():
    envs = gymnasium.make_vec(NAME, 4, "vector_entry_point", opponent="random", render_mode="ansi")
    batch = envs.unwrapped
    assert batch.get_attr("seat") == (0, 0, 0, 0)  # as of single environments before a game
    envs.reset(seed=1)
    assert batch.autoreset_mode is AutoresetMode.SAME_STEP
    assert (np.array(batch.call("action_masks")) == batch.action_masks()).all()
    assert batch.get_attr("seat") == (1, 0, 1, 0)
    assert list(batch.get_attr("game")) == batch.games()
    assert batch.call("render") == batch.render()
    one, other = agents.load("greedy"), agents.load("random")
    batch.set_attr("opponent", [one, one, other, other])
    batch.reset()
    assert batch.get_attr("opponent") == (one, one, other, other)
    batch.set_attr("opponent", "greedy")
    batch.reset()
    assert {opponent.name for opponent in batch.get_attr("opponent")} == {"greedy"}
    with pytest.raises(ValueError, match="there are 2 opponents for 4 games"):
        batch.set_attr("opponent", [one, other])
    for call in (lambda: batch.call("spam"), lambda: batch.set_attr("seat", 1)):
        with pytest.raises(AttributeError, match=r"spam|cannot be set"):
            call()
    with pytest.raises(TypeError, match="unexpected keyword argument 'mode'"):
        batch.call("render", mode="ansi")

"""Gymnasium environments of every game, single and vector."""

from functools import partial

import numpy as np
import pytest
from gymnasium.error import ResetNeeded

from patchwork_env.agents.ragged import legal_lists, observations_of
from patchwork_env.envs.dealing import Dealer
from patchwork_env.errors import OpponentError
from tests.envs.cases import CASES, BatchCheat, Cheat, assert_same, batched, cases, play, single, with_others


def all_of(env):
    """Everything that an environment of one game shows."""
    return env.game, env.seat, env.action_masks().tobytes()


# --- one game -----------------------------------------------------------------------------------------------


@cases
def test_episodes(case):
    for seed, seat in enumerate(("alternate", "alternate", "random")):
        env = single(case, seat=seat)
        _, info = env.reset(seed=seed)
        before, total = env.game.scores()[env.seat], 0.0
        for seen, reward, terminated, truncated, after in play(env, info, seed):
            assert seen in env.observation_space
            assert (type(reward), type(terminated), truncated) == (float, bool, False)
            assert (seen == env.game.observation(env.seat)).all()
            assert after["seat"] == env.seat
            assert (after["action_mask"] == env.action_masks()).all()
            assert env.game.is_over or env.game.current_player == env.seat
            known = [env.game.public().scores()[player] for player in range(case.players)]
            known[env.seat] = env.game.scores()[env.seat]
            assert after["scores"].tolist() == [*known[env.seat :], *known[: env.seat]]
            assert after["scores"].dtype == np.int16
            total += reward
        scores = env.game.scores()
        assert env.game.is_over
        assert total == scores[0] - before if case.players == 1 else abs(total) <= 1
        with pytest.raises(ResetNeeded, match=r"call reset\(\)"):
            env.step(0)


@with_others
def test_seats(case):
    def seats(seat, seed):
        env = single(case, seat=seat)
        return [env.reset(seed=seed)[1]["seat"]] + [env.reset()[1]["seat"] for _ in range(5)]

    n = case.players
    assert seats(1, 0) == [1] * 6
    assert seats("alternate", 4) == [(4 + k) % n for k in range(6)]
    assert seats("random", 3) == seats("random", 3)
    assert len({seat for seed in range(8) for seat in seats("random", seed)}) == n
    with pytest.raises(ValueError, match=f"seat is {n}; allowed are 0 to {n - 1}"):
        single(case, seat=n)


def test_games_that_end_before_the_first_turn_are_passed_over(monkeypatch):
    row = CASES[-1]
    for seat in ("alternate", "random"):
        env, envs = single(row, blocked=11, seat=seat), batched(row, 3, blocked=11, seat=seat)
        _, info = env.reset(seed=1)  # one cell is free, and the first player covers it
        assert env.seat == env.game.current_player == 0
        assert info["action_mask"].any()
        assert env.step(info["action_mask"].argmax())[1:3] == (1.0, True)
        masks = envs.reset(seed=1)[1]["action_mask"]
        for _ in range(3):
            _, rewards, terminations, _, infos = envs.step(masks.argmax(axis=1))
            assert (rewards == 1).all()
            assert terminations.all()
            masks = infos["action_mask"]
            assert masks.any(axis=1).all()
    dealt, deal = [], Dealer.deal
    monkeypatch.setattr(Dealer, "deal", lambda *given: dealt.append(1) or deal(*given))
    for always in (single(row, blocked=11, seat=1), batched(row, 3, blocked=11, seat=1)):
        with pytest.raises(OpponentError, match="100 games in a row were over before the learner's first"):
            always.reset()
    assert len(dealt) == 100 + 101  # the batch deals one game more


def test_algorithms_that_ignore_masks_get_one_warning():
    """Such as ``EvalCallback`` of Stable-Baselines3, whose evaluations would always show -1."""
    env = single(CASES[-1])

    def end_illegally():
        env.reset()
        illegal = int(np.flatnonzero(env.action_masks() == 0)[0])
        env.step(illegal)
        with pytest.raises(ResetNeeded, match="the episode has ended"):
            env.step(illegal)

    for _ in range(2):
        for _ in range(19):
            end_illegally()
        with pytest.warns(UserWarning, match="MaskableEvalCallback"):
            end_illegally()
        end_illegally()
        env.reset()
        while not env.step(env.action_masks().argmax())[2]:
            pass  # the end of a legal game restarts the count


@cases
def test_before_the_first_reset(case):
    env, envs = single(case, render_mode="ansi"), batched(case, 2)
    calls = [lambda: env.step(0), env.action_masks, env.render, lambda: env.game, envs.action_masks]
    for call in (*calls, lambda: envs.step([0, 0]), envs.games, lambda: envs.states):
        with pytest.raises(ResetNeeded, match=r"call reset\(\)"):
            call()


# --- many games ---------------------------------------------------------------------------------------------


@cases
def test_states_hold_what_the_learner_sees_and_later_steps_change_nothing_returned(case):
    envs = batched(case, 5)
    observations, infos = envs.reset(seed=4)
    for _ in range(30):
        states = envs.states
        legal, masks = legal_lists(states), np.zeros_like(infos["action_mask"])
        masks[legal.rows, legal.actions] = 1
        np.testing.assert_array_equal(masks, infos["action_mask"])
        np.testing.assert_array_equal(observations_of(states), observations)
        returned = [states, observations, infos["action_mask"]]
        kept = [array.tobytes() for array in returned]
        observations, *_, infos = envs.step(masks.argmax(axis=1))
        assert [array.tobytes() for array in returned] == kept
    states.view(np.uint8)[:] = 255
    assert all(game.legal_actions().size for game in envs.games())


# --- opponents that answer wrongly --------------------------------------------------------------------------


def _raise(game):
    raise LookupError("of the opponent")


def _play_on(game):
    game.play(int(game.legal_actions()[0]))
    return -1


ANSWERS = [True, -1, 10**6, _raise, _play_on]
TO_BATCHES = [[0.9] * 3, [1] * 9, [[1, 2], [3]]]
OUT_OF_RANGE = [np.full(1, -1), np.full(2, 10**6), np.full(3, -1)]


def play_to_the_error(env, cheat, answer):
    """Step until the opponent gives a wrong answer; yield the actions before every step."""
    cheat.answer, error = answer, LookupError if answer is _raise else OpponentError
    while True:
        actions = env.action_masks().argmax(axis=-1)
        yield actions
        try:
            env.step(actions)
        except error:
            break
    cheat.answer = None


@with_others
def test_a_wrong_answer_leaves_a_game_as_it_was(case):
    cheat = Cheat()
    env, twin = single(case, opponent=cheat, seat="random"), single(case, seat="random")
    for seed, answer in enumerate(ANSWERS):
        for one in (env, twin):
            one.reset(seed=seed)
        *before, last = play_to_the_error(env, cheat, answer)
        for action in before:
            twin.step(action)
        assert all_of(env) == all_of(twin)
        assert_same(env.step(last), twin.step(last))


@pytest.mark.parametrize(
    ("cheat", "answers"), [(Cheat(), ANSWERS), (BatchCheat(), TO_BATCHES + OUT_OF_RANGE)], ids=type
)
@with_others
def test_a_batch_asks_for_a_reset_after_a_wrong_answer(case, cheat, answers):
    env, twin = batched(case, 3, opponent=cheat, seat="random"), batched(case, 3, seat="random")
    for seed, answer in enumerate(answers):
        env.reset(seed=seed)
        actions = [*play_to_the_error(env, cheat, answer)][-1]
        some = {"reset_mask": np.array([True, False, True])}
        for call in (partial(env.step, actions), partial(env.reset, options=some), env.games):
            with pytest.raises(ResetNeeded, match=r"an opponent failed in it.*call reset\(\)"):
                call()
        assert_same(env.reset(seed=seed), twin.reset(seed=seed))
        assert_same(env.step(actions := env.action_masks().argmax(axis=1)), twin.step(actions))


def test_opponents_see_copies():
    class Vandal(Cheat):
        def act_batch(self, states):
            actions = super().act_batch(states)
            states[:] = np.zeros_like(states)
            return actions

    envs, twin = batched(CASES[0], 3, opponent=Vandal()), batched(CASES[0], 3)
    results = envs.reset(seed=1), twin.reset(seed=1)
    for _ in range(20):
        assert_same(*results)
        actions = envs.action_masks().argmax(axis=1)
        results = envs.step(actions), twin.step(actions)

"""Batched self-play, for every game."""

from __future__ import annotations

import numpy as np
import pytest

from patchwork_env import nmbr9_v0
from patchwork_env.core.batches import REWARDS
from patchwork_env.core.game import BaseGame
from patchwork_env.envs.self_play import SelfPlayBatch
from patchwork_env.errors import IllegalActionError
from tests.envs.cases import cases

OUTPUTS = ("states", "masks", "observations", "counts", "random_actions")
OUTPUTS += ("rewards", "terminations", "truncations")


def batch(case, num_envs, **options):
    return SelfPlayBatch(case.rules, num_envs, **{**case.options, **options})


def snapshot(env, n):
    """The outputs for the first games of a batch."""
    return [getattr(env, name)[:n].tobytes() for name in OUTPUTS]


def played(env, steps):
    """The environment after each of some random steps."""
    for _ in range(steps):
        env.step(env.random_actions)
        yield env


@cases
def test_the_number_of_games_does_not_matter(case):
    one, few, many = (batch(case, n, seed=11) for n in (1, 7, 40))
    for _ in range(60):
        assert snapshot(one, 1) == snapshot(many, 1)
        assert snapshot(few, 7) == snapshot(many, 7)
        for env in (one, few, many):
            env.step(env.random_actions)
    assert (few.final_scores == many.final_scores[:7]).all()


@pytest.mark.parametrize("rewards", REWARDS)
@cases
def test_every_game_is_a_game(case, rewards):
    if case.players == 1 and rewards != "score":
        pytest.skip("alone there is only the score")
    env, ended = batch(case, 3, seed=2, rewards=rewards), 0
    games: list[BaseGame] = env.games()
    outcome = case.rules.kernels.outcome
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
            before = np.array(game.scores())
            game.play(actions[i])
            scores = np.array(game.scores())
            expected = np.zeros(case.players)
            if rewards == "score":
                expected = scores - before
            elif game.is_over and rewards == "margin":
                expected = [(score - max(np.delete(scores, p))) / 100 for p, score in enumerate(scores)]
            elif game.is_over:
                expected = [outcome(game.state, 0, player) for player in range(case.players)]
            assert env.rewards[i] == pytest.approx(np.array(expected))
            assert (env.terminations[i], env.truncations[i]) == (game.is_over, False)
            if game.is_over:
                ended += 1
                assert tuple(env.final_scores[i]) == game.scores()
                games[i] = env.games()[i]
            assert games[i] == env.games()[i]
    assert ended


@cases
def test_seeds(case):
    one, other = batch(case, 30, seed=1), batch(case, 30, seed=2)
    assert snapshot(one, 30) == snapshot(batch(case, 30, seed=np.int64(1)), 30) != snapshot(other, 30)
    one.reset(seed=2)
    assert snapshot(one, 30) == snapshot(other, 30)
    assert snapshot(batch(case, 30), 30) != snapshot(batch(case, 30), 30)


@cases
def test_wrong_actions_change_nothing(case):
    env = batch(case, 6, seed=4)
    env.step(env.random_actions)
    before, saved = snapshot(env, 6), env.save()
    in_none = int(np.flatnonzero(~env.masks[[0, 4]].any(axis=0))[-1])
    for wrong in (-1, case.rules.num_actions, in_none, 2**40):
        actions = env.random_actions.copy()
        actions[[0, 4]] = wrong
        with pytest.raises(IllegalActionError, match=f"action {wrong} of game 0 is not legal"):
            env.step(actions)
    assert snapshot(env, 6) == before
    assert all((saved[name] == array).all() for name, array in env.save().items())


@cases
def test_saved_games_continue_like_the_originals(case):
    env, other = batch(case, 5, seed=2), batch(case, 5, seed=99)
    list(played(env, 10))
    other.restore(env.save())
    names = [getattr(env, name) for name in OUTPUTS]
    for _ in range(40):
        for one in (env, other):
            one.step(one.random_actions)
        assert snapshot(env, 5) == snapshot(other, 5)
    assert all(getattr(env, name) is array for name, array in zip(OUTPUTS, names, strict=True))


@cases
def test_games_without_masks_and_observations_are_the_same(case):
    full, bare = batch(case, 5, seed=2), batch(case, 5, seed=2, masks=False, observations=False)
    assert (len(bare.masks), len(bare.observations)) == (0, 0)
    masks, observations = np.full_like(full.masks, 7), np.full_like(full.observations, 7)
    bare._arrays = bare._arrays._replace(masks=masks[:0], observations=observations[:0])
    for one, other in zip(played(full, 40), played(bare, 40), strict=True):
        assert (one.states == other.states).all()
        assert (one.random_actions == other.random_actions).all()
    assert masks.min() == masks.max() == observations.min() == observations.max() == 7, "nothing is written"


@cases
def test_states_from_outside_are_checked(case):
    """With random bytes kernels would write beyond arrays; no state of a batch may be over."""
    env, rng = batch(case, 5, seed=3), np.random.default_rng(0)
    before = snapshot(env, 5)
    for _ in range(20):
        saved = env.save()
        saved["states"][:] = rng.integers(0, 256, saved["states"].shape)
        with pytest.raises(ValueError, match="reaches state 0 of 5"):
            env.restore(saved)
        assert snapshot(env, 5) == before
    game = env.games()[0]
    while not game.is_over:
        game.play(game.legal_actions()[-1])
    saved = env.save()
    saved["states"].view(case.rules.dtype)[0] = game.state[0]
    with pytest.raises(ValueError, match="the saved game 0 is over"):
        env.restore(saved)
    assert snapshot(env, 5) == before


@pytest.mark.parametrize(
    "change",
    [
        lambda saved: None,
        lambda saved: list(saved),
        lambda saved: saved | {"states": saved["states"].tolist()},
        lambda saved: saved | {"streams": saved["streams"][:-1]},
        lambda saved: saved | {"streams": saved["streams"].astype(np.int64)},
        lambda saved: {"states": saved["states"]},
        lambda saved: nmbr9_v0.SelfPlayBatch(5, seed=1, players=3).save(),
    ],
)
def test_other_arrays_than_the_saved_ones_are_refused(change):
    env = nmbr9_v0.SelfPlayBatch(5, seed=3, players=2)
    before = snapshot(env, 5)
    with pytest.raises(ValueError, match=r"the saved games have (the arrays|\[3\] players)"):
        env.restore(change(env.save()))
    assert snapshot(env, 5) == before
    saved = env.save()
    env.restore(saved | {"states": np.repeat(saved["states"], 2)[::2]})
    assert snapshot(env, 5) == before

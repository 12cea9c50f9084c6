"""Batched self-play: each game is an ordinary game, whatever stands beside it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pytest

from patchwork_env.patchwork import Game, IllegalActionError
from patchwork_env.patchwork_v0 import SelfPlayVectorEnv


class Step(NamedTuple):
    """All that a step leaves behind, as bytes per game."""

    states: list[bytes]
    masks: list[bytes]
    observations: list[bytes]
    others: list[tuple[int, int, int]]


def snapshot(env: SelfPlayVectorEnv, n: int) -> Step:
    return Step(
        [env.states[i : i + 1].tobytes() for i in range(n)],
        [mask.tobytes() for mask in env.masks[:n]],
        [vector.tobytes() for vector in env.observations[:n]],
        list(
            zip(
                env.counts[:n].tolist(),
                env.random_actions[:n].tolist(),
                env.winners[:n].tolist(),
                strict=True,
            )
        ),
    )


def played(env: SelfPlayVectorEnv, steps: int) -> Iterator[SelfPlayVectorEnv]:
    """The environment after each of some random steps."""
    for _ in range(steps):
        env.step(env.random_actions)
        yield env


@pytest.mark.parametrize(("num_envs", "threads"), [(7, 2), (65, 1), (200, 2)])
def test_neither_the_number_of_games_nor_of_threads_matters(num_envs: int, threads: int) -> None:
    few, many = SelfPlayVectorEnv(7, seed=11), SelfPlayVectorEnv(num_envs, seed=11, threads=threads)
    assert snapshot(few, 7) == snapshot(many, 7)
    for one, other in zip(played(few, 150), played(many, 150), strict=True):
        assert snapshot(one, 7) == snapshot(other, 7)
        assert (one.final_scores == other.final_scores[:7]).all()


def test_games_differ_from_each_other_and_between_seeds() -> None:
    one, other = SelfPlayVectorEnv(50, seed=1), SelfPlayVectorEnv(50, seed=2)
    circles = {tuple(game.circle) for env in (one, other) for game in env.games()}
    assert len(circles) == 100
    assert set(one.current_players.tolist()) == {0, 1}
    assert (
        len({tuple(game.circle) for game in SelfPlayVectorEnv(3).games() + SelfPlayVectorEnv(3).games()}) == 6
    )


@pytest.mark.parametrize("variant", ["revised", "2014"])
def test_every_game_follows_the_single_game(variant: str) -> None:
    env = SelfPlayVectorEnv(9, seed=3, special_patches=variant, first_player=1)
    games = env.games()
    ended = 0
    for _ in range(200):
        actions = env.random_actions.copy()
        env.step(actions)
        for i, game in enumerate(games):
            game.play(actions[i])
            assert env.winners[i] == (-1 if game.winner() is None else game.winner())
            if game.is_over:
                ended += 1
                assert tuple(env.final_scores[i].tolist()) == game.scores()
                games[i] = game = env.games()[i]
                assert game.positions == (0, 0)
                assert len(game.circle) == 33
                assert game.current_player == 1
                assert game.special_patches == variant
            assert env.games()[i] == game
            assert (env.masks[i] == game.action_mask()).all()
            assert env.counts[i] == len(game.legal_actions())
            assert env.masks[i, env.random_actions[i]] == 1
    assert ended > 20


def test_the_next_game_has_another_circle() -> None:
    env = SelfPlayVectorEnv(4, seed=8)
    circles = {tuple(game.circle) for game in env.games()}
    for _ in played(env, 150):
        circles |= {tuple(game.circle) for game in env.games() if len(game.circle) == 33}
    assert len(circles) > 8


@pytest.mark.parametrize("wrong", [-1, 2026, 2025, 2**40])
def test_an_illegal_action_changes_nothing(wrong: int) -> None:
    env = SelfPlayVectorEnv(6, seed=4)
    env.step(env.random_actions)
    saved, before = env.save(), snapshot(env, 6)
    actions = env.random_actions.copy()
    actions[4] = wrong
    with pytest.raises(IllegalActionError, match=f"action {wrong} of game 4 is not legal"):
        env.step(actions)
    assert snapshot(env, 6) == before
    assert all((saved[name] == array).all() for name, array in env.save().items())


@pytest.mark.parametrize(
    "actions", [np.zeros(5, int), np.zeros((6, 1), int), np.zeros(6), [None] * 6, 0], ids=str
)
def test_actions_of_another_shape_or_type(actions: object) -> None:
    env = SelfPlayVectorEnv(6, seed=4)
    before = snapshot(env, 6)
    with pytest.raises(ValueError, match="they must be 6 integers"):
        env.step(actions)  # type: ignore[arg-type]
    assert snapshot(env, 6) == before


def test_outputs_stay_where_they_are() -> None:
    env = SelfPlayVectorEnv(3, seed=0)
    names = ["states", "masks", "observations", "counts", "random_actions", "winners", "final_scores"]
    arrays = [getattr(env, name) for name in names]
    env.step(env.random_actions)
    env.reset(seed=1)
    assert all(getattr(env, name) is array for name, array in zip(names, arrays, strict=True))


def test_what_is_left_out_does_not_change_the_games() -> None:
    full, bare = SelfPlayVectorEnv(5, seed=2), SelfPlayVectorEnv(5, seed=2, masks=False, observations=False)
    assert bare.masks.shape == (0, 2026)
    assert len(bare.observations) == 0
    for one, other in zip(played(full, 100), played(bare, 100), strict=True):
        assert (one.states == other.states).all()
        assert (one.random_actions == other.random_actions).all()


def test_saved_games_go_on_like_the_originals() -> None:
    env, other = SelfPlayVectorEnv(5, seed=2), SelfPlayVectorEnv(5, seed=99)
    for _ in played(env, 30):
        pass
    other.restore(env.save())
    for one, copy in zip(played(env, 60), played(other, 60), strict=True):
        assert snapshot(one, 5) == snapshot(copy, 5)
    with pytest.raises(ValueError, match="this environment needs"):
        SelfPlayVectorEnv(6).restore(env.save())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_envs": 0}, "num_envs is 0; it must be at least 1"),
        ({"num_envs": 2.0}, "num_envs must be an integer"),
        ({"num_envs": 1, "threads": 0}, "threads is 0"),
        ({"num_envs": 1, "seed": -1}, "seed is -1"),
        (
            {"num_envs": 1, "special_patches": "1999"},
            "special_patches is '1999'; allowed are 'revised', '2014'",
        ),
        ({"num_envs": 1, "first_player": 2}, "first_player is 2; allowed are 0 and 1"),
        ({"num_envs": 1, "first_player": "nobody"}, "'nobody'; allowed are 'random'"),
    ],
)
def test_wrong_options(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SelfPlayVectorEnv(**options)


def test_games_are_copies() -> None:
    env = SelfPlayVectorEnv(2, seed=6)
    game: Game = env.games()[0]
    game.play(0)
    assert env.games()[0] != game

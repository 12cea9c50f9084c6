"""The environments of Patchwork: what is special to the game; ``tests/envs`` has what all games do."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pettingzoo
import pytest

from patchwork_env import patchwork_v0
from patchwork_env.patchwork import Game
from patchwork_env.patchwork_v0 import PatchworkEnv, PatchworkVectorEnv, SelfPlayVectorEnv

AGENTS = ("player_0", "player_1")
CIRCLE = [*range(32, 0, -1), 0]


def test_registry() -> None:
    for name in ("patchwork/patchwork_v0", "patchwork/patchwork-v0", "patchwork/patchwork"):
        env = pettingzoo.make("aec", name, observation="dict", rewards="margin")
        assert str(env) == "patchwork_v0"
        env.reset(seed=1)
        assert isinstance(env.observe("player_0")["observation"], dict)
    assert pettingzoo.spec("aec", "patchwork/patchwork").id == "patchwork/patchwork-v0"


def drawn_position() -> tuple[Game, int]:
    """A game in its last position but one, and a move that ends it with equal scores."""
    for seed in range(1000):
        game, rng = Game(seed), np.random.default_rng(seed)
        while not game.is_over:
            before, action = game.clone(), int(rng.choice(game.legal_actions()))
            game.play(action)
        if game.scores()[0] == game.scores()[1]:
            return before, action
    raise AssertionError("no game with equal scores")


def test_on_equal_scores_whoever_arrived_first_wins_and_there_is_no_margin() -> None:
    game, action = drawn_position()
    winner = game.first_finisher
    assert winner is not None
    for rewards, won in (("outcome", 1), ("margin", 0)):
        env = patchwork_v0.raw_env(rewards=rewards)
        env.game = game
        env.step(action)
        assert env.rewards == {AGENTS[winner]: won, AGENTS[1 - winner]: -won}


def test_options_of_a_reset_come_before_those_of_the_environment() -> None:
    env = patchwork_v0.env(first_player="random", special_patches="2014")
    starters = set()
    for seed in range(10):
        env.reset(seed=seed, options={"circle": CIRCLE})
        starters.add(env.agent_selection)
        env.reset(seed=seed, options={"circle": np.array(CIRCLE), "first_player": 1})
        assert env.unwrapped.game == Game(circle=CIRCLE, first_player=1, special_patches="2014")
        env.reset(seed=seed, options={"first_player": 0, "circle": None})
        assert env.agent_selection == "player_0"
    assert starters == set(AGENTS)


def test_an_action_counts_by_the_game_that_was_set_last() -> None:
    env = patchwork_v0.env()
    env.reset(seed=1)
    env.last()
    other = Game(seed=2, first_player=1)
    new = np.flatnonzero(other.action_mask() > env.unwrapped.game.action_mask())[0]
    env.unwrapped.game = other
    env.step(new)
    other.play(new)
    assert env.unwrapped.game == other
    assert not any(env.terminations.values())


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("first_player", [0, 1])
def test_learner_and_opponent_play_one_game(seat: int, first_player: int) -> None:
    """All moves in the order in which they were made are a game of the engine."""
    moves: list[tuple[int, int]] = []

    def opponent(game: Game) -> int:
        action = int(game.legal_actions()[-1])
        moves.append((game.current_player, action))
        game.play(action)  # on its own copy
        return action

    env = PatchworkEnv(opponent, seat=seat, first_player=first_player, special_patches="2014")
    _, info = env.reset(seed=9)
    game = Game(9, first_player=first_player, special_patches="2014")
    rng = np.random.default_rng(0)
    terminated = False
    while not terminated:
        action = int(rng.choice(np.flatnonzero(info["action_mask"])))
        moves.append((seat, action))
        _, reward, terminated, _, info = env.step(action)
    for player, action in moves:
        assert game.current_player == player
        game.play(action)
    assert game.is_over
    assert env.game == game
    assert env.game.history == game.history
    assert reward == (1 if game.winner() == seat else -1)
    assert tuple(info["scores"]) == (game.scores()[seat], game.scores()[1 - seat])
    assert {player for player, _ in moves} == {0, 1}


@pytest.mark.parametrize(
    ("opponent", "error"),
    [("greddy", ValueError), (5, ValueError), (None, ValueError), (Path("runs/nothing"), FileNotFoundError)],
)
def test_no_such_opponent(opponent: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=str(opponent)):
        PatchworkEnv(opponent)


WRONG_OPTIONS = [
    ({"special_patches": 2014}, "special_patches is 2014"),
    ({"first_player": "player_0"}, "'player_0'; allowed are 'random'"),
    ({"first_player": -1}, "first_player is -1"),
]
WRONG_RESETS = [
    ({"cirle": CIRCLE}, "did you mean 'circle'"),
    ({"circle": [*CIRCLE[1:], 32]}, "must end in patch 0"),
    ({"first_player": 2}, "first_player is 2"),
]


@pytest.mark.parametrize(("options", "message"), WRONG_OPTIONS)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    batches = [partial(kind, 2) for kind in (PatchworkVectorEnv, SelfPlayVectorEnv)]
    for make in (patchwork_v0.env, patchwork_v0.raw_env, PatchworkEnv, *batches):
        with pytest.raises(ValueError, match=message):
            make(**options)


@pytest.mark.parametrize(("options", "message"), WRONG_RESETS)
def test_wrong_reset_options(options: dict[str, Any], message: str) -> None:
    for env in (patchwork_v0.raw_env(), PatchworkEnv(), PatchworkVectorEnv(2)):
        with pytest.raises(ValueError, match=message):
            env.reset(options=options)


def test_a_circle_from_chance_and_a_given_one_take_as_many_random_numbers() -> None:
    env, other = patchwork_v0.raw_env(first_player="random"), patchwork_v0.raw_env(first_player="random")
    env.reset(seed=1)
    other.reset(seed=1, options={"circle": CIRCLE})
    env.reset()
    other.reset()
    assert env.game == other.game


def test_the_games_of_a_batch_have_random_first_players() -> None:
    env = SelfPlayVectorEnv(50, seed=1)
    assert set(env.current_players.tolist()) == {0, 1}
    assert len({game.circle for game in env.games()}) == 50
    assert env.options == {"special_patches": "revised", "first_player": "random"}

"""The Gymnasium environment: its interface, and that learner and opponent play the game of the engine."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env

from patchwork_env import agents
from patchwork_env.envs import display
from patchwork_env.errors import OpponentError
from patchwork_env.patchwork import Game, IllegalActionError
from patchwork_env.patchwork.observation import as_dict
from patchwork_env.patchwork_v0 import PatchworkEnv

NAME = "patchwork_env:Patchwork-v0"
CIRCLE = [*range(32, 0, -1), 0]
OPTIONS: list[dict[str, Any]] = [
    {},
    {"observation": "dict", "seat": 1, "opponent": "greedy"},
    {"seat": "random", "first_player": "random", "rewards": "margin"},
    {"seat": 0, "special_patches": "2014", "opponent": lambda game: game.legal_actions()[-1]},
]

Transition = tuple[Any, float, bool, bool, dict[str, Any]]


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows without a screen, and no pauses between pictures."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setattr(display, "FRAMES_PER_SECOND", 0)


def advance_or_first(game: Game) -> int:
    return int(game.legal_actions()[0])


def raw(**options: Any) -> PatchworkEnv:
    env = gymnasium.make(NAME, **options).unwrapped
    assert isinstance(env, PatchworkEnv)
    return env


def play(env: gymnasium.Env[Any, Any], info: dict[str, Any], seed: int) -> list[Transition]:
    """Random legal play to the end of the episode."""
    rng = np.random.default_rng(seed)
    transitions = [(None, 0.0, False, False, info)]
    while not transitions[-1][2]:
        mask = transitions[-1][4]["action_mask"]
        transitions.append(env.step(rng.choice(np.flatnonzero(mask))))
    return transitions[1:]


def digest(transitions: list[Transition]) -> list[Any]:
    return [
        (np.asarray(o).tobytes(), r, t, u, i["action_mask"].tobytes(), i["seat"])
        for o, r, t, u, i in transitions
    ]


# --- interface --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", OPTIONS)
def test_check_env(options: dict[str, Any]) -> None:
    check_env(raw(**options))


@pytest.mark.parametrize("options", OPTIONS)
def test_whole_episodes_pass_the_passive_checker(options: dict[str, Any]) -> None:
    env = gymnasium.make(NAME, **options)
    for seed in range(3):
        observation, info = env.reset(seed=seed)
        assert observation in env.observation_space
        for seen, reward, terminated, truncated, after in play(env, info, seed):
            assert seen in env.observation_space
            assert type(reward) is float
            assert type(terminated) is bool
            assert truncated is False
            assert after["action_mask"].dtype == np.int8
            assert reward == 0 or terminated


def test_the_mask_is_also_given_by_action_masks() -> None:
    env = gymnasium.make(NAME)
    _, info = env.reset(seed=1)
    terminated = False
    while not terminated:
        assert (env.get_wrapper_attr("action_masks")() == info["action_mask"]).all()
        assert (env.unwrapped.game.action_mask() == info["action_mask"]).all()
        _, _, terminated, _, info = env.step(info["action_mask"].argmax())
    assert not env.unwrapped.action_masks().any()
    assert not info["action_mask"].any()


def test_both_layouts_hold_the_same() -> None:
    flat, named = raw(opponent="greedy"), raw(opponent="greedy", observation="dict")
    (vector, info), (tensors, _) = flat.reset(seed=4), named.reset(seed=4)
    pairs = [(vector, tensors)]
    pairs += [(a[0], b[0]) for a, b in zip(play(flat, info, 4), play(named, info, 4), strict=True)]
    for vector, tensors in pairs:
        assert all((as_dict(vector)[name] == tensor).all() for name, tensor in tensors.items())


def test_sb3_contrib_learns_with_the_masks() -> None:
    """A few steps, in which an action that is not legal would end the test."""
    sb3_contrib = pytest.importorskip("sb3_contrib")
    for policy, layout in (("MlpPolicy", "flat"), ("MultiInputPolicy", "dict")):
        env = gymnasium.make(NAME, observation=layout, illegal_action="raise")
        small = {"net_arch": [8]}
        model = sb3_contrib.MaskablePPO(
            policy, env, n_steps=32, batch_size=16, n_epochs=1, policy_kwargs=small
        )
        model.learn(64)
        observation, info = env.reset(seed=0)
        action, _ = model.predict(observation, action_masks=info["action_mask"])
        env.step(action)


# --- the game ---------------------------------------------------------------------------------------------


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

    env = raw(opponent=opponent, seat=seat, first_player=first_player, special_patches="2014")
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


def test_margin() -> None:
    env = raw(rewards="margin", seat=1)
    _, info = env.reset(seed=2)
    _, reward, _, _, info = play(env, info, 2)[-1]
    assert reward == (env.game.scores()[1] - env.game.scores()[0]) / 100
    assert info["scores"].tolist() == [env.game.scores()[1], env.game.scores()[0]]


def test_seats() -> None:
    def seats(seat: int | str, seed: int) -> list[int]:
        env = raw(seat=seat, opponent=advance_or_first)
        found = [env.reset(seed=seed)[1]["seat"]]
        return found + [env.reset()[1]["seat"] for _ in range(9)]

    assert seats(0, 1) == [0] * 10
    assert seats(1, 0) == [1] * 10
    assert seats("alternate", 4) == [0, 1] * 5
    assert seats("alternate", 5) == [1, 0] * 5
    assert seats("random", 3) == seats("random", 3)
    assert 20 < sum(sum(seats("random", seed)) for seed in range(8)) < 60


def test_the_opponent_begins_where_it_should() -> None:
    env = raw(opponent=advance_or_first, seat=1, first_player=0)
    env.reset(seed=1)
    assert env.game.history == (0,)
    assert env.game.current_player == env.seat == 1
    env.reset(options={"first_player": 1, "circle": CIRCLE})
    assert env.game == Game(circle=CIRCLE, first_player=1)


# --- seeds and copies -------------------------------------------------------------------------------------


def test_a_seed_fixes_games_seats_and_opponent() -> None:
    env = raw(opponent="random", seat="random", first_player="random")

    def episodes(seed: int) -> list[Any]:
        _, info = env.reset(seed=seed)
        found = digest(play(env, info, 0))
        for _ in range(3):
            _, info = env.reset()
            found += digest(play(env, info, 0))
        return found

    assert episodes(7) == episodes(7)
    assert episodes(7) != episodes(8)


def test_without_a_seed_games_differ() -> None:
    circles = set()
    for _ in range(3):
        env = raw(seat=0)
        env.reset()
        circles.add(env.game.circle)
        env.reset()
        circles.add(env.game.circle)
    assert len(circles) == 6


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_copies_go_on_like_the_original(duplicate: Callable[[Any], Any]) -> None:
    env = gymnasium.make(NAME, opponent="random", seat="random", render_mode="ansi")
    _, info = env.reset(seed=3)
    for _ in range(5):
        info = env.step(np.flatnonzero(info["action_mask"])[-1])[4]
    twin = duplicate(env)
    for _ in range(3):
        assert digest(play(env, info, 1)) == digest(play(twin, info, 1))
        assert env.render() == twin.render()
        one, other = env.reset(), twin.reset()
        assert (one[0] == other[0]).all()
        info = one[1]


# --- opponents --------------------------------------------------------------------------------------------


class LastAction(agents.Agent):
    """Takes the highest legal action."""

    name = "last"

    def act(self, game: Game) -> int:
        return int(game.legal_actions()[-1])


@pytest.mark.parametrize(
    ("opponent", "name"),
    [
        ("random", "random"),
        ("greedy", "greedy"),
        (LastAction(), "last"),
        (advance_or_first, "advance_or_first"),
    ],
)
def test_opponents(opponent: Any, name: str) -> None:
    env = raw(opponent=opponent)
    assert env.opponent.name == name
    _, info = env.reset(seed=0)
    assert play(env, info, 0)[-1][2]


@pytest.mark.parametrize(
    ("opponent", "error"),
    [("greddy", ValueError), (5, ValueError), (None, ValueError), (Path("runs/nothing"), FileNotFoundError)],
)
def test_no_such_opponent(opponent: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=str(opponent)):
        raw(opponent=opponent)


@pytest.mark.parametrize("choice", [2025, -5, 99999, "advance", 1.0])
def test_an_opponent_that_plays_an_illegal_action(choice: Any) -> None:
    honest = True

    def cheat(game: Game) -> Any:
        return advance_or_first(game) if honest else choice

    env = raw(opponent=cheat, seat=0)
    env.reset(seed=0)
    before = env.game
    honest = False
    with pytest.raises((OpponentError, ValueError), match="cheat"):
        env.step(0)
    assert env.game == before
    honest = True
    env.step(0)
    assert env.game != before


# --- mistakes ---------------------------------------------------------------------------------------------


def test_an_illegal_action_ends_the_episode_and_says_so() -> None:
    for rewards in ("outcome", "margin"):
        env = raw(rewards=rewards)
        _, info = env.reset(seed=0)
        assert "illegal_action" not in info
        before = env.game
        observation, reward, terminated, truncated, info = env.step(np.int64(2025))
        assert (reward, terminated, truncated) == (-1.0, True, False)
        assert info["illegal_action"] == 2025
        assert "scores" not in info
        assert observation in env.observation_space
        assert env.game == before
        with pytest.raises(ResetNeeded):
            env.step(0)
        env.reset()
        env.step(0)


def test_an_illegal_action_can_raise_instead() -> None:
    env = raw(illegal_action="raise")
    _, info = env.reset(seed=0)
    before = env.game
    with pytest.raises(IllegalActionError, match="action 2025 is not legal"):
        env.step(2025)
    assert env.game == before
    assert play(env, info, 0)


@pytest.mark.parametrize("illegal_action", ["terminate", "raise"])
@pytest.mark.parametrize("action", [2026, -1, 0.0, None, "0", np.zeros(2, int)])
def test_what_is_no_action_at_all(action: Any, illegal_action: str) -> None:
    env = raw(illegal_action=illegal_action)
    env.reset(seed=0)
    before = env.game
    with pytest.raises(IllegalActionError, match=r"actions are 0 to 2025|must be an integer"):
        env.step(action)
    assert env.game == before
    env.step(0)


def test_order_of_calls() -> None:
    env = raw(render_mode="ansi")
    for call in (lambda: env.step(0), env.action_masks, env.render, lambda: env.game):
        with pytest.raises(ResetNeeded, match=r"call reset\(\)"):
            call()
    _, info = env.reset(seed=0)
    play(env, info, 0)
    over = env.game
    with pytest.raises(ResetNeeded, match=r"call reset\(\)"):
        env.step(0)
    assert env.game == over


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seat": 2}, "seat is 2; allowed are 0 and 1"),
        ({"seat": "left"}, "'left'; allowed are 'alternate', 'random'"),
        ({"illegal_action": "ignore"}, "illegal_action is 'ignore'; allowed are 'terminate', 'raise'"),
        ({"rewards": "points"}, "rewards is 'points'; allowed are 'outcome', 'margin'"),
        ({"observation": "planes"}, "observation is 'planes'; allowed are 'flat', 'dict'"),
        ({"special_patches": "2015"}, "special_patches is '2015'; allowed are 'revised', '2014'"),
        ({"first_player": 1.0}, "first_player must be an integer"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PatchworkEnv(**options)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"options": {"seat": 1}}, "unknown reset option 'seat'; allowed are 'circle', 'first_player'"),
        ({"options": {"circle": CIRCLE[1:]}}, "the circle has 32 patches"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": 1, "options": {"first_player": 3}}, "first_player is 3"),
    ],
)
def test_a_wrong_reset_changes_nothing(arguments: dict[str, Any], message: str) -> None:
    env, twin = raw(opponent="random"), raw(opponent="random")
    for one in (env, twin):
        one.reset(seed=5)
    with pytest.raises(ValueError, match=message):
        env.reset(**arguments)
    assert env.game == twin.game
    info = env.reset()[1]
    twin.reset()
    assert digest(play(env, info, 1)) == digest(play(twin, info, 1))


# --- pictures ---------------------------------------------------------------------------------------------


def test_render_modes() -> None:
    text, pixels, nothing = raw(render_mode="ansi"), raw(render_mode="rgb_array"), raw()
    for env in (text, pixels, nothing):
        env.reset(seed=1)
    assert text.render() == str(text.game)
    frame = pixels.render()
    assert (frame.dtype, frame.ndim) == (np.uint8, 3)
    with pytest.warns(UserWarning, match="without a render_mode"):
        nothing.render()


def test_a_window_shows_every_observation(monkeypatch: pytest.MonkeyPatch) -> None:
    from patchwork_env.patchwork import render

    shown: list[Any] = []
    monkeypatch.setattr(render.Window, "show", lambda self, frame: shown.append(frame))
    env = raw(render_mode="human")
    env.reset(seed=1)
    env.step(0)
    assert len(shown) == 2
    env.close()

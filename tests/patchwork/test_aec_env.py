"""The PettingZoo environment: its interface, and that it plays the game of the engine and nothing else."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pettingzoo
import pytest
from pettingzoo.utils.env_logger import EnvLogger
from pettingzoo.utils.wrappers import AssertOutOfBoundsWrapper, OrderEnforcingWrapper, TerminateIllegalWrapper

from patchwork_env import patchwork_v0
from patchwork_env.envs import display
from patchwork_env.patchwork import Game, IllegalActionError

with warnings.catch_warnings():  # the tests import PettingZoo's own games in a way that it has deprecated
    warnings.simplefilter("ignore", DeprecationWarning)
    from pettingzoo.test import api_test, render_test, seed_test

Env = Any
LAYOUTS = ["flat", "dict"]
AGENTS = ("player_0", "player_1")
MAKERS = [patchwork_v0.env, patchwork_v0.raw_env]
CIRCLE = [*range(32, 0, -1), 0]
MASKED_DICTS = ("env_obs_dicts", "env_obs_space")
"""Where PettingZoo's test lists its own games with masks, so as not to warn of their observations."""


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows without a screen, and no pauses between pictures."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setattr(display, "FRAMES_PER_SECOND", 0)


def random_action(env: Env, rng: np.random.Generator) -> int | None:
    """A random legal action of the agent that is to move, or None if it is through."""
    observation, _, terminated, truncated, _ = env.last()
    if terminated or truncated:
        return None
    return int(rng.choice(np.flatnonzero(observation["action_mask"])))


def play(env: Env, seed: int) -> Iterator[int | None]:
    """Random play to the end; yields each action after it was played."""
    rng = np.random.default_rng(seed)
    while env.agents:
        action = random_action(env, rng)
        env.step(action)
        yield action


def flattened(observation: dict[str, Any]) -> np.ndarray:
    """All numbers of an observation, named tensors or not, with its mask."""
    seen = observation["observation"]
    parts = [part.ravel() for part in seen.values()] if isinstance(seen, dict) else [seen]
    return np.concatenate([*parts, observation["action_mask"]])


def everything(env: Env) -> tuple[Any, ...]:
    """All that an environment shows."""
    views = [flattened(env.observe(agent)).tobytes() for agent in AGENTS]
    game = env.unwrapped.game
    facts = (env.agents, env.terminations, env.truncations, env.rewards, env.unwrapped._cumulative_rewards)
    return (*views, game.to_bytes(), game.history, copy.deepcopy(facts), env.agent_selection)


def illegal_action(env: Env) -> int:
    return int(np.flatnonzero(env.unwrapped.game.action_mask() == 0)[-1])


# --- PettingZoo's own tests -------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("make", MAKERS)
def test_api(make: Callable[..., Env], layout: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any warning, once the test knows of us what it knows of PettingZoo's own games with masks."""
    for names in MASKED_DICTS:
        monkeypatch.setitem(api_test.__globals__, names, [*api_test.__globals__[names], "patchwork_v0"])
    api_test(make(observation=layout), num_cycles=200)


def test_what_the_api_test_says_of_any_observation_with_a_mask() -> None:
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        api_test(patchwork_v0.env(), num_cycles=50)
    assert {str(warning.message).partition(" for")[0] for warning in warned} == {
        "Observation is not a NumPy array",
        "Observation space",
    }


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("make", MAKERS)
def test_seeds(make: Callable[..., Env], layout: str) -> None:
    seed_test(lambda: make(observation=layout, first_player="random"), num_cycles=100)


@pytest.mark.parametrize("make", MAKERS)
def test_render(make: Callable[..., Env]) -> None:
    render_test(make)


def test_registry() -> None:
    for name in ("patchwork/patchwork_v0", "patchwork/patchwork-v0", "patchwork/patchwork"):
        env = pettingzoo.make("aec", name, observation="dict", rewards="margin")
        assert str(env) == "patchwork_v0"
        env.reset(seed=1)
        assert isinstance(env.observe("player_0")["observation"], dict)
    assert pettingzoo.spec("aec", "patchwork/patchwork").id == "patchwork/patchwork-v0"


def test_the_standard_wrappers() -> None:
    env, types = patchwork_v0.env(), []
    while env is not env.unwrapped:
        types.append(type(env))
        env = env.env
    standard = [OrderEnforcingWrapper, AssertOutOfBoundsWrapper, TerminateIllegalWrapper]
    assert all(issubclass(own, theirs) for own, theirs in zip(types, standard, strict=True))


# --- the game ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", ["revised", "2014"])
@pytest.mark.parametrize("make", MAKERS)
def test_the_environment_follows_the_game(make: Callable[..., Env], variant: str) -> None:
    env, repeats = make(special_patches=variant), 0
    for seed in range(4):
        env.reset(seed=seed)
        game = Game(seed, special_patches=variant)
        mover = None
        for action in play(env, seed):
            if action is None:
                continue
            repeats += mover == game.current_player
            mover = game.current_player
            game.play(action)
            assert env.unwrapped.game == game
            assert env.unwrapped.game.history == game.history
            assert env.terminations == dict.fromkeys(AGENTS, game.is_over)
            for player, agent in enumerate(AGENTS):
                to_move = player == game.current_player and not game.is_over
                mask = env.observe(agent)["action_mask"]
                assert (mask == game.action_mask() * to_move).all()
                assert mask.dtype == np.int8
            if not game.is_over:
                assert env.agent_selection == AGENTS[game.current_player]
                assert env.rewards == dict.fromkeys(AGENTS, 0)
        assert game.is_over
        assert env.agents == []
    assert repeats > 20


@pytest.mark.parametrize("rewards", ["outcome", "margin"])
def test_rewards_come_once_at_the_end(rewards: str) -> None:
    env = patchwork_v0.env(rewards=rewards)
    winners = set()
    for seed in range(6):
        env.reset(seed=seed)
        totals = dict.fromkeys(AGENTS, 0.0)
        for agent in env.agent_iter():
            totals[agent] += env.last()[1]
            env.step(random_action(env, np.random.default_rng(seed)))
        game = env.unwrapped.game
        own, other = game.scores()
        wanted = 1 if game.winner() == 0 else -1
        if rewards == "margin":
            wanted = (own - other) / 100
        assert totals == {"player_0": wanted, "player_1": -wanted}
        winners.add(game.winner())
    assert winners == {0, 1}


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


def test_flags_are_python_bools_and_spaces_stay_the_same_objects() -> None:
    env = patchwork_v0.env()
    spaces = [space(agent) for agent in AGENTS for space in (env.observation_space, env.action_space)]
    env.reset(seed=0)
    for _ in play(env, 0):
        assert all(type(flag) is bool for flag in [*env.terminations.values(), *env.truncations.values()])
    env.reset(seed=1)
    after = [space(agent) for agent in AGENTS for space in (env.observation_space, env.action_space)]
    assert all(one is other for one, other in zip(spaces, after, strict=True))
    assert len({id(space) for space in spaces}) == 4


def test_observations_are_fresh_arrays() -> None:
    env = patchwork_v0.raw_env()
    env.reset(seed=0)
    one, other = env.observe("player_0"), env.observe("player_0")
    for name, array in one.items():
        assert not np.shares_memory(array, other[name])
        array[:] = 0
    assert flattened(env.observe("player_0")).any()


def test_state_is_the_view_of_player_0() -> None:
    env = patchwork_v0.env()
    env.reset(seed=2)
    for _ in play(env, 2):
        state = env.state()
        assert state in env.unwrapped.state_space
        assert (state == env.observe("player_0")["observation"]).all()


# --- illegal actions and other mistakes -------------------------------------------------------------------


@pytest.mark.parametrize("action", [-1, 2026, 2025, 1.5, None, "advance", True])
def test_the_raw_environment_refuses_illegal_actions(action: Any) -> None:
    env = patchwork_v0.raw_env()
    env.reset(seed=0)
    env.step(0)
    before = everything(env)
    with pytest.raises(IllegalActionError):
        env.step(action)
    assert everything(env) == before


def test_the_wrapped_environment_ends_the_game_of_an_illegal_action() -> None:
    env = patchwork_v0.env()
    env.reset(seed=0)
    env.step(0)
    mover = env.agent_selection
    env.last()
    env.step(illegal_action(env))
    EnvLogger.flush()
    assert env.rewards == {agent: -1 if agent == mover else 0 for agent in AGENTS}
    assert all(env.terminations.values())
    finished = []
    for agent in env.agent_iter():
        finished.append((agent, env.last()[1]))
        env.step(None)
    assert sorted(finished) == [(agent, -1 if agent == mover else 0) for agent in AGENTS]
    env.reset(seed=1)
    assert len(list(play(env, 0))) > 10


def test_an_action_outside_the_space_fails_in_the_wrapped_environment() -> None:
    env = patchwork_v0.env()
    env.reset(seed=0)
    with pytest.raises(AssertionError, match="action is not in action space"):
        env.step(2026)


def test_a_mask_that_its_owner_has_changed_does_no_harm() -> None:
    env = patchwork_v0.env()
    env.reset(seed=0)
    env.last()[0]["action_mask"][:] = 0
    env.step(0)
    assert not any(env.terminations.values())


def test_steps_after_the_end() -> None:
    env = patchwork_v0.raw_env()
    env.reset(seed=0)
    while not env.terminations["player_0"]:
        env.step(random_action(env, np.random.default_rng(0)))
    game = env.game
    with pytest.raises(ValueError, match="the only valid action is None"):
        env.step(0)
    assert env.agents == list(AGENTS)
    env.step(None)
    assert len(env.agents) == 1
    env.step(None)
    assert env.agents == []
    with pytest.raises(RuntimeError, match=r"call reset\(\)"):
        env.step(None)
    assert env.game == game


def test_before_the_first_reset() -> None:
    env = patchwork_v0.raw_env(render_mode="ansi")
    for call in (
        lambda: env.step(0),
        lambda: env.observe("player_0"),
        env.state,
        env.render,
        lambda: env.game,
    ):
        with pytest.raises(RuntimeError, match=r"call reset\(\)"):
            call()


def test_an_unknown_agent() -> None:
    env = patchwork_v0.raw_env()
    env.reset(seed=0)
    with pytest.raises(ValueError, match="no agent 'player_2'; there are player_0, player_1"):
        env.observe("player_2")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"observation": "planes"}, "observation is 'planes'; allowed are 'flat', 'dict'"),
        ({"rewards": "points"}, "rewards is 'points'; allowed are 'outcome', 'margin'"),
        ({"special_patches": 2014}, "special_patches is 2014; allowed are 'revised', '2014'"),
        ({"first_player": "player_0"}, "'player_0'; allowed are 'random'"),
        ({"first_player": -1}, "first_player is -1; allowed are 0 and 1"),
        ({"render_mode": "svg"}, "render_mode is 'svg'; allowed are None, 'human', 'ansi', 'rgb_array'"),
    ],
)
@pytest.mark.parametrize("make", MAKERS)
def test_wrong_options(make: Callable[..., Env], options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make(**options)


# --- reset ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("first_player", [0, 1, "random"])
def test_a_seed_fixes_all_games_that_follow(first_player: int | str) -> None:
    env = patchwork_v0.env(first_player=first_player)

    def games(seed: int) -> list[Game]:
        env.reset(seed=seed)
        found = [env.unwrapped.game]
        for _ in range(20):
            env.reset()
            found.append(env.unwrapped.game)
        return found

    one, again, other = games(5), games(5), games(6)
    assert one == again
    assert len({game.circle for game in one + other}) == 42
    starters = {game.current_player for game in one}
    assert starters == ({0, 1} if first_player == "random" else {first_player})


def test_without_a_seed_games_differ() -> None:
    circles = set()
    for _ in range(3):
        env = patchwork_v0.env()
        env.reset()
        circles.add(env.unwrapped.game.circle)
    assert len(circles) == 3


def test_reset_options() -> None:
    env = patchwork_v0.env(first_player="random", special_patches="2014")
    starters = set()
    for seed in range(10):
        env.reset(seed=seed, options={"circle": CIRCLE})
        starters.add(env.agent_selection)
        assert env.unwrapped.game.circle == tuple(CIRCLE)
        assert env.unwrapped.game.special_patches == "2014"
        env.reset(seed=seed, options={"circle": np.array(CIRCLE), "first_player": 1})
        assert env.unwrapped.game == Game(circle=CIRCLE, first_player=1, special_patches="2014")
        env.reset(seed=seed, options={"first_player": 0, "circle": None})
        assert env.agent_selection == "player_0"
    assert starters == set(AGENTS)
    env.reset(options={"first_player": 1})
    env.reset(seed=3, options={})
    expected = env.unwrapped.game
    env.reset(seed=3)
    assert env.unwrapped.game == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"options": {"cirle": CIRCLE}},
            "unknown reset option 'cirle'; did you mean 'circle'",
        ),
        ({"options": {"circle": CIRCLE[:-1]}}, "the circle has 32 patches"),
        ({"options": {"circle": [*CIRCLE[1:], 32]}}, "must end in patch 0, the 1x2 patch"),
        ({"options": {"circle": [1, 1, *CIRCLE[2:]]}}, "repeats patches"),
        ({"options": {"first_player": "player_1"}}, "'player_1'; allowed are 'random'"),
        ({"options": {"first_player": 2}}, "first_player is 2"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": 0.5}, "seed must be an integer"),
        ({"seed": 2, "options": {"first_player": 2}}, "first_player is 2"),
    ],
)
@pytest.mark.parametrize("make", MAKERS)
def test_a_wrong_reset_changes_nothing(
    make: Callable[..., Env], arguments: dict[str, Any], message: str
) -> None:
    env, twin = make(), make()
    for one in (env, twin):
        one.reset(seed=1)
        one.step(0)
    with pytest.raises(ValueError, match=message):
        env.reset(**arguments)
    assert everything(env) == everything(twin)
    env.reset()
    twin.reset()
    assert everything(env) == everything(twin)


# --- copies -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("moves", [0, 7, 40, 10**6])
def test_copies_go_on_like_the_original(
    make: Callable[..., Env], duplicate: Callable[[Env], Env], moves: int
) -> None:
    env = make(first_player="random", render_mode="ansi")
    env.reset(seed=12)
    for count, _ in enumerate(play(env, 12), 1):
        if count == moves or len(env.agents) == 1:
            break
    twin = duplicate(env)
    before = everything(twin)
    for _ in range(3):
        for one, other in zip(play(env, 3), play(twin, 3), strict=True):
            assert one == other
            assert env.unwrapped.game == twin.unwrapped.game
            if env.agents:
                assert everything(env) == everything(twin)
                assert env.render() == twin.render()
        env.reset()
        twin.reset()
        assert everything(env) == everything(twin)
    third = duplicate(twin)
    list(play(third, 0))
    assert everything(env) == everything(twin) != before


def test_the_game_is_taken_and_given_as_a_copy() -> None:
    env = patchwork_v0.env()
    env.reset(seed=1)
    list(zip(range(9), play(env, 1), strict=False))
    game = env.unwrapped.game
    assert game.history == env.unwrapped.game.history != ()
    shown = everything(env)
    game.play(game.legal_actions()[0])
    assert everything(env) == shown
    env.unwrapped.game = game
    assert env.unwrapped.game == game
    assert env.agent_selection == AGENTS[game.current_player]
    game.play(game.legal_actions()[-1])
    assert env.unwrapped.game != game


def test_going_back_to_an_earlier_game() -> None:
    """Also after the end, and after an illegal action."""
    env = patchwork_v0.env()
    env.reset(seed=1)
    list(zip(range(20), play(env, 1), strict=False))
    saved, shown = env.unwrapped.game, everything(env)
    list(play(env, 2))
    assert env.agents == []
    env.unwrapped.game = saved
    assert everything(env) == shown
    env.step(illegal_action(env))
    EnvLogger.flush()
    env.unwrapped.game = saved
    assert everything(env) == shown
    first = list(play(env, 5))
    env.unwrapped.game = saved
    assert list(play(env, 5)) == first


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


def test_setting_a_game_that_is_over() -> None:
    game = Game(seed=4)
    while not game.is_over:
        game.play(game.legal_actions()[-1])
    env = patchwork_v0.env()
    env.reset(seed=1)
    env.unwrapped.game = game
    assert list(play(env, 0)) == [None, None]
    env.unwrapped.game = game
    for agent in env.agent_iter():
        assert env.last()[1:4] == (1 if agent == AGENTS[game.winner()] else -1, True, False)
        env.step(None)


@pytest.mark.parametrize("value", [None, 5, Game(seed=1).to_bytes(), Game(seed=1).state])
def test_a_game_must_be_a_game(value: Any) -> None:
    env = patchwork_v0.raw_env()
    env.reset(seed=1)
    before = everything(env)
    with pytest.raises(TypeError, match=f"not {type(value).__name__}"):
        env.game = value
    assert everything(env) == before


# --- pictures ---------------------------------------------------------------------------------------------


def test_render_modes_show_the_game() -> None:
    text, pixels, nothing = (patchwork_v0.env(render_mode=mode) for mode in ("ansi", "rgb_array", None))
    for env in (text, pixels, nothing):
        env.reset(seed=3)
    assert text.render() == str(text.unwrapped.game)
    first = pixels.render()
    assert first.dtype == np.uint8
    assert first.shape[2] == 3
    pixels.step(0)
    assert (pixels.render() != first).any()
    with pytest.warns(UserWarning, match="without a render_mode"):
        assert nothing.render() is None


def test_the_final_position_can_be_seen() -> None:
    env = patchwork_v0.env(render_mode="ansi")
    env.reset(seed=3)
    list(play(env, 3))
    assert "wins" in env.render()


def test_a_window_shows_every_move_and_closes(monkeypatch: pytest.MonkeyPatch) -> None:
    from patchwork_env.patchwork import render

    shown: list[np.ndarray] = []
    monkeypatch.setattr(render.Window, "show", lambda self, frame: shown.append(frame))
    env = patchwork_v0.env(render_mode="human")
    env.reset(seed=3)
    env.step(0)
    env.step(0)
    assert env.render() is None
    assert len(shown) == 4
    assert (shown[0] != shown[1]).any()
    assert (shown[2] == shown[3]).all()
    twin = copy.deepcopy(env)
    env.close()
    env.close()
    twin.step(0)
    assert len(shown) == 5
    pickle.dumps(twin)

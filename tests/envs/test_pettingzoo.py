"""PettingZoo environments of every game: the interface, and that they play the game of the engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box
from pettingzoo.utils.env_logger import EnvLogger
from pettingzoo.utils.wrappers import AssertOutOfBoundsWrapper, OrderEnforcingWrapper, TerminateIllegalWrapper

from patchwork_env.envs.pettingzoo import GameAECEnv, GameParallelEnv
from patchwork_env.errors import IllegalActionError
from tests.envs.cases import CASES, PATCHWORK, cases, choose, flat, with_others

simultaneous = pytest.mark.parametrize(
    "case", [case for case in CASES if case.rules.is_simultaneous], ids=repr
)


def raw(case, **options):
    return GameAECEnv(case.rules, **{**case.options, **options})


def wrapped(case, **options):
    return GameAECEnv.wrapped(case.rules, **{**case.options, **options})


def play_on(env, seed):
    """Play random legal actions to the end; yield each action after it."""
    rng = np.random.default_rng(seed)
    while env.agents:
        seen, _, terminated, truncated, _ = env.last()
        action = None if terminated or truncated else choose(seen["action_mask"], rng)
        env.step(action)
        yield action


@cases
def test_it_follows_the_game(case):
    env = wrapped(case)
    mask_space = env.observation_space("player_0")["action_mask"]
    assert mask_space == Box(0, 1, (case.rules.num_actions,), np.int8)
    env.reset(seed=4)
    game = env.unwrapped.game
    env.unwrapped.game.play(game.legal_actions()[0])  # in another copy
    assert game == case.rules.game(4, **case.options)
    for action in play_on(env, 4):
        assert (env.state() == env.observe("player_0")["observation"]).all()
        assert env.state() in env.unwrapped.state_space
        assert all(type(flag) is bool for flag in [*env.terminations.values(), *env.truncations.values()])
        if action is None:
            continue
        game.play(action)
        assert env.unwrapped.game == game
        for player, agent in enumerate(env.possible_agents):
            seen = env.observe(agent)
            mask = game.action_mask() if player == game.current_player else 0 * game.action_mask()
            assert (seen["action_mask"] == mask).all()
            assert (seen["observation"] == game.observation(player)).all()
            assert seen in env.observation_space(agent)
        if not game.is_over:
            assert env.agent_selection == f"player_{game.current_player}"
    assert game.is_over


@pytest.mark.parametrize("rewards", ["outcome", "margin", "score"])
@with_others
def test_rewards(case, rewards):
    env = raw(case, rewards=rewards)
    for seed in range(2):
        env.reset(seed=seed)
        beginning = np.array(env.game.scores())
        returns = dict.fromkeys(env.possible_agents, 0.0)
        for agent in env.agent_iter():
            seen, reward, terminated, truncated, _ = env.last()
            returns[agent] += reward
            rng = np.random.default_rng(seed)
            env.step(None if terminated or truncated else choose(seen["action_mask"], rng))
        game, scores, values = env.game, np.array(env.game.scores()), list(returns.values())
        if rewards == "score":
            assert values == (scores - beginning).tolist()
        elif rewards == "margin":
            best_other = [max(np.delete(scores, player)) for player in range(len(scores))]
            assert values == ((scores - best_other) / 100).tolist()
        else:
            assert abs(sum(values)) < 1e-9
            winners = game.winners() if case.rules is not PATCHWORK else (game.winner(),)
            assert [value == max(values) for value in values] == [p in winners for p in range(len(values))]


@cases
def test_seeds_and_reset_options(case):
    env = raw(case)

    def games(seed):
        found = []
        for given in (seed, None, None, None, None):
            env.reset(seed=given)
            found.append(env.game.to_bytes())
        return found

    assert games(5) == games(5) == games(np.int64(5))
    assert games(5) != games(6) or case.options.get("order") == "free"
    env.reset(seed=1, options=case.given)
    one = env.game
    env.reset(seed=2, options=dict.fromkeys(case.rules.reset_options))
    other = env.game
    env.reset(seed=2)
    assert other == env.game != one
    env.reset(seed=1, options=case.given)
    assert env.game == one


def test_the_raw_environment_asks_for_a_reset():
    env = raw(CASES[0], render_mode="ansi")
    calls: list[Any] = [lambda: env.step(0), lambda: env.observe("player_0"), env.state, env.render]
    for call in (*calls, lambda: env.game):
        with pytest.raises(RuntimeError, match=r"call reset\(\)"):
            call()
    env.reset(seed=0)
    with pytest.raises(ValueError, match="no agent 'player_9'; there are player_0"):
        env.observe("player_9")
    *_, _ = play_on(env, 0)
    with pytest.raises(RuntimeError, match=r"call reset\(\)"):
        env.step(None)


@simultaneous
def test_by_turns_and_at_once_are_the_same_game(case):
    turns, parallel = raw(case), GameParallelEnv(case.rules, **case.options)
    turns.reset(seed=8)
    observations, _ = parallel.reset(seed=8)
    rng = np.random.default_rng(8)
    while parallel.agents:
        actions = {agent: choose(seen["action_mask"], rng) for agent, seen in observations.items()}
        gained = dict.fromkeys(parallel.agents, 0.0)
        for agent in parallel.agents:
            seen = turns.observe(agent)
            assert all((seen[part] == observations[agent][part]).all() for part in seen)
            turns.step(actions[agent])
            gained = {one: gained[one] + turns.rewards[one] for one in gained}
        observations, rewards, terminations, truncations, _ = parallel.step(actions)
        assert parallel.game == turns.game
        assert (terminations, truncations) == (turns.terminations, turns.truncations)
        assert rewards == gained
    with pytest.raises(RuntimeError, match=r"call reset\(\)"):
        parallel.step({})


# --- calls, in PettingZoo's own three wrappers and in those here --------------------------------------------

OF_A_GAME = ("agents", "agent_selection", "rewards", "terminations", "truncations", "infos", "num_agents")


@pytest.fixture(autouse=True)
def no_printing(monkeypatch):
    monkeypatch.setattr(EnvLogger, "mqueue", [])
    monkeypatch.setattr(EnvLogger, "_output", False)


def both(case):
    """The same environment in the wrappers of the package and in PettingZoo's."""
    raw = GameAECEnv(case.rules, **case.options)
    theirs = OrderEnforcingWrapper(AssertOutOfBoundsWrapper(TerminateIllegalWrapper(raw, illegal_reward=-1)))
    return GameAECEnv.wrapped(case.rules, **case.options), theirs


def outcome(env, call):
    """The result or error of a call, and its warnings."""
    before = len(EnvLogger.mqueue)
    try:
        result, error, words = call(env), None, ""
    except Exception as raised:
        result, error, words = None, type(raised), str(raised)
    return result, error, words, EnvLogger.mqueue[before:]


def assert_alike(own, theirs, call):
    """Require the same result or error from both, and the same state after it."""
    (seen, error, words, warnings), (their_seen, their_error, their_words, their_warnings) = (
        outcome(env, call) for env in (own, theirs)
    )
    assert type(seen) is type(their_seen)
    np.testing.assert_equal(seen, their_seen)
    assert warnings == their_warnings
    assert (error is None) == (their_error is None), (words, their_words)
    if error is not None and their_error is not None:
        assert issubclass(error, (their_error, IllegalActionError))
        assert their_words in words or error is not their_error
    if own._has_reset:
        assert_same_view(own, theirs)


def assert_same_view(own, theirs):
    for name in (*OF_A_GAME, "_cumulative_rewards"):
        assert getattr(own, name) == getattr(theirs, name), name
    for agent in own.possible_agents:
        assert (flat(own.observe(agent)) == flat(theirs.observe(agent))).all()
    if own.agents:
        mine, their = own.last(), theirs.last()
        assert mine[1:] == their[1:]
        assert (flat(mine[0]) == flat(their[0])).all()
        assert own.last(observe=False)[0] is theirs.last(False)[0] is None


def attribute(name):
    return lambda env: getattr(env, name)


def stepping(action):
    return lambda env: env.step(action)


def anything():
    """Yield calls that do not depend on the game."""
    yield from map(attribute, (*OF_A_GAME, "_game", "_cumulative", "nothing", "max_num_agents"))
    yield from map(stepping, (-1, 10**9, np.int64(10**9), 0.5, "advance", np.zeros(2, np.int64), None))
    yield lambda env: env.observe("player_0")
    yield lambda env: env.observe("player_9")
    yield lambda env: env.last(False)
    yield lambda env: env.state()
    yield lambda env: [*zip(range(1), env.agent_iter(), strict=False)]
    yield lambda env: [*zip(range(2), env.agent_iter(), strict=False)]
    yield str
    yield lambda env: (env.observation_space("player_0"), env.action_space("player_0"))


@cases
def test_before_a_game(case):
    own, theirs = both(case)
    for call in (*anything(), lambda env: env.last(), lambda env: env.step(0), lambda env: env.render()):
        assert_alike(own, theirs, call)


@cases
def test_a_game_to_its_end_and_beyond(case):
    own, theirs = both(case)
    rng, moves = np.random.default_rng(3), 0
    assert_alike(own, theirs, lambda env: env.reset(seed=3))
    while own.agents and moves < 25:
        over = own.terminations[own.agent_selection]
        action = None if over else choose(own.last()[0]["action_mask"], rng)
        if moves == 4 or over:
            for call in (*anything(), stepping(0)) if over else anything():
                assert_alike(own, theirs, call)
        if own.agents:
            integer = (int, np.int64, np.int16)[moves % 3]
            assert_alike(own, theirs, stepping(None if action is None else integer(action)))
        moves += 1


@cases
def test_an_illegal_action_ends_the_game(case):
    own, theirs = both(case)
    rng = np.random.default_rng(5)
    for before in (0, 3):
        assert_alike(own, theirs, lambda env: env.reset(seed=5))
        for _ in range(before):
            assert_alike(own, theirs, stepping(choose(own.last()[0]["action_mask"], rng)))
        assert_alike(own, theirs, stepping(choose(own.last()[0]["action_mask"], rng, illegal=1.0)))
        assert all(own.terminations.values())
        assert_alike(own, theirs, stepping(0))
        while own.agents:
            assert_alike(own, theirs, stepping(None))
        assert_alike(own, theirs, stepping(None))

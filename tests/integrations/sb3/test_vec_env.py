"""The batch as a VecEnv of Stable-Baselines3: the games of single ``Game`` objects, SB3's conventions."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from gymnasium import Wrapper
from gymnasium.error import ResetNeeded
from sb3_contrib import QRDQN, TRPO, MaskablePPO
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3 import A2C, DQN, PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import VecMonitor

from patchwork_env.agents import GreedyAgent, RandomAgent
from patchwork_env.errors import IllegalActionError, OpponentError, UnknownOptionError
from patchwork_env.games import register
from patchwork_env.integrations.sb3.policy import PatchworkPolicy
from patchwork_env.integrations.sb3.vec_env import SelfPlayVecEnv
from patchwork_env.learning.config import Reward

register("row", "tests.toy")

PATCHWORK = "patchwork_env:Patchwork-v0"
REWARD = Reward(outcome=0.5, margin=2.0, margin_scale=20.0, margin_cut=1.0)


def random_actions(env, rng):
    return np.array([rng.choice(np.flatnonzero(mask)) for mask in env.action_masks()])


def play(env, steps, seed=0):
    """Play at random; yield the results of each step."""
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        yield env.step(random_actions(env, rng))


# --- against single games -----------------------------------------------------------------------------------


def advance(game):
    return int(game.legal_actions()[0])


class SingleGame:
    """One game of the batch, played with ``Game`` by the environment's documented behaviour."""

    def __init__(self, game, seat, opponent, begin, rewards):
        self.game, self.seat, self.opponent, self.begin, self.rewards = game, seat, opponent, begin, rewards
        self.turns = 0

    def step(self, action):
        """Play an action; return the reward, and the last position if the game ended, else None."""
        before, last = self.scores()[0], None
        self.play(action)
        while True:
            if self.game.is_over:
                last, reward = self.game, self.reward(before)
                self.game = self.begin()
            legal = self.game.legal_actions()
            if len(legal) == 1:
                self.play(legal[0])
            elif self.game.current_player != self.seat:
                self.play(self.opponent(self.game))
            else:
                return (self.reward(before) if last is None else reward), last

    def play(self, action):
        self.game.play(action)
        self.turns += 1

    def scores(self):
        """Return the scores, the learner's first."""
        scores = self.game.scores()
        return [*scores[self.seat :], *scores[: self.seat]]

    def outcome(self, game):
        share = (self.seat in game.winners()) / len(game.winners())
        return (game.num_players * share - 1) / (game.num_players - 1)

    def reward(self, before):
        own, *others = self.scores()
        if self.rewards == "score":
            return own - before
        if not self.game.is_over:
            return 0
        outcome, margin = self.outcome(self.game), own - max(others)
        weighed = 0.5 * outcome + 2.0 * np.clip(margin / 20, -1, 1)
        return {"outcome": outcome, "margin": margin / 100}.get(self.rewards, weighed)


KINDS = {
    "of 2014": {"special_patches": "2014"},
    "margins": {"rewards": "margin"},
    "scores": {"rewards": "score"},
    "alone": {"game": "nmbr9", "reward_scale": 0.5},
    "three, weighed": {"game": "nmbr9", "players": 3, "rewards": REWARD},
}


@pytest.mark.parametrize("options", KINDS.values(), ids=KINDS)
def test_it_plays_the_games_that_single_ones_are(options):
    is_alone = "reward_scale" in options
    env = SelfPlayVecEnv(6, None if is_alone else ["greedy", advance], seed=3, **options)
    assert env.turns == 0
    env.reset()
    streams, rules = env.save()["streams"], env.rules
    variant = {name: value for name, value in options.items() if name in rules.options}
    set_up = rules.set_up({**rules.options, **variant}, {})

    def begin(i):
        states = rules.empty_states(1)
        rules.kernels.deal(states, 0, streams[i : i + 1], set_up.initial_state, set_up.flags)
        return rules.game.from_state(states)

    rewards = options.get("rewards", "score" if is_alone else "outcome")
    players, numbers = [GreedyAgent().act, advance], env.opponent_numbers
    singles = [
        SingleGame(game, seat, players[numbers[i]], partial(begin, i), rewards)
        for i, (game, seat) in enumerate(zip(env.games(), env.get_attr("seat"), strict=True))
    ]
    assert is_alone or numbers.tolist() == [i // env.num_players % 2 for i in range(6)]
    rng, turns, totals, lengths, results = np.random.default_rng(0), env.turns, [0.0] * 6, [0] * 6, []
    for _ in range(60):
        actions = random_actions(env, rng)
        observations, gained, ends, infos = env.step(actions)
        for i, single in enumerate(singles):
            reward, last = single.step(int(actions[i]))
            assert env.games()[i] == single.game
            assert single.game.current_player == single.seat
            assert (observations[i] == single.game.observation(single.seat)).all()
            assert (env.action_masks()[i] == single.game.action_mask()).all()
            assert gained[i] == pytest.approx(reward * options.get("reward_scale", 1))
            assert ends[i] == (last is not None)
            totals[i], lengths[i] = totals[i] + gained[i], lengths[i] + 1
            if last is None:
                assert infos[i] == {}
                continue
            info, scores = infos[i], last.scores()
            assert (info["terminal_observation"] == last.observation(single.seat)).all()
            assert info["episode"]["r"] == pytest.approx(totals[i])
            assert info["episode"]["l"] == lengths[i]
            assert info["scores"].tolist() == [*scores[single.seat :], *scores[: single.seat]]
            assert info["game"] == last
            totals[i], lengths[i] = 0.0, 0
            assert ("opponent" in info) == ("is_success" in info) == (not is_alone)
            if not is_alone:
                assert info["opponent"] == numbers[i]
                assert info["is_success"] == (single.outcome(last) > 0)
            results.append((single.seat, info.get("is_success")))
    assert env.turns - turns == sum(single.turns for single in singles)
    assert len(results) >= 12
    assert {seat for seat, _ in results} == set(range(env.num_players))
    assert {won for _, won in results} == ({None} if is_alone else {False, True})


def test_each_game_has_its_opponent_to_the_end():
    first, second = RandomAgent(), RandomAgent()
    shared = SelfPlayVecEnv(8, [first, second], opponent_shares=[3, 1])
    assert shared.opponent_numbers.tolist() == [0] * 6 + [1] * 2
    env, changed = SelfPlayVecEnv(4, [first], seed=1), set()
    env.reset()
    env.set_opponents([second])
    assert env.opponents == [second, first]
    while len(changed) < 4:
        assert env.opponent_numbers.tolist() == [int(game not in changed) for game in range(4)]
        ((_, _, _, infos),) = play(env, 1)
        for game in [game for game, info in enumerate(infos) if info]:
            assert infos[game]["opponent"] == int(game not in changed)
            changed.add(game)
    env.set_opponents([first, "greedy"], numbers=np.zeros(4, int), at_once=True)
    assert (env.opponents[0], env.opponent_numbers.tolist()) == (first, [0] * 4)
    env.set_opponents(["greedy", first], [3, 1], at_once=True)
    env.opponent_numbers[:] = 7  # a copy
    assert (env.opponents[1], env.opponent_numbers.tolist()) == (first, [0, 0, 0, 1])
    env.set_opponents("greedy", at_once=True)
    assert [opponent.name for opponent in env.opponents] == ["greedy"]


# --- the conventions of Stable-Baselines3 -------------------------------------------------------------------


def test_methods_and_attributes():
    with pytest.warns(UserWarning, match="already wrapped with a `Monitor`"):
        env = VecMonitor(SelfPlayVecEnv(3, seed=1))
    env.reset()
    assert is_masking_supported(env)
    masks = get_action_masks(env)
    assert (masks == env.unwrapped.action_masks()).all()
    assert (env.env_method("action_masks", indices=[2])[0] == masks[2]).all()
    assert env.get_attr("seat", indices=1) == [1]
    assert env.get_attr("render_mode") == [None] * 3
    assert [env.env_is_wrapped(kind) for kind in (Monitor, Wrapper)] == [[True] * 3, [False] * 3]
    for wrong, told in (
        (lambda: env.env_method("render"), "no method 'render'"),
        (lambda: env.get_attr("game"), "no attribute 'game'"),
        (lambda: env.set_attr("seat", 1), "'seat' that could be set"),
    ):
        with pytest.raises(AttributeError, match=told):
            wrong()


def test_arrays_of_a_step_stay_as_they_are():
    env = SelfPlayVecEnv(4, seed=1)
    env.reset()
    returned = [(array, array.copy()) for step in play(env, 40) for array in step[:3]]
    assert all((array == copy).all() for array, copy in returned)
    assert [array.dtype for array, _ in returned[-2:]] == [np.float32, np.bool_]


def test_seeds():
    first, second = (SelfPlayVecEnv(3, seed=4) for _ in range(2))
    beginning = first.reset()
    assert (beginning == second.reset()).all()
    assert all((a[0] == b[0]).all() for a, b in zip(play(first, 30), play(second, 30), strict=True))
    assert (first.seed(4), second.seed(5)) == ([4, 5, 6], [5, 6, 7])
    assert (beginning == first.reset()).all(), "as by the constructor"
    other = second.reset()
    assert (other[0] == SelfPlayVecEnv(1, seed=5).reset()[0]).all()
    assert all((one != two).any() for one in other for two in beginning), "no seeds share a deal"
    assert (other != second.reset()).any(axis=1).all(), "a seed is for one reset"


@pytest.mark.parametrize("options", [{"opponent": "greedy"}, {"game": "nmbr9"}])
def test_saved_games_go_on_alike(options):
    env, other = (SelfPlayVecEnv(5, seed=seed, **options) for seed in (1, 2))
    env.reset()
    list(play(env, 25))
    saved = env.save()
    first = list(play(env, 40, seed=8))
    assert (other.restore(saved) == env.restore(saved)).all()
    again = list(play(other, 40, seed=8))
    for one, two in zip(first, again, strict=True):
        assert all((a == b).all() for a, b in zip(one[:3], two[:3], strict=True))
        episodes = [[info.get("episode", {}) for info in infos] for *_, infos in (one, two)]
        assert all(a.get(name) == b.get(name) for a, b in zip(*episodes, strict=True) for name in "rl")


def test_only_decisions_of_the_learner_are_restored():
    env, of_three = SelfPlayVecEnv(4, "greedy", seed=1), SelfPlayVecEnv(4, game="nmbr9", players=3)
    of_three.reset()
    with pytest.raises(ValueError, match=r"the saved games have \[3\] players, not 2"):
        SelfPlayVecEnv(4, game="nmbr9", players=2).restore(of_three.save())
    env.reset()
    before, saved = env.games(), env.save()
    states = saved["states"].view(env.states.dtype)
    states[[0, 1]] = states[[1, 0]]
    with pytest.raises(ValueError, match=r"in the saved game . it is not the learner's turn"):
        env.restore(saved)
    assert env.games() == before


def test_games_without_a_decision_of_the_learner_are_refused_unless_others_follow():
    env = SelfPlayVecEnv(2, game="row", blocked=10, opponent=[advance])  # the second of two moves is forced
    with pytest.raises(OpponentError, match="before the learner's first turn"):
        env.reset()
    env = SelfPlayVecEnv(8, game="row", blocked=9, opponent=[lambda game: game.legal_actions()[-1]], seed=1)
    env.reset()
    assert {info["episode"]["l"] for *_, infos in play(env, 20) for info in infos if info} == {1}


# --- errors -------------------------------------------------------------------------------------------------


def test_a_reset_is_needed_after_an_opponent_failed():
    fails = [False]

    def last(game):
        return -3 if fails[0] else int(game.legal_actions()[-1])

    env = SelfPlayVecEnv(4, [last], seed=1)
    with pytest.raises(ResetNeeded, match="no game is on"):
        env.step(np.zeros(4, int))
    model = MaskablePPO("MlpPolicy", env, n_steps=8, batch_size=8, policy_kwargs={"net_arch": [4]})
    model.learn(32)
    saved = env.save()
    fails[0] = True
    with pytest.raises(OpponentError):
        model.learn(32, reset_num_timesteps=False)
    fails[0] = False
    for call in (partial(model.learn, 32, reset_num_timesteps=False), env.games, env.save):
        with pytest.raises(ResetNeeded, match=r"model\.set_env\(env\)"):
            call()
    model.set_env(env)
    model.learn(32, reset_num_timesteps=False)
    fails[0] = True
    with pytest.raises(OpponentError):
        model.learn(32)
    assert (env.restore(saved) == np.array([game.observation() for game in env.games()])).all()


def test_options_of_a_reset():
    env = SelfPlayVecEnv(3, seed=1)
    env.set_options([{"first_player": 1}, {}, {}])
    with pytest.raises(ValueError, match=r"'first_player': 1.*they take none"):
        env.reset()


def test_the_choice_of_the_only_digit_left_is_no_decision(monkeypatch):
    clock = SimpleNamespace(time=iter((50, 52.3456789)).__next__)
    monkeypatch.setattr("patchwork_env.integrations.sb3.vec_env.time", clock)
    env = SelfPlayVecEnv(1, game="nmbr9", order="free", max_digit=0, copies=3)
    env.reset()
    *before, (_, _, ends, infos) = play(env, 3)
    assert [*(step[2].all() for step in before), ends.all()] == [False, False, True]
    assert infos[0]["episode"] == {"r": 0, "l": 3, "t": 2.345679}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"opponent": ["gredy"]}, "gredy"),
        ({"num_envs": 0}, "num_envs is 0; allowed are 1 to"),
        ({"reward_scale": 0}, "reward_scale is 0"),
        ({"game": "nmbr9", "players": 2, "opponent": "ppo-quick"}, "plays patchwork, not nmbr9"),
        ({"game": "nmbr9", "opponent": "greedy"}, "opponent is 'greedy'; a game for one player has none"),
        ({"game": "nmbr9", "opponent_shares": [1, 2, 3]}, r"opponent_shares is \[1, 2, 3\]; .* no opponents"),
        ({"game": "nmbr9", "rewards": REWARD}, "which need 2 players"),
        ({"opponent": torch.nn.Linear(1, 1)}, "is not an agent; .*; ObservingAgent makes"),
        ({"playesr": 2}, "SelfPlayVecEnv got an unexpected keyword argument 'playesr'"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises((ValueError, UnknownOptionError), match=message):
        SelfPlayVecEnv(**{"num_envs": 2, **options})


BUFFER, ROLLOUT = {"buffer_size": 8}, {"n_steps": 4, "batch_size": 12}


@pytest.mark.parametrize(
    ("algorithm", "options"), [(A2C, {}), (DQN, BUFFER), (PPO, ROLLOUT), (QRDQN, BUFFER), (TRPO, ROLLOUT)]
)
def test_algorithms_without_masks_are_told_of_maskable_ppo(algorithm, options):
    env, sizes = SelfPlayVecEnv(3, seed=1), {"net_arch": [2]}
    with pytest.raises(IllegalActionError, match=r"masks.*MaskablePPO"):
        algorithm("MlpPolicy", env, seed=1, policy_kwargs=sizes, **options).learn(24)


def test_the_policy_is_for_maskable_ppo_and_names_what_is_near_a_misspelt_keyword():
    with pytest.raises(UnknownOptionError, match=r"masks.*MaskablePPO"):
        PPO(PatchworkPolicy, SelfPlayVecEnv(3), **ROLLOUT)
    with pytest.raises(UnknownOptionError, match="'thread'; did you mean 'threads'"):
        MaskablePPO(PatchworkPolicy, SelfPlayVecEnv(2), policy_kwargs={"thread": 2})


def test_env_method_changes_the_opponent_through_the_wrappers_of_make_vec_env():
    env = make_vec_env(PATCHWORK, 2, env_kwargs={"opponent": "random"})
    env.env_method("set_opponent", "greedy", indices=1)
    assert [one.unwrapped.opponent.name for one in env.envs] == ["random", "greedy"]
    env.set_attr("opponent", "greedy")
    assert [one.unwrapped.opponent.name for one in env.envs] == ["random", "greedy"]

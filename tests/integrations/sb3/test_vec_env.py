"""The batch as a VecEnv of Stable-Baselines3: the games of single ``Game`` objects, SB3's conventions."""

from __future__ import annotations

import contextlib

import gymnasium
import numpy as np
import pytest
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.evaluation import evaluate_policy
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import VecCheckNan, VecEnv, VecMonitor

from patchwork_env.agents import Agent, GreedyAgent, RandomAgent
from patchwork_env.errors import OpponentError, UnknownOptionError
from patchwork_env.integrations.sb3.vec_env import SelfPlayVecEnv
from patchwork_env.learning.config import Reward
from patchwork_env.patchwork import Game, IllegalActionError
from patchwork_env.patchwork.engine import deal
from patchwork_env.patchwork.rules import RULES
from patchwork_env.patchwork.state import empty_states

REWARD = Reward(outcome=0.5, margin=2.0, margin_scale=20.0)


class Recorder(Agent):
    """Plays the last legal action and keeps the games it saw."""

    name = "recorder"

    def __init__(self):
        self.seen = []

    def act(self, game):
        self.seen.append(game.clone())
        return int(game.legal_actions()[-1])


def random_actions(env, rng):
    return np.array([rng.choice(np.flatnonzero(mask)) for mask in env.action_masks()])


def play(env, steps, seed=0):
    """Random play; yields what each step returned."""
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        yield env.step(random_actions(env, rng))


# --- against single games -----------------------------------------------------------------------------------


def advance(game):
    return int(game.legal_actions()[0])


class SingleGame:
    """One game of the batch, played by the rules of ``Game`` and what the environment says of itself."""

    def __init__(self, game, seat, opponent, stream, special_patches):
        self.game, self.seat, self.opponent, self.stream = game, seat, opponent, stream
        options = {"special_patches": special_patches, "first_player": "random"}
        self.set_up = RULES.set_up(options, {})
        self.decisions = self.turns = 0

    def step(self, action):
        """The end of a game that the step brought, as (last position, reward, decisions), or None."""
        self.play(action)
        self.decisions += 1
        end = None
        while True:
            if self.game.is_over:
                end = (self.game, self.reward(), self.decisions)
                self.begin()
            legal = self.game.legal_actions()
            if len(legal) == 1:
                self.play(legal[0])
            elif self.game.current_player != self.seat:
                self.play(self.opponent(self.game))
            else:
                return end

    def play(self, action):
        self.game.play(action)
        self.turns += 1

    def reward(self):
        own, other = self.game.scores()[self.seat], self.game.scores()[1 - self.seat]
        outcome = 0.5 if self.game.winner() == self.seat else -0.5
        return outcome + 2.0 * np.clip((own - other) / 20, -1, 1)

    def begin(self):
        states = empty_states(1)
        beginning, chance, _ = self.set_up
        deal(states, 0, self.stream, beginning, chance)
        self.game, self.decisions = Game.from_state(states), 0


@pytest.mark.parametrize("special_patches", ["revised", "2014"])
def test_it_plays_the_games_that_single_ones_are(special_patches):
    opponents = ["greedy", advance]
    env = SelfPlayVecEnv(6, opponents, seed=3, rewards=REWARD, special_patches=special_patches)
    env.reset()
    streams, players = env.save()["streams"], [GreedyAgent().act, advance]
    singles = [
        SingleGame(game, seat, players[i // 2 % 2], streams[i : i + 1], special_patches)
        for i, (game, seat) in enumerate(zip(env.games(), env.get_attr("seat"), strict=True))
    ]
    rng, results, before = np.random.default_rng(0), [], env.turns
    for _ in range(70):
        actions = random_actions(env, rng)
        observations, rewards, ends, infos = env.step(actions)
        for i, single in enumerate(singles):
            end = single.step(int(actions[i]))
            assert env.games()[i] == single.game
            assert single.game.current_player == single.seat
            assert (observations[i] == single.game.observation(single.seat)).all()
            assert (env.action_masks()[i] == single.game.action_mask()).all()
            assert ends[i] == (end is not None)
            if end is None:
                assert (rewards[i], infos[i]) == (0, {})
                continue
            last, reward, decisions = end
            assert rewards[i] == pytest.approx(reward)
            assert (infos[i]["terminal_observation"] == last.observation(single.seat)).all()
            assert infos[i]["episode"]["r"] == pytest.approx(reward)
            assert infos[i]["episode"]["l"] == decisions
            assert infos[i]["is_success"] == (last.winner() == single.seat)
            assert infos[i]["scores"].tolist() == [last.scores()[single.seat], last.scores()[1 - single.seat]]
            assert (infos[i]["game"], infos[i]["opponent"]) == (last, i // 2 % 2)
            results.append((single.seat, infos[i]["is_success"]))
    assert env.turns - before == sum(single.turns for single in singles)
    assert set(results) == {(0, False), (0, True), (1, False), (1, True)}
    assert len(results) >= 12


def test_opponents_have_their_games():
    """Two neighbors have one opponent, which has one seat and the other."""
    recorders = [Recorder(), Recorder()]
    env = SelfPlayVecEnv(8, recorders, seed=1)
    env.reset()
    assert env.opponent_numbers.tolist() == [0, 0, 1, 1] * 2
    steps = list(play(env, 40))
    infos = [info for _, _, _, infos in steps for info in infos if info]
    assert {info["opponent"] for info in infos} == {0, 1}
    for recorder in recorders:
        assert {game.current_player for game in recorder.seen} == {0, 1}
        assert all(len(game.legal_actions()) > 1 for game in recorder.seen)
    env.set_opponents(recorders, np.ones(8, int), at_once=True)
    seen = len(recorders[0].seen)
    list(play(env, 5))
    assert len(recorders[0].seen) == seen
    shared = SelfPlayVecEnv(8, recorders, opponent_shares=[3, 1], seed=1)
    assert shared.opponent_numbers.tolist() == [0] * 6 + [1] * 2


def test_opponents_change_when_a_game_begins():
    first, second = Recorder(), Recorder()
    env = SelfPlayVecEnv(4, [first], seed=1)
    env.reset()
    env.set_opponents([second])
    assert env.opponents == [second, first]
    changed = set()
    while len(changed) < 4:
        assert env.opponent_numbers.tolist() == [int(game not in changed) for game in range(4)]
        ((_, _, _, infos),) = play(env, 1)
        for game, info in enumerate(infos):
            if info:
                assert info["opponent"] == int(game not in changed)
                changed.add(game)
    env.set_opponents([second])
    assert env.opponents == [second]
    assert env.opponent_numbers.tolist() == [0] * 4


# --- the conventions of Stable-Baselines3 -------------------------------------------------------------------


def test_spaces_are_those_of_the_gymnasium_environment():
    env, single = SelfPlayVecEnv(2), gymnasium.make("patchwork_env:Patchwork-v0")
    assert isinstance(env, VecEnv)
    assert env.observation_space == single.observation_space
    assert env.action_space == single.action_space
    observations = env.reset()
    assert observations.shape == (2, *env.observation_space.shape)
    assert all(observation in env.observation_space for observation in observations)


def test_arrays_of_a_step_stay_as_they_are():
    env = SelfPlayVecEnv(4, seed=1)
    env.reset()
    returned = [(array, array.copy()) for step in play(env, 40) for array in step[:3]]
    assert all((array == copy).all() for array, copy in returned)
    assert [array.dtype for array, _ in returned[-2:]] == [np.float32, np.bool_]


def test_wrappers_and_helpers():
    with pytest.warns(UserWarning, match="already wrapped with a `Monitor`"):
        env = VecMonitor(VecCheckNan(SelfPlayVecEnv(3, seed=1), raise_exception=True))
    env.reset()
    assert is_masking_supported(env)
    masks = get_action_masks(env)
    assert masks.shape == (3, 2026)
    assert (masks == env.unwrapped.action_masks()).all()
    assert (env.env_method("action_masks", indices=[2])[0] == masks[2]).all()
    assert (env.env_method("action_masks", indices=1)[0] == masks[1]).all()
    assert env.get_attr("seat", indices=1) == [1]
    assert env.get_attr("render_mode") == [None] * 3
    assert env.env_is_wrapped(Monitor) == [True] * 3
    assert not env.has_attr("game")
    with pytest.raises(AttributeError, match="no method 'render'"):
        env.env_method("render")
    with pytest.raises(AttributeError, match="'seat' that could be set"):
        env.set_attr("seat", 1)
    episodes = 0
    for _ in range(60):
        actions = env.unwrapped.action_masks().argmax(1)
        _, rewards, ends, infos = env.step(actions)
        for reward, ended, info in zip(rewards, ends, infos, strict=True):
            assert ("episode" in info) == ended
            if ended:
                episodes += 1
                assert info["episode"]["r"] == reward  # VecMonitor's own sum
    assert episodes > 3
    env.close()


def test_sb3_contrib_evaluates_on_it():
    env = SelfPlayVecEnv(2, seed=1)
    mean, _ = evaluate_policy(MaskablePPO("MlpPolicy", env, n_steps=2, batch_size=4), env, n_eval_episodes=4)
    assert -1 <= mean <= 1


def test_seeds():
    def play_on(env):
        return np.concatenate([step[0] for step in play(env, 30)])

    first, second = SelfPlayVecEnv(3, seed=4), SelfPlayVecEnv(3, seed=4)
    assert (first.reset() == second.reset()).all()
    assert (play_on(first) == play_on(second)).all()
    assert (first.reset() == second.reset()).all()
    third = SelfPlayVecEnv(3, seed=5)
    assert (third.reset() != SelfPlayVecEnv(3, seed=4).reset()).any()
    for env in (first, third):
        env.seed(9)
    assert (first.reset() == third.reset()).all()
    assert (play_on(first) == play_on(third)).all()
    assert (first.reset() != SelfPlayVecEnv(3, seed=4).reset()).any()


def test_the_number_of_games_does_not_matter():
    few, many = SelfPlayVecEnv(2, "greedy", seed=4), SelfPlayVecEnv(9, "greedy", seed=4)
    assert (few.reset() == many.reset()[:2]).all()
    for _ in range(50):
        actions = many.action_masks().argmax(1)
        results = few.step(actions[:2]), many.step(actions)
        for own, other in zip(results[0][:3], results[1][:3], strict=True):
            assert (own == other[:2]).all()


def test_saved_games_go_on_alike():
    env, other = SelfPlayVecEnv(5, "greedy", seed=1), SelfPlayVecEnv(5, "greedy", seed=2)
    env.reset()
    list(play(env, 25))
    saved = env.save()
    first = list(play(env, 40, seed=8))
    assert (other.restore(saved) == env.restore(saved)).all()
    again = list(play(other, 40, seed=8))
    for one, two in zip(first, again, strict=True):
        assert all((a == b).all() for a, b in zip(one[:3], two[:3], strict=True))
        assert [i.get("episode", {}).get("l") for i in one[3]] == [
            i.get("episode", {}).get("l") for i in two[3]
        ]
    with pytest.raises(ValueError, match="this environment needs"):
        SelfPlayVecEnv(4).restore(saved)


def test_only_decisions_of_the_learner_are_restored():
    env = SelfPlayVecEnv(4, "greedy", seed=1)
    env.reset()
    before, saved = env.games(), env.save()
    states = saved["states"].view(env.states.dtype)
    states[[0, 1]] = states[[1, 0]]
    with pytest.raises(ValueError, match=r"in the saved game . it is not the learner's turn"):
        env.restore(saved)
    saved["states"][:] = 255
    with pytest.raises(ValueError, match="reaches state 0 of 4"):
        env.restore(saved)
    assert env.games() == before


# --- mistakes -----------------------------------------------------------------------------------------------


def test_illegal_actions_change_nothing():
    env = SelfPlayVecEnv(3, "greedy", seed=1)
    env.reset()
    before, actions = env.games(), env.action_masks().argmax(1)
    for action in (2025, -1, 2026):
        actions[1] = action
        with pytest.raises(IllegalActionError, match=f"action {action} of game 1 is not legal"):
            env.step(actions)
        assert env.games() == before
    for actions in (np.zeros(2, int), np.zeros((3, 1), int), np.zeros(3)):
        with pytest.raises(ValueError, match="3 integers"):
            env.step(actions)


def test_options_of_a_reset():
    env = SelfPlayVecEnv(3, seed=1)
    env.set_options({"first_player": 1})
    with pytest.raises(ValueError, match=r"'first_player': 1.*they take none"):
        env.reset()


def test_illegal_actions_of_opponents():
    env = SelfPlayVecEnv(4, [lambda game: 2025], seed=1)
    with pytest.raises(OpponentError, match=r"opponent '<lambda>': action 2025 is not legal in game \d"):
        env.reset()


def test_an_opponent_that_fails_leaves_all_games_as_they_were():
    fails = [False]

    def last(game):
        return -3 if fails[0] else int(game.legal_actions()[-1])

    env, twin = (SelfPlayVecEnv(4, [last], seed=1) for _ in range(2))
    for one in (env, twin):
        one.reset()
    failures = 0
    for _ in range(40):
        actions, results = env.action_masks().argmax(axis=1), None
        fails[0] = True
        with contextlib.suppress(OpponentError):
            results = env.step(actions)
        fails[0] = False
        if results is None:
            failures += 1
            assert (env.action_masks() == twin.action_masks()).all()
            assert env.games() == twin.games()
            results = env.step(actions)
        for one, other in zip(results[:3], twin.step(actions)[:3], strict=True):
            assert (one == other).all()
    assert failures


def test_numbers_of_opponents_that_do_not_exist():
    env = SelfPlayVecEnv(2)
    for numbers in (np.array([0, 1]), np.array([-1, 0]), np.array([0])):
        with pytest.raises(ValueError, match="must be 2 integers from 0 to 0"):
            env.set_opponents([RandomAgent()], numbers)


# --- other games --------------------------------------------------------------------------------------------


def test_nmbr9_alone_is_rewarded_by_points():
    env = SelfPlayVecEnv(3, game="nmbr9", seed=1, reward_scale=0.5)
    single = gymnasium.make("patchwork_env:Nmbr9-v0")
    assert (env.observation_space, env.action_space) == (single.observation_space, single.action_space)
    observations = env.reset()
    games, sums, lengths, ended = env.games(), np.zeros(3), np.zeros(3, int), 0
    for _ in range(45):
        actions = np.array([GreedyAgent().act(game) for game in games])
        before = [game.scores()[0] for game in games]
        for observation, game, action in zip(observations, games, actions, strict=True):
            assert (observation == game.observation(0)).all()
            game.play(int(action))
        observations, rewards, ends, infos = env.step(actions)
        sums, lengths = sums + rewards, lengths + 1
        for i, game in enumerate(games):
            assert rewards[i] == 0.5 * (game.scores()[0] - before[i])
            assert ends[i] == game.is_over
            if ends[i]:
                assert infos[i]["episode"]["r"] == pytest.approx(sums[i])
                assert sums[i] > 5
                assert infos[i]["episode"]["l"] == lengths[i] == 20
                assert infos[i]["scores"].tolist() == [*game.scores()]
                assert (infos[i]["terminal_observation"] == game.observation(0)).all()
                assert "is_success" not in infos[i]
                sums[i], lengths[i], ended = 0, 0, ended + 1
        games = env.games()
    assert ended == 6


def test_nmbr9_against_others():
    env = SelfPlayVecEnv(6, "greedy", game="nmbr9", players=3, seed=1)
    env.reset()
    assert env.seats.tolist() == [0, 1, 2] * 2
    ended = 0
    for _, _, ends, infos in play(env, 20):
        ended += ends.sum()
        for info in (info for info, end in zip(infos, ends, strict=True) if end):
            assert len(info["scores"]) == 3
            assert info["is_success"] == (info["scores"][0] > info["scores"][1:].max())
    assert ended == 6
    saved, other = env.save(), SelfPlayVecEnv(6, "greedy", game="nmbr9", players=2)
    with pytest.raises(ValueError, match=r"the saved games have \[3\] players, not 2"):
        other.restore(saved)


def test_the_choice_of_the_only_digit_left_is_no_decision():
    env = SelfPlayVecEnv(2, game="nmbr9", order="free", max_digit=0, copies=3)
    env.reset()
    ends = [env.step(env.action_masks().argmax(axis=1))[2].all() for _ in range(3)]
    assert ends == [False, False, True]


def test_points_are_restored():
    env, other = (SelfPlayVecEnv(2, game="nmbr9", seed=seed) for seed in (1, 2))
    env.reset()
    for _ in range(15):
        env.step(np.array([GreedyAgent().act(game) for game in env.games()]))
    other.restore(env.save())
    for _ in range(5):
        actions = np.array([GreedyAgent().act(game) for game in env.games()])
        one, two = env.step(actions), other.step(actions)
        assert (one[1] == two[1]).all()
    assert one[2].all()
    assert [info["episode"]["r"] for info in one[3]] == [info["episode"]["r"] for info in two[3]]


@pytest.mark.parametrize("rewards", ["outcome", "margin", "score"])
def test_kinds_of_rewards_are_those_of_all_environments(rewards):
    env = SelfPlayVecEnv(4, "greedy", rewards=rewards, seed=1)
    env.reset()
    sums, ended = env._own_scores().astype(float) if rewards == "score" else np.zeros(4), 0
    for _, gained, ends, infos in play(env, 40):
        sums += gained
        for i in np.flatnonzero(ends):
            own, other = infos[i]["scores"].tolist()
            outcome = 1 if infos[i]["is_success"] else -1
            expected = {"outcome": outcome, "margin": (own - other) / 100, "score": own}
            assert sums[i] == pytest.approx(expected[rewards])
            sums[i] = env._own_scores()[i] if rewards == "score" else 0
            ended += 1
    assert ended > 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_envs": 0}, "num_envs is 0"),
        ({"opponent": ["gredy"]}, "gredy"),
        ({"opponent": []}, "opponents is 0"),
        ({"special_patches": "2015"}, "special_patches"),
        ({"rewards": "points"}, "rewards is 'points'"),
        ({"reward_scale": 0}, "reward_scale is 0"),
        ({"reward_scale": "1"}, "reward_scale is '1'"),
        ({"game": "chess"}, "there is no game 'chess'"),
        ({"game": "nmbr9", "opponent": "greedy"}, "opponent is 'greedy'; a game for one player has none"),
        ({"game": "nmbr9", "rewards": REWARD}, "which need 2 players"),
        ({"playesr": 2}, "SelfPlayVecEnv got an unexpected keyword argument 'playesr'"),
        ({"game": "nmbr9", "palyers": 2}, "did you mean 'players'"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises((ValueError, UnknownOptionError), match=message):
        SelfPlayVecEnv(**{"num_envs": 2, **options})

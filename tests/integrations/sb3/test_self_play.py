"""Stock MaskablePPO by self-play in a few lines: opponents, evaluations, and files of models."""

import copy
import pickle
from functools import partial

import gymnasium
import numpy as np
import pytest
import torch
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.utils import get_action_masks
from stable_baselines3.common.callbacks import BaseCallback, ConvertCallback, EveryNTimesteps
from stable_baselines3.common.logger import KVWriter, Logger
from stable_baselines3.common.vec_env import DummyVecEnv, VecCheckNan, VecNormalize
from stable_baselines3.common.vec_env.base_vec_env import VecEnvWrapper

from patchwork_env import agents
from patchwork_env.agents.networks import PolicyAgent
from patchwork_env.errors import UnknownOptionError
from patchwork_env.integrations.sb3 import (
    EvaluationCallback,
    PatchworkPolicy,
    SelfPlayCallback,
    SelfPlayVecEnv,
    as_agent,
    evaluate,
)
from patchwork_env.learning.reports.run_results import read_result
from patchwork_env.nmbr9 import Game as Nmbr9
from patchwork_env.patchwork import Game

SIZES = {"width": 16, "depth": 1, "channels": 4}
NMBR9_SIZES = {"width": 16, "depth": 1}
RATE = "evaluation/win_rate_against_random"


def make_model(env, policy=PatchworkPolicy, **kwargs):
    kwargs = kwargs or {"network": SIZES if env.observation_space.shape == (307,) else NMBR9_SIZES}
    return MaskablePPO(
        policy, env, n_steps=16, batch_size=64, n_epochs=1, seed=2, device="cpu", policy_kwargs=kwargs
    )


@pytest.mark.parametrize("other_defaults", [torch.float64, torch.bfloat16, "meta"], indirect=True)
def test_a_model_learns_and_plays_in_float32_on_its_device_whatever_the_defaults(other_defaults):
    model = make_model(SelfPlayVecEnv(8, seed=1, opponent="ppo-quick"))
    model.learn(128)
    assert {(p.dtype, p.device.type) for p in model.policy.parameters()} == {(torch.float32, "cpu")}
    game = Game(seed=7)
    assert as_agent(model).act(game) in game.legal_actions()


def test_a_compiled_policy_answers_and_learns_like_the_policy_itself():
    model = make_model(SelfPlayVecEnv(8, seed=1))
    policy, seen, masks = model.policy, torch.from_numpy(model.env.reset()), get_action_masks(model.env)
    model.policy = torch.compile(policy, backend="eager")
    for answer, expected in zip(model.policy(seen, True, masks), policy(seen, True, masks), strict=True):
        assert torch.equal(answer, expected)
    model.learn(128)


def names_of_opponents(env):
    return [env.opponents[number].name for number in env.opponent_numbers]


def test_a_model_learns_from_itself_plays_from_its_file_and_is_evaluated(tmp_path):
    model = make_model(SelfPlayVecEnv(8, seed=1))
    before = {name: tensor.clone() for name, tensor in model.policy.named_parameters()}
    evaluations = EvaluationCallback(["random"], every=2, games=2)
    with pytest.raises(ValueError, match="no training"):
        evaluations.write_training(tmp_path, "mine")
    model.learn(384, [SelfPlayCallback(snapshot_every=1), evaluations], log_interval=9)  # three rollouts
    assert any((tensor != before[name]).any() for name, tensor in model.policy.named_parameters())
    assert len(model.ep_info_buffer) > 4
    model.save(tmp_path / "model.zip")
    result = evaluate(str(tmp_path / "model.zip"), "random", games=4)
    assert result.agent == str(tmp_path / "model.zip")
    for player, name in ((model, "MaskablePPO"), (model.policy, "PatchworkPolicy")):
        again = evaluate(player, "random", games=4)
        assert again.agent == name
        assert (result.games.scores == again.games.scores).all()
    path = evaluations.write_training(tmp_path, "mine", weights=tmp_path / "model.zip")
    assert path == tmp_path / "mine-seed2.json"
    training = read_result(path)
    assert (training.algorithm, training.game) == ("MaskablePPO", "patchwork")
    assert training.weights is not None
    first, last = training.evaluations
    assert 0 < first.steps < last.steps
    assert 384 < last.steps <= model.get_env().turns  # moves of opponents count, too
    assert [match.opponent for match in last.matches] == ["random"]
    *_, (_, _, (evaluated,)) = evaluations.results
    assert len(evaluated.games) == 2
    env = SelfPlayVecEnv(2, opponent=str(tmp_path / "model.zip"))
    assert type(env.opponents[0]) is PolicyAgent


class Curves(KVWriter, list):
    """The logged values by the number of decisions."""

    def write(self, key_values, key_excluded, step=0):
        self.extend((step, value) for name, value in key_values.items() if name == RATE)


@pytest.mark.parametrize("every", [1, 3])
def test_evaluations_are_of_the_weights_that_learned_from_all_that_was_counted(tmp_path, every, monkeypatch):
    """The clock advances by a minute at each reading, and by one in each match, which is no training."""
    tick, module = iter(range(0, 9000, 60)).__next__, "patchwork_env.integrations.sb3.evaluation"
    monkeypatch.setattr(f"{module}.perf_counter", tick)
    monkeypatch.setattr(f"{module}.evaluate", lambda *args, **options: tick() and evaluate(*args, **options))
    model, curves = make_model(SelfPlayVecEnv(8, seed=1)), Curves()
    model.set_logger(Logger(None, [curves]))
    callback = EvaluationCallback(["random"], every=every, games=2)
    model.learn(256, callback)  # two rollouts
    callback.write_training(tmp_path, "mine")
    assert_last_is_of(callback, model)
    decisions = {1: [128, 256], 3: [256]}[every]
    assert curves == [
        (step, match.win_rate) for step, (_, _, (match,)) in zip(decisions, callback.results, strict=True)
    ]
    model.learn(128, callback, reset_num_timesteps=False)
    training = read_result(callback.write_training(tmp_path, "mine"))
    assert_last_is_of(callback, model)
    assert [one.minutes for one in training.evaluations] == {1: [2, 3, 6], 3: [4, 6]}[every]


def assert_last_is_of(callback, model):
    turns, _, (last,) = callback.results[-1]
    again = evaluate(model, "random", games=2)
    np.testing.assert_array_equal(last.games.figures["score"], again.games.figures["score"])
    assert 0 <= model.get_env().turns - turns < 16  # before the first decisions there may have been some


def test_a_training_that_is_cut_off_is_written_with_the_weights_that_it_has(tmp_path):
    class CutOff(BaseCallback):
        def _on_step(self):
            if self.n_calls > 20:
                raise KeyboardInterrupt
            return True

    model = make_model(SelfPlayVecEnv(8, seed=1))
    callback = EvaluationCallback(["random"], every=1, games=2)
    with pytest.raises(KeyboardInterrupt):
        model.learn(256, [callback, CutOff()])
    assert len(callback.results) == 1
    model.seed = None
    assert callback.write_training(tmp_path, "mine").name == "mine-seed0.json"
    assert len(callback.results) == 2
    assert_last_is_of(callback, model)


def test_files_written_during_training_add_no_minutes(tmp_path, monkeypatch):
    def slow_opponent(game):
        seconds.append(seconds[-1] + 1)
        return game.legal_actions()[0]

    seconds = [0]
    monkeypatch.setattr("patchwork_env.integrations.sb3.evaluation.perf_counter", lambda: seconds[-1])
    callback = EvaluationCallback(slow_opponent, every=9, games=2)
    writing = ConvertCallback(lambda *_: bool(callback.write_training(tmp_path, "mine")))
    make_model(SelfPlayVecEnv(8, seed=1)).learn(256, [callback, EveryNTimesteps(128, writing)])
    assert [minutes for _, minutes, _ in callback.results] == [0, 0]


def test_evaluations_are_printed(capsys):
    callbacks = [EvaluationCallback("random", games=2, every=1, keep=1, verbose=v) for v in (0, 1)]
    make_model(DummyVecEnv([lambda: gymnasium.make("patchwork_env:Patchwork-v0")])).learn(16, callbacks)
    ((decisions, _, (result,)),) = callbacks[1].results
    assert (decisions, len(result.kept)) == (16, 1)
    assert capsys.readouterr().out == f"after 16 decisions, {result.summary()}\n"


# --- opponents ----------------------------------------------------------------------------------------------


def test_every_game_has_its_share_of_opponents():
    env = SelfPlayVecEnv(8, opponent=["greedy", "random"], seed=1)
    model = make_model(VecCheckNan(env))
    callback = SelfPlayCallback(fraction=0.5, fixed_fraction=0.375, snapshot_every=2, opponents=1, size=1)
    model.learn(128, callback)
    assert names_of_opponents(env) == ["present self"] * 5 + ["greedy"] * 2 + ["random"]
    model.learn(256, callback, log_interval=9, reset_num_timesteps=False)  # 9: the logger keeps all
    env.reset()
    assert callback.opponent_keys() == [-1, 0, 0, 0, 0, -2, -2, -3]
    assert [opponent.sample for opponent in env.opponents[:2]] == [True, True]
    assert 0 < model.logger.name_to_value["league/mean_win_rate"] < 1
    assert list(callback.pool.snapshots) == [0]
    assert env.opponents[0].network is model.policy.network, "the present self follows the learner"
    before = callback.pool.snapshots[0].value.weight
    assert (before != model.policy.network.value.weight).any(), "past selves do not"
    callback.add_snapshot_if_due()
    callback.choose_opponents()
    assert callback.opponent_keys() == [-1, 0, 0, 0, 0, -2, -2, -3], "games that are on keep their opponents"
    env.reset()
    assert callback.opponent_keys() == [-1, 1, 1, 1, 1, -2, -2, -3]
    callback.load_opponent_keys(callback.opponent_keys()[::-1])
    assert names_of_opponents(env) == ["random"] + ["greedy"] * 2 + ["past self"] * 4 + ["present self"]


def test_neighbors_have_the_same_past_self_so_that_the_learner_has_every_seat_against_it():
    env = SelfPlayVecEnv(6, game="nmbr9", players=3, deck_size=4, seed=1)
    callback = SelfPlayCallback(fraction=1.0, snapshot_every=1, opponents=2)
    make_model(env).learn(288, callback)
    env.reset()
    assert env.opponent_numbers.tolist() == [1, 1, 1, 2, 2, 2]
    callback.load_opponent_keys(keys := callback.opponent_keys())
    assert callback.opponent_keys() == keys


def choices(model):
    """The actions of a model and of its agent in a game that the model plays in its environment."""
    env, agent = model.get_env(), as_agent(model)
    env.seed(3)
    seen, ends, taken, answers = env.reset(), [False], [], []
    while not ends[0]:
        actions, _ = model.predict(seen, action_masks=get_action_masks(env), deterministic=True)
        model.policy.set_training_mode(True)  # as during training, when units drop out
        games = env.unwrapped.games() if hasattr(env.unwrapped, "games") else env.get_attr("game")
        answers.append(agent.act(games[0]))
        taken.append(actions[0])
        seen, _, ends, _ = env.step(actions)
    return taken, answers


@pytest.mark.parametrize("policy", ["MlpPolicy", "MultiInputPolicy", PatchworkPolicy])
def test_the_agent_plays_as_the_model(policy):
    env = SelfPlayVecEnv(4, seed=1)
    if policy == "MultiInputPolicy":
        games = "patchwork_env:Patchwork-v0"
        env = DummyVecEnv([lambda: gymnasium.make(games, observation="dict").unwrapped])
    options = {"net_arch": [8], "activation_fn": torch.nn.Dropout}
    model = make_model(env, policy, **({} if policy is PatchworkPolicy else options)).learn(64)
    twin, game = pickle.loads(pickle.dumps(copy.deepcopy(as_agent(model)))), Game(seed=1)
    taken, answers = choices(model)
    assert len(taken) > 10
    assert taken == answers
    assert twin.act(game) == as_agent(model).act(game)
    drawing, again = (as_agent(model, sample=True, seed=4) for _ in range(2))
    drawn = [drawing.act(game) for _ in range(20)]
    assert drawn == [again.act(game) for _ in range(20)]
    assert {*drawn} <= {*game.legal_actions()}
    assert len({*drawn}) > 10
    with pytest.raises(ValueError, match="plays patchwork, not nmbr9"):
        twin.act(Nmbr9(seed=1))


class Centred(VecEnvWrapper):
    def reset(self):
        return self.venv.reset() - 0.5

    def step_wait(self):
        observations, *others = self.venv.step_wait()
        return observations - 0.5, *others


def test_observations_that_were_changed_are_refused_by_the_policy_and_by_agents(tmp_path):
    for game in ("patchwork", "nmbr9"):
        with pytest.raises(ValueError, match="PatchworkPolicy reads observations as they are"):
            make_model(VecNormalize(SelfPlayVecEnv(2, game=game))).learn(2)
    callback = SelfPlayCallback()
    for changing in (VecNormalize(SelfPlayVecEnv(2)), Centred(SelfPlayVecEnv(2))):
        model = make_model(VecCheckNan(changing), "MlpPolicy", net_arch=[8])
        learn, load = partial(model.learn, 2, callback), partial(callback.load_state_dict, {}, model)
        for use in (learn, learn, load):
            with pytest.raises(ValueError, match=f"learned within {type(changing).__name__}"):
                use()
    single, other = (gymnasium.make("patchwork_env:Patchwork-v0") for _ in range(2))
    changed = gymnasium.wrappers.TransformObservation(single, lambda seen: 1 - seen, single.observation_space)
    with pytest.raises(ValueError, match="learned within ObservationWrapper"):
        as_agent(make_model(DummyVecEnv([lambda: other, lambda: changed]), "MlpPolicy", net_arch=[8]))
    make_model(VecNormalize(SelfPlayVecEnv(2)), "MlpPolicy", net_arch=[8]).learn(0).save(tmp_path / "a.zip")
    for env in (None, SelfPlayVecEnv(2)):
        with pytest.raises(ValueError, match="a VecNormalize that is missing now"):
            as_agent(MaskablePPO.load(tmp_path / "a.zip", env))
    for policy in (PatchworkPolicy, "MlpPolicy"):  # a normalization of rewards alone changes no observations
        options = {} if policy is PatchworkPolicy else {"net_arch": [8]}
        as_agent(make_model(VecNormalize(SelfPlayVecEnv(2), norm_obs=False), policy, **options).learn(2))


def test_the_league_outlives_environment_and_model():
    callback = SelfPlayCallback(fraction=0.5, fixed_fraction=0.25, snapshot_every=1, opponents=1)
    one, other = (SelfPlayVecEnv(4, opponent="greedy", seed=1) for _ in range(2))
    for env in (other, one, one):
        model = make_model(env, "MlpPolicy", net_arch=[8]).learn(64, callback)
        assert env.opponents[0].policy is model.policy
    callback.load_state_dict(callback.state_dict(), model)
    assert list(callback.pool.snapshots) == [0, 1, 2]
    present = env.opponents[0]
    env.set_opponents("random", at_once=True)
    assert callback.opponent_keys() == [-1] * 4
    model.learn(256, callback, reset_num_timesteps=False)
    assert (env.opponents[0], names_of_opponents(env)[-1]) == (present, "greedy")


def test_the_callback_draws_with_the_seed_of_the_model():
    callbacks = [SelfPlayCallback(fraction=0.5, fixed_fraction=0.5), SelfPlayCallback(seed=2)]
    for callback in callbacks:  # three games: both shares are rounded up
        make_model(SelfPlayVecEnv(3, seed=1), "MlpPolicy", net_arch=[8]).learn(16, callback)
    assert callbacks[0].random.integers(2**63) == callbacks[1].random.integers(2**63)


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"fractoin": 0.5}, UnknownOptionError, "did you mean 'fraction'"),
        ({"fraction": 0.5, "fixed_fraction": 0.6}, ValueError, "fixed_fraction is 0.6.* from 0 to 0.5"),
        ({"fixed_fraction": -0.1}, ValueError, r"fixed_fraction is -0\.1; .* from 0 to 0.75"),
        ({"fixed_fraction": "all"}, ValueError, "fixed_fraction is 'all'; .* from 0 to 0.75"),
        ({"seed": -1}, ValueError, "seed is -1"),
    ],
)
def test_wrong_options(options, kind, message):
    with pytest.raises(kind, match=message):
        SelfPlayCallback(**options)


def test_other_objects_are_not_models_and_self_play_needs_opponents():
    with pytest.raises(ValueError, match="'greedy' is not a MaskablePPO or a policy of one"):
        as_agent("greedy")
    with pytest.raises(ValueError, match="one for a single player; self-play needs a SelfPlayVecEnv"):
        make_model(SelfPlayVecEnv(2, game="nmbr9")).learn(4, SelfPlayCallback())
    greedy = agents.load("greedy")
    played = [evaluate(player, "random", games=2, keep=1) for player in (greedy, greedy.act)]
    assert [(result.agent, len(result.kept)) for result in played] == [("greedy", 1), ("act", 1)]


# --- the policy ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", ["patchwork", "nmbr9"])
def test_the_policy_is_the_networks(game):
    env = SelfPlayVecEnv(4, game=game, seed=1)
    model = make_model(env)
    observations = torch.from_numpy(env.reset())
    masks = env.action_masks().copy()
    inputs, legal = model.policy.network.encode(env.states)
    expected = model.policy.network(inputs)
    distribution = model.policy.get_distribution(observations, action_masks=masks).distribution
    torch.testing.assert_close(
        distribution.logits[legal.rows, legal.actions], expected.log_probabilities, atol=1e-5, rtol=1e-5
    )
    assert distribution.probs[masks == 0].max() == 0
    actions, values, log_probabilities = model.policy(observations, action_masks=masks)
    assert masks[np.arange(4), actions].all()
    torch.testing.assert_close(values[:, 0], expected.values)
    torch.testing.assert_close(model.policy.predict_values(observations), values)
    evaluated = model.policy.evaluate_actions(observations, actions, action_masks=torch.from_numpy(masks))
    for one, other in zip(evaluated, (values, log_probabilities, expected.entropies), strict=True):
        torch.testing.assert_close(one, other)


def test_mistakes_with_the_policy():
    env = SelfPlayVecEnv(2, seed=1)
    model = make_model(env)
    with pytest.raises(ValueError, match="action_masks is None"):
        model.predict(env.reset())
    for options in ({"network": {"wdith": 3}}, {"threads": 0}, {"threads": "2"}):
        with pytest.raises(ValueError, match=r"wdith\n  Extra inputs are not permitted|^threads (is|must)"):
            make_model(env, **options)
    with pytest.raises(ValueError, match="no game has the spaces"):
        PatchworkPolicy(env.observation_space, SelfPlayVecEnv(1, game="nmbr9").action_space, lambda _: 1e-3)
    other = make_model(SelfPlayVecEnv(2, game="nmbr9"))
    with pytest.raises(ValueError, match=r"'nmbr9', .*not of .*'patchwork'"):
        model.policy.set_extra_state(other.policy.get_extra_state())


def test_the_policy_is_saved_by_itself(tmp_path):
    of_optimizer = {"optimizer_class": torch.optim.SGD, "optimizer_kwargs": {"momentum": 0.5}}
    policy = make_model(SelfPlayVecEnv(2, seed=1), network=SIZES, threads=2, **of_optimizer).policy
    policy.save(tmp_path / "policy.pth")
    twin = PatchworkPolicy.load(tmp_path / "policy.pth")
    for each in (policy, twin, copy.deepcopy(policy)):
        assert type(each.optimizer) is torch.optim.SGD
        assert each.optimizer.defaults["momentum"] == 0.5
    assert twin.network.config == policy.network.config
    assert (twin.network.value.weight == policy.network.value.weight).all()

"""Batches of games as an environment of TorchRL: steps, rewards, resets, seeds, and training on them.

Runs where TorchRL is installed: ``make test-libraries``.
"""

import gymnasium
import numpy as np
import pytest
import torch

pytest.importorskip("torchrl")

from tensordict.nn import TensorDictModule, TensorDictSequential
from torch import nn
from torchrl.collectors import Collector
from torchrl.data import LazyTensorStorage, SamplerWithoutReplacement, TensorDictReplayBuffer
from torchrl.envs import ActionMask, GymEnv, SerialEnv, TransformedEnv, check_env_specs
from torchrl.envs.utils import step_mdp
from torchrl.modules import EGreedyModule, MaskedCategorical, ProbabilisticActor, QValueActor
from torchrl.objectives import ClipPPOLoss, DQNLoss

from patchwork_env import nmbr9_v0, patchwork_v0
from patchwork_env.errors import UnknownOptionError
from patchwork_env.integrations import torchrl
from tests.envs.cases import LastAction, streams_of

pytestmark = pytest.mark.libraries

KINDS = {
    "patchwork": {},
    "patchwork, against greedy": {"opponent": "greedy", "rewards": "margin"},
    "nmbr9": {"game": "nmbr9"},
    "nmbr9, three players": {"game": "nmbr9", "players": 3, "rewards": "score"},
    "nmbr9, against random": {"game": "nmbr9", "players": 2, "opponent": "random"},
}
kinds = pytest.mark.parametrize("options", KINDS.values(), ids=KINDS)


def play(env, steps):
    """Return the data of random steps ``(n, steps)``, with resets in between."""
    torch.manual_seed(5)
    return env.rollout(steps, break_when_any_done=False)


@kinds
def test_specs(options):
    check_env_specs(torchrl.make_env(num_envs=3, seed=1, **options), break_when_any_done="both")


@pytest.mark.parametrize("game", ["patchwork", "nmbr9"])
def test_games_are_those_of_the_batch(game):
    """States, masks, players, rewards and ends, step for step."""
    options = {"seed": 3} if game == "patchwork" else {"seed": 3, "players": 3, "rewards": "score"}
    env = torchrl.make_env(game, 4, **options)
    module = patchwork_v0 if game == "patchwork" else nmbr9_v0
    batch = module.SelfPlayBatch(4, **options)
    tensordict, ends = env.reset(), 0
    torch.manual_seed(1)
    for _ in range(80):
        np.testing.assert_array_equal(tensordict["observation"], batch.observations)
        np.testing.assert_array_equal(tensordict["action_mask"], batch.masks == 1)
        np.testing.assert_array_equal(tensordict["player"], batch.current_players)
        movers = batch.current_players.copy()
        step, tensordict = env.step_and_maybe_reset(env.rand_action(tensordict))
        batch.step(step["action"].numpy())
        next_ = step["next"]
        np.testing.assert_array_equal(next_["rewards"], batch.rewards)
        np.testing.assert_array_equal(next_["reward"][:, 0], batch.rewards[np.arange(4), movers])
        np.testing.assert_array_equal(next_["terminated"][:, 0], batch.terminations)
        np.testing.assert_array_equal(next_["truncated"][:, 0], batch.truncations)
        np.testing.assert_array_equal(next_["done"][:, 0], batch.terminations | batch.truncations)
        ends += int(next_["done"].sum())
    assert ends >= 4


def test_next_states_are_those_of_single_games():
    env = torchrl.make_env(num_envs=8, seed=2)
    tensordict, ends = env.reset(), 0
    games = env.batch.games()
    for _ in range(60):
        step, tensordict = env.step_and_maybe_reset(env.rand_action(tensordict))
        for i, (game, action) in enumerate(zip(games, step["action"].tolist(), strict=True)):
            game.play(action)
            assert step["next", "player"][i] == game.state["current_player"][0]
            np.testing.assert_array_equal(
                step["next", "observation"][i], game.observation(int(step["next", "player"][i]))
            )
            assert bool(step["next", "done"][i]) == game.is_over
            if game.is_over:
                ends += 1
                won = [1.0 if player == game.winner() else -1.0 for player in range(2)]
                assert step["next", "rewards"][i].tolist() == won
                assert bool(step["next", "action_mask"][i].all())
                games[i] = env.batch.games()[i]
            else:
                np.testing.assert_array_equal(step["next", "action_mask"][i], game.action_mask() == 1)
    assert ends > 5


def test_against_an_opponent_the_learner_alone_is_rewarded():
    env = torchrl.make_env(num_envs=4, opponent="random", seat=1, rewards="margin", seed=4)
    envs = patchwork_v0.PatchworkVectorEnv(4, "random", seat=1, rewards="margin")
    observations, infos = envs.reset(seed=4)
    tensordict, ends = env.reset(), 0
    for _ in range(60):
        np.testing.assert_array_equal(tensordict["observation"], observations)
        np.testing.assert_array_equal(tensordict["action_mask"], infos["action_mask"] == 1)
        assert tensordict["player"].tolist() == [1] * 4
        step, tensordict = env.step_and_maybe_reset(env.rand_action(tensordict))
        observations, rewards, terminations, _, infos = envs.step(step["action"].numpy())
        np.testing.assert_array_equal(step["next", "reward"][:, 0], rewards.astype(np.float32))
        np.testing.assert_array_equal(step["next", "terminated"][:, 0], terminations)
        for i in np.flatnonzero(terminations):
            np.testing.assert_array_equal(step["next", "observation"][i], infos["final_obs"][i])
            ends += 1
    assert ends > 3
    assert "rewards" not in step["next"]


class Counting(LastAction):
    """An opponent that counts the games in its calls."""

    asked = 0

    def act_batch(self, states):
        self.asked += len(states)
        return super().act_batch(states)


@pytest.mark.parametrize("opponent", [None, Counting()], ids=["self-play", "opponent"])
def test_games_that_take_no_step_stay_as_they_are(opponent):
    """Their states and random numbers do not change, and opponents do not act in them."""

    def of_the_game():
        streams = [word for name, word in streams_of(env.batch) if name.endswith("treams[1]")]
        return bytes(env.batch.states[1]), streams

    env = torchrl.make_env("nmbr9", 3, seed=5, opponent=opponent, players=2, deck_size=4)
    tensordict = first = env.reset()
    before, ends = of_the_game(), 0
    assert before[1]
    torch.manual_seed(3)
    for _ in range(60):
        tensordict = env.rand_action(tensordict)
        tensordict["action"][1] = -1
        tensordict["_step"] = torch.tensor([True, False, True])
        step = env.step(tensordict)
        assert of_the_game() == before
        assert (step["next", "reward"][1], step["next", "done"][1]) == (0, False)
        for key in ("observation", "action_mask"):
            np.testing.assert_array_equal(step["next", key][1], first[key][1])
        tensordict = step_mdp(step)
        if tensordict["done"].any():
            ends += 1
            tensordict["_reset"] = tensordict["done"]
            tensordict = env.reset(tensordict)
            assert of_the_game() == before
    assert ends
    if opponent is not None:
        opponent.asked = 0
        tensordict = env.rand_action(tensordict)
        tensordict["_step"] = torch.zeros(3, dtype=torch.bool)
        env.step(tensordict)
        assert opponent.asked == 0


@pytest.mark.parametrize("options", [{}, {"game": "nmbr9", "players": 2, "opponent": "random"}], ids=str)
def test_seeds(options):
    """The same seed gives the same games: from the beginning, after ``set_seed``, and one after the other."""
    one, other = (torchrl.make_env(num_envs=3, seed=seed, **options) for seed in (6, 7))
    first = play(one, 40)
    again = play(one, 40)
    assert not torch.equal(first["observation"], again["observation"])
    assert not torch.equal(first["observation"], play(other, 40)["observation"])
    other.set_seed(6)
    assert (first == play(other, 40)).all()
    assert (again == play(other, 40)).all()


def test_random_actions_are_uniform():
    masks = torch.tensor([[True, False, True, True], [False, True, False, False]])
    spec = torchrl.LegalActions(4, (2,))
    with pytest.raises(RuntimeError, match="are not known"):
        spec.rand()
    spec.update_mask(masks)
    assert spec.rand((5,)).shape == (5, 2)
    torch.manual_seed(1)
    drawn = spec.rand((3000,))
    assert spec.is_in(drawn)
    assert (drawn[:, 1] == 1).all()
    assert torch.bincount(drawn[:, 0]).tolist() == pytest.approx([1000, 0, 1000, 1000], abs=100)
    spec.update_mask(masks & False)
    with pytest.raises(RuntimeError, match="game 0 has no legal action"):
        spec.rand()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"seed": -1}, ValueError, "seed is -1"),
        ({"seed": 2**64 - 1, "opponent": "random"}, ValueError, "because game i uses seed"),
        ({"sead": 1}, UnknownOptionError, "unexpected keyword argument 'sead'; did you mean 'seed'"),
        ({"seat": 1}, UnknownOptionError, "unexpected keyword argument 'seat'"),
        ({"opponent": "greedi"}, ValueError, "greedi"),
        ({"game": "nmbr9", "opponent": "greedy"}, ValueError, "a game for one player has none"),
    ],
)
def test_arguments(options, error, message):
    with pytest.raises(error, match=message):
        torchrl.make_env(**options)


def test_environments_of_torchrl_around_ours():
    """``GymEnv`` drops its argument ``frameskip`` if the error has Python's words."""
    assert GymEnv("patchwork_env:Patchwork-v0").reset()["observation"].shape == (307,)
    env = SerialEnv(2, lambda: torchrl.make_env(num_envs=3))
    with pytest.raises(RuntimeError, match="put the transform ActionMask around a SerialEnv"):
        env.rollout(3)
    assert TransformedEnv(env, ActionMask()).rollout(3).shape == (2, 3, 3)


def actor():
    torch.manual_seed(1)
    return ProbabilisticActor(
        TensorDictModule(nn.Linear(307, 2026), in_keys=["observation"], out_keys=["logits"]),
        in_keys={"logits": "logits", "mask": "action_mask"},
        distribution_class=MaskedCategorical,
        return_log_prob=True,
    )


@pytest.mark.parametrize("opponent", [None, "random"])
def test_collecting_estimating_and_learning(opponent):
    policy = actor()
    critic = TensorDictModule(nn.Linear(307, 1), in_keys=["observation"], out_keys=["state_value"])
    env = torchrl.make_env(num_envs=8, opponent=opponent, seed=1)
    frames = {"frames_per_batch": 8 * 30, "total_frames": 2 * 8 * 30}
    collector = Collector(env, policy, auto_register_policy_transforms=False, **frames)
    loss = ClipPPOLoss(policy, critic)
    if opponent is None:
        loss.make_value_estimator(torchrl.TurnGAE, gamma=1.0, lmbda=0.95, value_network=critic)
    buffer = TensorDictReplayBuffer(
        storage=LazyTensorStorage(240), sampler=SamplerWithoutReplacement(), batch_size=60
    )
    optimizer = torch.optim.Adam(loss.parameters())
    before = [parameter.detach().clone() for parameter in loss.parameters()]
    for data in collector:
        assert data.shape == (8, 30)
        assert bool(data["action_mask"].gather(-1, data["action"].unsqueeze(-1)).all())
        loss.value_estimator(data)
        buffer.extend(data.reshape(-1))
        for sample in buffer:
            parts = loss(sample)
            sum(part for name, part in parts.items() if name.startswith("loss_")).backward()
            optimizer.step()
            optimizer.zero_grad()
    collector.shutdown()
    assert all(bool(torch.isfinite(parameter).all()) for parameter in loss.parameters())
    assert not any(torch.equal(*pair) for pair in zip(before, loss.parameters(), strict=True))


@pytest.mark.parametrize("options", [{"game": "patchwork"}, {"game": "nmbr9", "players": 2}], ids=str)
def test_value_learning(options):
    """Greedy and explored actions are legal, and the loss of DQN has gradients."""
    env = torchrl.make_env(num_envs=4, opponent="random", seed=1, **options)
    size, num_actions = env.observation_spec["observation"].shape[-1], env.action_spec.space.n
    values = nn.Linear(size, num_actions)
    actor = QValueActor(
        values, in_keys=["observation"], spec=env.full_action_spec, action_mask_key="action_mask"
    )
    exploring = EGreedyModule(env.full_action_spec, eps_init=0.5, action_mask_key="action_mask")
    data = env.rollout(20, TensorDictSequential(actor, exploring), break_when_any_done=False)
    assert bool(data["action_mask"].gather(-1, data["action"].unsqueeze(-1)).all())
    loss = DQNLoss(actor, action_space=env.action_spec, delay_value=False)
    loss(data.reshape(-1))["loss"].backward()
    (weights,) = (parameter for parameter in loss.parameters() if parameter.ndim == 2)
    assert bool(weights.grad.any())


def test_torchrls_own_wrapper_takes_the_batches_of_gymnasium():
    from torchrl.envs.libs.gym import GymWrapper

    envs = gymnasium.make_vec("patchwork_env:Patchwork-v0", 3, "vector_entry_point", opponent="random")
    env = GymWrapper(envs, categorical_action_encoding=True)
    tensordict = env.reset()
    tensordict["action"] = tensordict["action_mask"].long().argmax(-1)
    assert env.step(tensordict)["next", "observation"].shape == (3, 307)

"""Advantages along each player's own decisions, against their definition and against TorchRL's own."""

from __future__ import annotations

import itertools

import pytest
import torch

pytest.importorskip("torchrl")

from tensordict import TensorDict
from tensordict.nn import TensorDictModule
from torch import nn
from torchrl.modules import MaskedCategorical, ProbabilisticActor
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

from patchwork_env.integrations import torchrl
from patchwork_env.integrations.torchrl import TurnGAE

pytestmark = pytest.mark.libraries

GAMMA, LMBDA = 0.9, 0.8


def record(players, rewards, values, next_values, next_player, terminated=(), truncated=()):
    """One game's turns as TorchRL keeps them, ``(1, T)``; ends are listed by their turns."""
    turns = len(players)
    ends = {name: torch.zeros(1, turns, 1, dtype=torch.bool) for name in ("terminated", "truncated")}
    ends["terminated"][0, list(terminated)] = True
    ends["truncated"][0, list(truncated)] = True
    next_players = torch.tensor([[*players[1:], next_player]])
    next_ = {
        "player": next_players,
        "rewards": torch.tensor(rewards, dtype=torch.float32)[None],
        "state_value": torch.tensor(next_values, dtype=torch.float32).view(1, turns, 1),
        "done": ends["terminated"] | ends["truncated"],
        **ends,
    }
    root = {
        "player": torch.tensor([players]),
        "state_value": torch.tensor(values, dtype=torch.float32).view(1, turns, 1),
    }
    return TensorDict({**root, "next": TensorDict(next_, (1, turns))}, (1, turns))


def by_definition(game):
    """The advantages of one game's turns, each player's decisions taken out and summed up alone."""
    turns, count = game["next", "rewards"].shape
    over, cut = game["next", "terminated"][:, 0].tolist(), game["next", "truncated"][:, 0].tolist()
    estimates, begin = [0.0] * turns, 0
    bounds = [t for t in range(turns) if over[t] or cut[t] or t == turns - 1]
    for end in bounds:
        expected = game["next", "state_value"][end].item()
        expected_by = game["next", "player"][end].item()
        for player in range(count):
            own = [t for t in range(begin, end + 1) if game["player"][t] == player]
            errors = []
            for t, after in itertools.zip_longest(own, own[1:]):
                reward = game["next", "rewards"][t : end + 1 if after is None else after, player].sum().item()
                if after is not None:
                    ahead = game["state_value"][after].item()
                elif over[end]:
                    ahead = 0.0
                else:
                    ahead = expected if player == expected_by else -expected / max(count - 1, 1)
                errors.append(reward + GAMMA * ahead - game["state_value"][t].item())
            for k, t in enumerate(own):
                estimates[t] = sum((GAMMA * LMBDA) ** i * error for i, error in enumerate(errors[k:]))
        begin = end + 1
    return torch.tensor(estimates)


def test_a_game_whose_turns_do_not_alternate():
    """Player 0 moves twice, then 1 three times, and wins with its last move; then 0 begins another game."""
    game = record(
        players=[0, 0, 1, 1, 1, 0],
        rewards=[[0, 0], [0, 0], [0, 0], [0, 0], [-1, 1], [0, 0]],
        values=[0.5, 0.25, 0.0, -0.5, 0.5, 0.125],
        next_values=[9, 9, 9, 9, 9, 0.75],  # only the last one counts
        next_player=1,
        terminated=[4],
    )
    result = TurnGAE(gamma=1.0, lmbda=0.5, value_network=None)(game)
    last_of_loser = -1 - 0.25
    first_of_loser = 0.25 - 0.5 + 0.5 * last_of_loser
    last_of_winner = 1 - 0.5
    second_of_winner = 0.5 + 0.5 + 0.5 * last_of_winner
    first_of_winner = -0.5 - 0.0 + 0.5 * second_of_winner
    of_next_game = -0.75 - 0.125  # what is good for player 1 is bad for player 0
    winners = [first_of_winner, second_of_winner, last_of_winner]
    expected = torch.tensor([first_of_loser, last_of_loser, *winners, of_next_game])
    torch.testing.assert_close(result["advantage"].flatten(), expected)
    targets = result["value_target"].flatten() - game["state_value"].flatten()
    torch.testing.assert_close(targets, expected)


@pytest.mark.parametrize("players", [1, 2, 3])
def test_against_the_definition(players):
    generator = torch.Generator().manual_seed(players)
    turns, games = 60, 5

    def draw(*shape):
        return torch.randn(games, turns, *shape, generator=generator)

    kind = torch.randint(0, 12, (games, turns, 1), generator=generator)
    ends = {"terminated": kind == 0, "truncated": kind == 1, "done": kind < 2}
    numbers = torch.randint(0, players, (2, games, turns), generator=generator)
    next_ = {"player": numbers[1], "rewards": draw(players), "state_value": draw(1), **ends}
    root = {"player": numbers[0], "state_value": draw(1)}
    data = TensorDict({**root, "next": TensorDict(next_, (games, turns))}, (games, turns))
    expected = torch.stack([by_definition(game) for game in data])
    estimator = TurnGAE(gamma=GAMMA, lmbda=LMBDA, value_network=None)
    torch.testing.assert_close(estimator(data.clone())["advantage"][..., 0], expected)
    turned = estimator(data.transpose(0, 1).contiguous(), time_dim=0)
    torch.testing.assert_close(turned["advantage"][..., 0].transpose(0, 1), expected)
    torch.testing.assert_close(estimator(data[2].clone())["advantage"][:, 0], expected[2])
    standardized = TurnGAE(gamma=GAMMA, lmbda=LMBDA, value_network=None, average_gae=True)(data.clone())
    assert standardized["advantage"].mean().item() == pytest.approx(0, abs=1e-5)
    assert standardized["advantage"].std().item() == pytest.approx(1, abs=1e-5)


def critic(size, seed):
    torch.manual_seed(seed)
    return TensorDictModule(nn.Linear(size, 1), in_keys=["observation"], out_keys=["state_value"])


def test_for_a_single_player_it_is_the_same_as_gae():
    env = torchrl.make_env("nmbr9", 4, seed=2, rewards="score", deck_size=5)
    data, network = env.rollout(33, break_when_any_done=False), critic(2189, 1)
    assert bool(data["next", "terminated"].any())
    options = {"gamma": 0.97, "lmbda": 0.9, "value_network": network}
    own, theirs = TurnGAE(**options)(data.clone()), GAE(**options)(data.clone())
    for key in ("advantage", "value_target", "state_value"):
        torch.testing.assert_close(own[key], theirs[key])
    parts = TurnGAE(**options, value_chunk_size=3)
    torch.testing.assert_close(parts(data.clone())["advantage"], theirs["advantage"])
    torch.testing.assert_close(parts.value_estimate(data), theirs["value_target"])


def test_without_discount_every_decision_is_worth_what_its_player_got():
    data = torchrl.make_env(num_envs=6, seed=2).rollout(300, break_when_any_done=False)
    zero = critic(307, 1)
    nn.init.zeros_(zero.module.weight)
    nn.init.zeros_(zero.module.bias)
    estimates = TurnGAE(gamma=1.0, lmbda=1.0, value_network=zero)(data)["advantage"][..., 0]
    for game, of_turns in zip(data, estimates, strict=True):
        begin = 0
        for end in game["next", "done"][:, 0].nonzero()[:, 0].tolist():
            got = game["next", "rewards"][end][game["player"][begin : end + 1]]
            torch.testing.assert_close(of_turns[begin : end + 1], got)
            begin = end + 1
        assert begin > 0


def test_gae_of_torchrl_takes_the_values_of_opponents_for_the_players_own():
    """Why this exists. If this fails, TorchRL has mended it."""
    game = record([0, 1], [[0, 0], [-1, 1]], [0.0, 1.0], [1.0, 0.0], 0, terminated=[1])
    game["next", "reward"] = torch.tensor([[[0.0], [1.0]]])
    options = {"gamma": 1.0, "lmbda": 1.0, "value_network": None}
    assert GAE(**options)(game.clone())["advantage"].flatten().tolist() == [1, 0]
    assert TurnGAE(**options)(game.clone())["advantage"].flatten().tolist() == [-1, 0]


def test_a_loss_takes_it_as_its_estimator():
    env = torchrl.make_env(num_envs=2, seed=1)
    data, network = env.rollout(4), critic(307, 1)
    actor = TensorDictModule(nn.Linear(307, 2026), in_keys=["observation"], out_keys=["logits"])
    policy = ProbabilisticActor(
        actor,
        in_keys={"logits": "logits", "mask": "action_mask"},
        distribution_class=MaskedCategorical,
        return_log_prob=True,
    )
    loss = ClipPPOLoss(policy, network)
    loss.make_value_estimator(TurnGAE, gamma=1.0, lmbda=0.95, value_network=network)
    assert isinstance(loss.value_estimator, TurnGAE)
    with torch.no_grad():
        data = policy(data)
    estimated = TurnGAE(gamma=1.0, lmbda=0.95, value_network=network)(data.clone())
    torch.testing.assert_close(loss(data)["loss_objective"], loss(estimated)["loss_objective"])


def test_keys_can_be_called_otherwise():
    game = record([0, 1], [[0, 0], [-1, 1]], [0.0, 1.0], [1.0, 0.0], 0, terminated=[1])
    renamed = game.rename_key_("player", "turn").clone()
    renamed["next"].rename_key_("player", "turn")
    estimator = TurnGAE(gamma=1.0, lmbda=1.0, value_network=None)
    estimator.set_keys(player="turn")
    assert ("next", "turn") in estimator.in_keys
    assert estimator(renamed)["advantage"].flatten().tolist() == [-1, 0]


def test_arguments():
    with pytest.raises(TypeError, match="unexpected keyword argument 'vectorized'"):
        TurnGAE(gamma=1.0, lmbda=1.0, value_network=None, vectorized=True)

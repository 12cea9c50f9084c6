"""Advantages of each player's own decisions, against their definition and TorchRL's ``GAE``."""

import itertools

import pytest
import torch

pytest.importorskip("torchrl")

from tensordict import TensorDict
from tensordict.nn import TensorDictModule
from torch import nn
from torchrl.objectives.value import GAE

from patchwork_env.integrations import torchrl
from patchwork_env.integrations.torchrl import TurnGAE

pytestmark = pytest.mark.libraries

GAMMA, LMBDA = 0.9, 0.8


def by_definition(game):
    """Return the advantages of one game's turns, computed for each player alone."""
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
    renamed = data.rename_key_("player", "turn")
    renamed["next"].rename_key_("player", "turn")
    estimator.set_keys(player="turn")
    assert ("next", "turn") in estimator.in_keys
    torch.testing.assert_close(estimator(renamed)["advantage"][..., 0], expected)


def test_for_a_single_player_it_is_the_same_as_gae():
    env = torchrl.make_env("nmbr9", 4, seed=2, rewards="score", deck_size=5)
    data = env.rollout(33, break_when_any_done=False)
    torch.manual_seed(1)
    network = TensorDictModule(nn.Linear(2189, 1), in_keys=["observation"], out_keys=["state_value"])
    assert bool(data["next", "terminated"].any())
    options = {"gamma": 0.97, "lmbda": 0.9, "value_network": network}
    own, theirs = TurnGAE(**options)(data.clone()), GAE(**options)(data.clone())
    for key in ("advantage", "value_target", "state_value"):
        torch.testing.assert_close(own[key], theirs[key])
    torch.testing.assert_close(TurnGAE(**options).value_estimate(data), theirs["value_target"])

"""The modules: the same policy as that of the project's agents, and only legal actions."""

import numpy as np
import pytest

pytest.importorskip("ray")

import torch
from ray.rllib.core.columns import Columns

from patchwork_env.agents.network_config import NetworkConfig
from patchwork_env.agents.networks import PolicyAgent
from patchwork_env.games import rules_of
from patchwork_env.integrations.rllib.module import ChosenActions, module_spec

pytestmark = pytest.mark.older

SIZES = {"patchwork": NetworkConfig(width=16, depth=1, channels=8), "nmbr9": NetworkConfig(width=16, depth=1)}
GAMES = list(SIZES)


def positions(game, seeds):
    """Every third position of random games."""
    rng, found = np.random.default_rng(list(seeds)), []
    for seed in seeds:
        played = rules_of(game).game(seed=seed)
        while not played.is_over:
            if played.num_moves % 3 == 0:
                found.append(played.clone())
            played.play(rng.choice(played.legal_actions()))
    return found


def batch_of(games):
    seen = {
        "observation": torch.from_numpy(np.stack([game.observation() for game in games])),
        "action_mask": torch.from_numpy(np.stack([game.action_mask() for game in games])),
    }
    return {Columns.OBS: seen}


def new_module(game, seed=0):
    """A module whose policy is far from uniform."""
    torch.manual_seed(seed)
    module = module_spec(game, SIZES[game]).build()
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if name.endswith(("kind.weight", "value.weight", "score.weight")):
                parameter.mul_(100)
    return module


@pytest.mark.parametrize("game", GAMES)
def test_its_outputs_equal_those_of_networks_of_agents(game):
    games, module = positions(game, range(4)), new_module(game)
    states = np.concatenate([played.state for played in games])
    inputs, lists = module.network.encode(states)
    with torch.no_grad():
        evaluated, output = module.evaluate(batch_of(games)), module.network(inputs)
    np.testing.assert_array_equal(evaluated.actions.numpy(), lists.actions)
    torch.testing.assert_close(evaluated.output.log_probabilities, output.log_probabilities)
    torch.testing.assert_close(evaluated.output.values, output.values)
    torch.testing.assert_close(evaluated.output.entropies, output.entropies)
    torch.testing.assert_close(module.compute_values(batch_of(games)), output.values)
    played = module.forward_inference(batch_of(games))[Columns.ACTIONS]
    agent = PolicyAgent(module.network, "the same")
    np.testing.assert_array_equal(played.numpy(), agent.act_batch(states))


@pytest.mark.parametrize("game", GAMES)
def test_actions_are_drawn_from_the_policy(game):
    played, module = positions(game, [3])[2], new_module(game)
    torch.manual_seed(1)
    drawn = module.forward_exploration(batch_of([played] * 2000))
    with torch.no_grad():
        evaluated = module.evaluate(batch_of([played]))
        listed = module.evaluate(batch_of([played] * 2000)).log_probabilities_of(drawn[Columns.ACTIONS])
    counts = torch.bincount(drawn[Columns.ACTIONS], minlength=len(played.action_mask()))
    assert counts[evaluated.actions].sum() == 2000, "legal actions alone"
    expected = evaluated.output.log_probabilities.exp()
    torch.testing.assert_close(counts[evaluated.actions] / 2000, expected, rtol=0, atol=0.04)
    torch.testing.assert_close(drawn[Columns.ACTION_LOGP], listed)


@pytest.mark.parametrize("game", GAMES)
def test_a_mask_without_legal_actions_harms_no_gradient_and_draws_nothing(game):
    """RLlib adds such rows to batches, and leaves them out of the loss."""
    games, module = positions(game, range(2)), new_module(game)
    batch = batch_of(games)
    batch[Columns.ACTIONS] = module.forward_exploration(batch)[Columns.ACTIONS]
    batch[Columns.OBS]["action_mask"][1] = 0
    outputs = module.forward_train(batch)
    learned = torch.ones(len(games), dtype=torch.bool)
    learned[1] = False
    log_probabilities, entropies = outputs[Columns.ACTION_DIST_INPUTS].unbind(1)
    values = module.compute_values(batch, outputs[Columns.EMBEDDINGS])
    (log_probabilities.exp() + entropies + values.square())[learned].sum().backward()
    assert all(torch.isfinite(parameter.grad).all() for parameter in module.parameters())
    with pytest.raises(ValueError, match=r"observation 1 of .* has a mask without a legal action"):
        module.forward_exploration(batch)


def test_the_divergence_is_estimated_without_bias():
    old, new = torch.tensor([0.5, 0.3, 0.2]), torch.tensor([0.2, 0.5, 0.3])
    one, other = (ChosenActions(torch.stack([p.log(), torch.zeros(3)], 1)) for p in (old, new))
    exact = (old * (old / new).log()).sum()
    torch.testing.assert_close((old * one.kl(other)).sum(), exact)
    with pytest.raises(NotImplementedError, match="draws the actions"):
        one.sample()

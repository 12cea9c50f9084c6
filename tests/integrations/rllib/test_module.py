"""The modules: the same policy as the project's agents play, and legal actions alone."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("ray")

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from ray.rllib.core.columns import Columns

from patchwork_env import agents
from patchwork_env.agents.networks import NetworkConfig, network_class
from patchwork_env.agents.policy import PolicyAgent, read_network, save_policy
from patchwork_env.games import rules_of
from patchwork_env.integrations.masked_policy import IMPOSSIBLE, evaluate
from patchwork_env.integrations.rllib.module import ChosenActions, module_spec
from patchwork_env.patchwork.actions import FIRST_BUY

pytestmark = pytest.mark.older

SIZES = {
    "patchwork": NetworkConfig(width=16, depth=1, channels=8),
    "nmbr9": NetworkConfig(width=16, depth=1),
}
GAMES = list(SIZES)


def positions(game, seeds, share=0.3):
    """Games that go on, from random play: of each turn the given share."""
    rng, found = np.random.default_rng(list(seeds)), []
    for seed in seeds:
        played = rules_of(game).game(seed=seed)
        while not played.is_over:
            if rng.random() < share:
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
def test_it_says_what_the_networks_of_agents_say(game):
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
def test_dense_logits_are_the_log_probabilities_of_legal_actions(game):
    games, module = positions(game, range(2)), new_module(game)
    batch = batch_of(games)
    seen = batch[Columns.OBS]
    with torch.no_grad():
        evaluated = evaluate(module.network, seen["observation"], seen["action_mask"])
    masks = seen["action_mask"]
    dense = evaluated.dense(masks.shape[1])
    assert (dense[masks == 0] == IMPOSSIBLE).all()
    torch.testing.assert_close(dense.exp().sum(1), torch.ones(len(games)))
    some = torch.from_numpy(np.stack([np.flatnonzero(played.action_mask())[-1] for played in games]))
    torch.testing.assert_close(evaluated.of(some), dense.gather(1, some[:, None]).squeeze(1))
    none = torch.from_numpy(np.stack([np.flatnonzero(played.action_mask() == 0)[-1] for played in games]))
    assert (evaluated.of(none) == IMPOSSIBLE).all()


@pytest.mark.parametrize("game", GAMES)
@settings(max_examples=15)
@given(seed=st.integers(0, 2**32 - 1))
def test_no_action_is_ever_drawn_that_is_not_legal(game, seed):
    games, module = positions(game, [seed], share=0.5), new_module(game, seed % 3)
    if not games:
        return
    for forward in (module.forward_exploration, module.forward_inference):
        chosen = forward(batch_of(games))
        for played, action in zip(games, chosen[Columns.ACTIONS].tolist(), strict=True):
            assert played.action_mask()[action] == 1
        assert (chosen[Columns.ACTION_LOGP] <= 0).all()
        with torch.no_grad():
            listed = module.evaluate(batch_of(games)).of(chosen[Columns.ACTIONS])
        torch.testing.assert_close(chosen[Columns.ACTION_LOGP], listed)


@pytest.mark.parametrize("game", GAMES)
def test_actions_are_drawn_from_the_policy(game):
    (played, *_), module = positions(game, [3], share=1.0)[5:], new_module(game)
    batch = batch_of([played] * 2000)
    torch.manual_seed(1)
    drawn = module.forward_exploration(batch)[Columns.ACTIONS]
    with torch.no_grad():
        evaluated = module.evaluate(batch_of([played]))
    frequencies = torch.bincount(drawn, minlength=int(evaluated.actions.max()) + 1)[evaluated.actions] / 2000
    torch.testing.assert_close(frequencies, evaluated.output.log_probabilities.exp(), rtol=0, atol=0.04)


def test_scores_of_illegal_placements_have_no_gradient(monkeypatch):
    games, module = positions("patchwork", range(3)), new_module("patchwork")
    batch, kept = batch_of(games), []
    actions = module.forward_exploration(batch)[Columns.ACTIONS]
    original = module.network.placement_maps

    def placement_maps(*inputs):
        kept.append(original(*inputs))
        kept[-1].retain_grad()
        return kept[-1]

    monkeypatch.setattr(module.network, "placement_maps", placement_maps)
    outputs = module.forward_train(batch | {Columns.ACTIONS: actions})
    distribution = ChosenActions.from_logits(outputs[Columns.ACTION_DIST_INPUTS])
    (distribution.logp(actions) + distribution.entropy()).sum().backward()
    legal = batch[Columns.OBS]["action_mask"][:, FIRST_BUY:] != 0
    (gradients,) = (maps.grad.flatten(1) for maps in kept)
    assert (gradients[~legal] == 0).all()
    assert (gradients[legal] != 0).any()


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


@pytest.mark.parametrize("game", GAMES)
def test_policies_go_to_checkpoints_and_back(game, tmp_path):
    games, module = positions(game, range(3)), new_module(game)
    save_policy(tmp_path / "policy", module.network)
    network, _ = read_network(tmp_path / "policy", network_class(game))
    other = module_spec(game, network.config).build()
    other.network.load_state_dict(network.state_dict())
    with torch.no_grad():
        one, same = module.evaluate(batch_of(games)), other.evaluate(batch_of(games))
    assert torch.equal(one.output.log_probabilities, same.output.log_probabilities)
    assert torch.equal(one.output.values, same.output.values)
    agent = agents.load(tmp_path / "policy")
    states = np.concatenate([played.state for played in games])
    played = other.forward_inference(batch_of(games))[Columns.ACTIONS]
    np.testing.assert_array_equal(agent.act_batch(states), played.numpy())

"""The example for sb3-contrib: it trains, saves, loads and measures."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
import torch
from sb3_contrib import MaskablePPO

from patchwork_env import nmbr9
from patchwork_env.patchwork import Game

PATCHWORK, NMBR9 = "patchwork_env:Patchwork-v0", "patchwork_env:Nmbr9-v0"


def test_it_trains_saves_and_measures(start, tmp_path):
    printed = start("sb3_maskable_ppo.py", "--steps", "256", "--games", "4", "--out", "model.zip")
    assert "mean reward: " in printed
    for opponent in ("random", "greedy"):
        assert f"maskable_ppo against {opponent}: 4 games" in printed
    model = MaskablePPO.load(tmp_path / "model.zip")
    assert model.num_timesteps >= 256
    assert model._n_updates > 0
    assert has_learned(model)
    game = Game(seed=3)
    action, _ = model.predict(game.observation(), action_masks=game.action_mask(), deterministic=True)
    assert int(action) in game.legal_actions()


def test_it_trains_on_nmbr9_alone(start, tmp_path):
    arguments = ["--game", "nmbr9", "--steps", "64", "--games", "2", "--out", "model.zip"]
    printed = start("sb3_maskable_ppo.py", *arguments)
    assert "maskable_ppo against greedy: 2 games, 2 decks" in printed
    model = MaskablePPO.load(tmp_path / "model.zip")
    assert has_learned(model, NMBR9)
    game = nmbr9.Game(seed=3, players=2)
    action, _ = model.predict(game.observation(), action_masks=game.action_mask(), deterministic=True)
    assert int(action) in game.legal_actions()


def has_learned(model: MaskablePPO, environment: str = PATCHWORK) -> bool:
    """Whether no weights are those that a fresh model with the same seed has."""
    models = [fresh_model(n_steps, environment) for n_steps in (8, 16)]
    before, same, after = map(weights, (*models, model))
    assert all(torch.equal(before[name], same[name]) for name in before)
    assert list(before) == list(after)
    assert all(bool(torch.isfinite(tensor).all()) for tensor in after.values())
    return not any(torch.equal(before[name], after[name]) for name in before)


def fresh_model(n_steps: int, environment: str) -> MaskablePPO:
    env = gymnasium.make(environment)
    layers = {"net_arch": [256, 256]}
    return MaskablePPO("MlpPolicy", env, seed=0, n_steps=n_steps, batch_size=8, policy_kwargs=layers)


def weights(model: MaskablePPO) -> dict[str, torch.Tensor]:
    return model.policy.state_dict()


@pytest.mark.parametrize("environment", [PATCHWORK, NMBR9])
def test_a_mask_given_to_predict_is_kept(environment):
    env = gymnasium.make(environment)
    model = MaskablePPO("MlpPolicy", env, n_steps=8, batch_size=8, seed=1)
    observation, info = env.reset(seed=1)
    while info["action_mask"].sum() < 20:  # the first tile of NMBR 9 has a single place
        observation, _, _, _, info = env.step(info["action_mask"].argmax())
    drawn = [int(model.predict(observation, action_masks=info["action_mask"])[0]) for _ in range(50)]
    assert len(set(drawn)) > 10
    assert np.all(info["action_mask"][drawn] == 1)

"""The example for sb3-contrib: it trains, saves, loads and measures."""

from __future__ import annotations

import gymnasium
import numpy as np
import torch
from sb3_contrib import MaskablePPO

from patchwork_env.patchwork import Game


def test_it_trains_saves_and_measures(start, tmp_path):
    printed = start("sb3_maskable_ppo.py", "--steps", "256", "--games", "4", "--out", "model.zip")
    assert "mean reward against random: " in printed
    for opponent in ("random", "greedy"):
        assert f"maskable_ppo against {opponent}: 4 games" in printed
    model = MaskablePPO.load(tmp_path / "model.zip")
    assert model.num_timesteps >= 256
    assert model._n_updates > 0
    assert has_learned(model)
    game = Game(seed=3)
    action, _ = model.predict(game.observation(), action_masks=game.action_mask(), deterministic=True)
    assert int(action) in game.legal_actions()


def has_learned(model: MaskablePPO) -> bool:
    """Whether no weights are those that a fresh model with the same seed has."""
    before, same, after = weights(fresh_model(8)), weights(fresh_model(16)), weights(model)
    assert all(torch.equal(before[name], same[name]) for name in before)
    assert list(before) == list(after)
    assert all(bool(torch.isfinite(tensor).all()) for tensor in after.values())
    return not any(torch.equal(before[name], after[name]) for name in before)


def fresh_model(n_steps: int) -> MaskablePPO:
    env = gymnasium.make("patchwork_env:Patchwork-v0")
    layers = {"net_arch": [256, 256]}
    return MaskablePPO("MlpPolicy", env, seed=0, n_steps=n_steps, batch_size=8, policy_kwargs=layers)


def weights(model: MaskablePPO) -> dict[str, torch.Tensor]:
    return model.policy.state_dict()


def test_a_mask_given_to_predict_is_kept():
    env = gymnasium.make("patchwork_env:Patchwork-v0")
    model = MaskablePPO("MlpPolicy", env, n_steps=8, batch_size=8, seed=1)
    observation, info = env.reset(seed=1)
    drawn = [int(model.predict(observation, action_masks=info["action_mask"])[0]) for _ in range(50)]
    assert len(set(drawn)) > 10
    assert np.all(info["action_mask"][drawn] == 1)

"""The example for sb3-contrib, which trains, saves and measures; a single environment with MaskablePPO."""

import pytest
import torch
from sb3_contrib import MaskablePPO

from patchwork_env import agents
from patchwork_env.integrations.sb3 import PatchworkPolicy, SelfPlayVecEnv
from patchwork_env.patchwork import Game

PATCHWORK, NMBR9 = "patchwork_env:Patchwork-v0", "patchwork_env:Nmbr9-v0"


@pytest.mark.slow
def test_it_trains_saves_and_measures(start, tmp_path):
    arguments = ["--steps", "256", "--envs", "4", "--games", "4", "--out", "model.zip"]
    printed = start("sb3_maskable_ppo.py", *arguments)
    for opponent in ("random", "greedy"):
        assert f"model.zip against {opponent}: 4 games" in printed
    model = MaskablePPO.load(tmp_path / "model.zip")
    assert model.num_timesteps >= 256
    assert model._n_updates > 0
    assert has_learned(model, "patchwork")
    game = Game(seed=3)
    action, _ = model.predict(game.observation(), action_masks=game.action_mask(), deterministic=True)
    assert int(action) == agents.load(tmp_path / "model.zip").act(game)


@pytest.mark.slow
def test_it_trains_on_nmbr9_alone(start, tmp_path):
    arguments = ["--game", "nmbr9", "--steps", "64", "--envs", "1", "--games", "2", "--out", "model.zip"]
    printed = start("sb3_maskable_ppo.py", *arguments)
    assert "model.zip against greedy: 2 games, 2 decks" in printed
    assert has_learned(MaskablePPO.load(tmp_path / "model.zip"), "nmbr9")


def has_learned(model, game):
    """Whether there are weights in all layers that a fresh model with the same seed does not have."""
    fresh = MaskablePPO(PatchworkPolicy, SelfPlayVecEnv(1, game=game), seed=0, n_steps=8, batch_size=8)
    before, after = (dict(one.policy.named_parameters()) for one in (fresh, model))
    assert list(before) == list(after)
    assert all(bool(torch.isfinite(tensor).all()) for tensor in after.values())
    same = [name for name in before if torch.equal(before[name], after[name])]
    return not set(same) - {"network.choice.weight", "network.choice.bias"}  # of NMBR 9 in free order

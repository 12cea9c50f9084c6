"""AgileRL on the batch of Gymnasium.

Runs where AgileRL is installed: ``make test-older``.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

pytest.importorskip("agilerl")

# AgileRL warns of itself and of tensordict.
pytestmark = [pytest.mark.older, pytest.mark.filterwarnings("ignore")]
with warnings.catch_warnings(action="ignore"):
    from agilerl.rollouts.on_policy import collect_rollouts

    from examples import agilerl_ppo as example


@pytest.fixture(scope="module")
def env():
    return example.make_env("random")


def test_what_it_collects_is_legal_and_complete(env) -> None:
    (agent,) = example.make_population(env, 1)
    scores, *_ = collect_rollouts(agent, env, n_steps=64)
    rollouts = agent.rollout_buffer.buffer
    actions, masks = (np.asarray(rollouts[name]) for name in ("actions", "action_masks"))
    assert masks.shape == (64, example.GAMES, 2026)
    assert np.take_along_axis(masks, actions.reshape(64, -1, 1).astype(int), 2).all(), (
        "every action was legal"
    )
    assert len(scores) >= example.GAMES, "games of some 20 decisions end and restart"
    assert all(-1 <= score <= 1 for score in scores)


def test_it_trains_and_plays(start) -> None:
    said = start("agilerl_ppo.py", "--steps", "2048", "--games", "4", ignored="ignore")
    assert "4 games" in said
    assert "greedy" in said

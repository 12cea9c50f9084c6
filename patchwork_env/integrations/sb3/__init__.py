"""Stable-Baselines3 and sb3-contrib: train their MaskablePPO on whole batches of games, by self-play.

>>> from sb3_contrib import MaskablePPO
>>> from patchwork_env.integrations.sb3 import PatchworkPolicy, SelfPlayCallback, SelfPlayVecEnv, evaluate
>>> model = MaskablePPO(PatchworkPolicy, SelfPlayVecEnv(64), n_steps=64, batch_size=512, gamma=1.0)
>>> model = model.learn(100_000, SelfPlayCallback())  # doctest: +SKIP
>>> print(evaluate(model, against="greedy").table())  # doctest: +SKIP

Needs the extra ``train``.
"""

from __future__ import annotations

from patchwork_env.core.extras import from_extra

with from_extra("train", f"{__name__} needs"):
    import sb3_contrib  # noqa: F401
    import stable_baselines3  # noqa: F401

from patchwork_env.integrations.sb3.evaluation import EvaluationCallback, evaluate, write_training
from patchwork_env.integrations.sb3.policy import BoolMaskBuffer, PatchworkPolicy, as_agent
from patchwork_env.integrations.sb3.self_play import SelfPlayCallback
from patchwork_env.integrations.sb3.vec_env import SelfPlayVecEnv

__all__ = [
    "BoolMaskBuffer",
    "EvaluationCallback",
    "PatchworkPolicy",
    "SelfPlayCallback",
    "SelfPlayVecEnv",
    "as_agent",
    "evaluate",
    "write_training",
]

"""TorchRL: a batch of games as one environment, and advantages for turns that need not alternate.

>>> from patchwork_env.integrations import torchrl
>>> env = torchrl.make_env("patchwork", num_envs=64, seed=7)
>>> env.rollout(10)["next", "rewards"].shape
torch.Size([64, 10, 2])

Needs the extra ``torchrl``.
"""

from __future__ import annotations

from patchwork_env.core.extras import from_extra

with from_extra("torchrl", f"{__name__} needs"):
    import torchrl as _torchrl  # noqa: F401

from patchwork_env.integrations.torchrl.advantages import TurnGAE
from patchwork_env.integrations.torchrl.env import GamesEnv, LegalActions, make_env

__all__ = ["GamesEnv", "LegalActions", "TurnGAE", "make_env"]

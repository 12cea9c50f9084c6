"""Training runs, and parts for algorithms of your own: one place to import from.

>>> from patchwork_env.learning import toolbox
>>> from patchwork_env.patchwork import Game
>>> network = toolbox.PatchworkNetwork(toolbox.NetworkConfig(width=32, depth=1, channels=0))
>>> inputs, legal = network.encode(Game(seed=7).state)
>>> network(inputs).log_probabilities.shape == legal.actions.shape
True

Games come in batches from ``patchwork_v0.SelfPlayBatch``, which has them as ``states``.

``docs/train/own_algorithm.md`` explains the names. ``examples/own_ppo.py`` uses the parts of algorithms
and ``examples/optuna_sweep.py`` the runs. Needs the extra ``train``.
"""

from __future__ import annotations

from patchwork_env.core.extras import from_extra

with from_extra("train", f"{__name__} needs"):
    import pydantic  # noqa: F401
    import torch  # noqa: F401

from patchwork_env.agents.network_config import NetworkConfig
from patchwork_env.agents.networks import PolicyAgent, PolicyNetwork, network_class, save_policy
from patchwork_env.agents.patchwork.policy.network import PatchworkNetwork
from patchwork_env.agents.ragged import LegalLists, legal_lists, most_probable, observations_of, sample
from patchwork_env.agents.ragged_policy import hierarchical_policy
from patchwork_env.envs.opponents import Opponents
from patchwork_env.errors import DivergenceError
from patchwork_env.learning.algorithms.common.advantages import (
    Decisions,
    NextChoices,
    advantages,
    next_choices,
    rewards_of_players,
)
from patchwork_env.learning.algorithms.common.gradients import ThreadPool, compute_gradient
from patchwork_env.learning.algorithms.common.league import SnapshotPool
from patchwork_env.learning.config import League, Reward, load_config
from patchwork_env.learning.evaluation import MatchResult, play_matches
from patchwork_env.learning.reports.run_results import write_training
from patchwork_env.learning.runs.run import Run, new_run, resumed_run
from patchwork_env.learning.system import tune_malloc

__all__ = [
    "Decisions",
    "DivergenceError",
    "League",
    "LegalLists",
    "MatchResult",
    "NetworkConfig",
    "NextChoices",
    "Opponents",
    "PatchworkNetwork",
    "PolicyAgent",
    "PolicyNetwork",
    "Reward",
    "Run",
    "SnapshotPool",
    "ThreadPool",
    "advantages",
    "compute_gradient",
    "hierarchical_policy",
    "legal_lists",
    "load_config",
    "most_probable",
    "network_class",
    "new_run",
    "next_choices",
    "observations_of",
    "play_matches",
    "resumed_run",
    "rewards_of_players",
    "sample",
    "save_policy",
    "tune_malloc",
    "write_training",
]

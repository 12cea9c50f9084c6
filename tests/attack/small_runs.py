"""Small runs of the algorithms: an iteration takes a moment."""

from __future__ import annotations

from tests.learning.distributed.configs import CONFIGS

PPO = """
total_steps: 1000
threads: 1
seed: 5
network: {width: 16, depth: 1, channels: 4}
ppo: {num_envs: 16, rollout_steps: 8, minibatch_size: 64, epochs: 1}
league: {fraction: 0.5, snapshot_every: 1, size: 2}
"""
MASKABLE_PPO = """
algorithm: maskable_ppo
total_steps: 1900
threads: 1
seed: 5
maskable_ppo:
  {num_envs: 16, rollout_steps: 16, minibatch_size: 64, epochs: 2, net_arch: [24],
   fixed_fraction: 0.25, fixed_opponents: [greedy]}
league: {fraction: 0.5, snapshot_every: 1, size: 2, opponents: 2}
"""
RUNS = {**CONFIGS, "ppo": PPO, "maskable_ppo": MASKABLE_PPO}
"""The text of a configuration for each algorithm."""

"""Configuration of Gumbel AlphaZero."""

from __future__ import annotations

from typing import ClassVar, Literal

from patchwork_env.agents.network_config import NetworkConfig
from patchwork_env.core.sections import Fixed, Section
from patchwork_env.games import PATCHWORK
from patchwork_env.learning.config import keys


class AlphaZero(Section):
    """Gumbel AlphaZero (Danihelka et al. 2022): the policy learns from the improvements of a search."""

    num_envs: Fixed[keys.Size] = 256
    """Number of games that are played at the same time."""
    rollout_steps: keys.Size = 32
    """Number of turns of each game in an iteration."""
    simulations: keys.Several = 16
    """Number of simulations of the search for each decision; more play better games and take more time."""
    max_considered: keys.Several = 8
    """Largest number of actions at the root that a search tries."""
    c_scale: keys.Rate = 3.0
    """Factor of values relative to logits in the search; ``c_scale`` of the paper."""
    window: keys.Size = 8
    """Number of the latest iterations whose games the network learns from."""
    gradient_steps: keys.Positive = 16
    """Number of gradient steps in an iteration."""
    minibatch_size: keys.Size = 1024
    """Number of decisions in a gradient step."""
    learning_rate: keys.Schedule = keys.Schedule(start=2e-3, end=1e-4, curve="geometric")
    """Step size of AdamW."""
    weight_decay: keys.NonNegative = 1e-4
    """Weight decay of AdamW."""
    value_coefficient: keys.NonNegative = 0.5
    """Weight of the squared error of the value in the loss."""
    td_lambda: keys.Fraction = 0.95
    """Decay of the lambda-returns that the value learns: 1 takes the outcome alone, 0 the next value of a
    search."""
    max_gradient_norm: keys.Rate = 1.0
    """Largest norm of gradients; longer ones are scaled down."""
    evaluation_simulations: keys.Count = 64
    """Number of simulations for each decision in evaluations; 0 and 1 play the policy without a search."""


class AlphaZeroConfig(keys.ClusterRun, keys.RewardedRun):
    """A run of Gumbel AlphaZero."""

    GAMES: ClassVar[tuple[str, ...]] = (PATCHWORK,)
    TRAINER: ClassVar[str] = "patchwork_env.learning.algorithms.alphazero.trainer:AlphaZeroTrainer"

    algorithm: Literal["alphazero"] = "alphazero"
    """The algorithm that learns."""
    alphazero: AlphaZero = AlphaZero()
    network: NetworkConfig = NetworkConfig()

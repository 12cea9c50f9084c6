"""Configuration of Gumbel AlphaZero."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from patchwork_env.games import PATCHWORK
from patchwork_env.learning.config.run_config import ClusterRun, RewardedRun
from patchwork_env.learning.config.sections import (
    Fraction,
    Network,
    NonNegative,
    NonNegativeInt,
    Positive,
    Rate,
    Schedule,
    Section,
)


class AlphaZero(Section):
    """Gumbel AlphaZero (Danihelka et al. 2022): learning from what a search makes of the policy."""

    num_envs: Positive = 256
    """Games that are played side by side."""
    rollout_steps: Positive = 32
    """Turns of each game in an iteration."""
    simulations: Annotated[int, Field(ge=2)] = 16
    """Simulations of the search for each decision."""
    max_considered: Annotated[int, Field(ge=2)] = 8
    """Actions of the root that a search tries."""
    c_visit: NonNegative = 50.0
    """Constant of the transformation of values in the search."""
    c_scale: Rate = 3.0
    """Weight of values against logits in the search."""
    window: Positive = 8
    """Iterations whose games are learned from."""
    gradient_steps: Positive = 16
    """Gradient steps in an iteration."""
    minibatch_size: Positive = 1024
    """Decisions in a gradient step."""
    learning_rate: Schedule = Schedule(start=2e-3, end=1e-4, curve="geometric")
    """Step size of AdamW."""
    weight_decay: NonNegative = 1e-4
    """Weight decay of AdamW."""
    value_coefficient: NonNegative = 0.5
    """Weight of the error of the value in the loss."""
    td_lambda: Fraction = 0.95
    """Decay of the lambda-returns that the value learns; 1 is the outcome alone."""
    max_gradient_norm: Rate = 1.0
    """Norm to which gradients are clipped."""
    evaluation_simulations: NonNegativeInt = 64
    """Simulations for each decision in evaluations; 0 is the bare policy."""


class AlphaZeroConfig(ClusterRun, RewardedRun):
    """A run of Gumbel AlphaZero."""

    GAMES: ClassVar[tuple[str, ...]] = (PATCHWORK,)
    TRAINER: ClassVar[str] = "patchwork_env.learning.algorithms.alphazero.trainer:AlphaZeroTrainer"

    algorithm: Literal["alphazero"] = "alphazero"
    """The algorithm that learns."""
    alphazero: AlphaZero = AlphaZero()
    network: Network = Network()


CONFIG = AlphaZeroConfig

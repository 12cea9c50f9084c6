"""Configuration that temporal-difference learning of a compiled value has in either game."""

from __future__ import annotations

from typing import Literal

from patchwork_env.learning.config.run_config import ClusterRun
from patchwork_env.learning.config.sections import Fraction, Positive, Rate, Schedule, Section


class TdLearning(Section):
    """Temporal-difference learning of a compiled value."""

    games: Positive = 512
    """Games in an iteration."""
    candidate_placements: Positive = 16
    """Placements that are tried of each patch (Patchwork) or on each level (NMBR 9), the likeliest ones."""
    exploration: Schedule = Schedule(start=0.1, end=0.02)
    """Probability of an action that is drawn from a softmax instead of the best one."""
    temperature: Rate = 0.05
    """Temperature of that softmax, in units of the value."""
    td_lambda: Fraction = 0.8
    """Decay of the lambda-returns that are learned."""
    window: Positive = 4
    """Iterations whose games are learned from."""
    gradient_steps: Positive = 64
    """Gradient steps in an iteration."""
    minibatch_size: Positive = 1024
    """Positions in a gradient step."""
    learning_rate: Schedule = Schedule(start=1e-3, end=1e-4, curve="geometric")
    """Step size of Adam."""
    warmup: Positive = 500
    """Gradient steps in which the step size rises to its start."""
    table_rate: Rate = 0.1
    """Factor on the step size of tables, of which a sum takes a hundred rows."""
    ema_decay: Fraction = 0.998
    """Decay of the moving average of the weights, which is what plays."""
    max_gradient_norm: Rate = 1.0
    """Norm to which gradients are clipped."""


class ValueRun(ClusterRun):
    """A run that learns a compiled value, on the CPU."""

    device: Literal["cpu"] = "cpu"
    """The processor: this algorithm does not use a GPU."""

"""Sections that runs of several algorithms have, and what all sections are made of.

The text below a field is its description: ``train --explain`` prints it beside the field's type and default.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

Positive = Annotated[int, Field(ge=1)]
NonNegativeInt = Annotated[int, Field(ge=0)]
Seed = Annotated[int, Field(ge=0, lt=2**64)]
Games = Annotated[int, Field(ge=2, multiple_of=2)]
Fraction = Annotated[float, Field(ge=0, le=1)]
NonNegative = Annotated[float, Field(ge=0)]
Rate = Annotated[float, Field(gt=0)]


class Section(BaseModel):
    """Typed values with defaults. Unknown keys, wrong types and numbers that are not finite are errors."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, allow_inf_nan=False, use_attribute_docstrings=True
    )


class Schedule(Section):
    """A number that moves from ``start`` to ``end`` over the run, in equal steps or by equal factors."""

    start: NonNegative
    """Value at the beginning of the run."""
    end: NonNegative
    """Value at the end of the run."""
    curve: Literal["linear", "geometric"] = "linear"
    """Whether it moves in equal steps or by equal factors; a geometric one needs values above 0."""

    @model_validator(mode="after")
    def _check_curve(self) -> Schedule:
        if self.curve == "geometric" and not (self.start > 0 and self.end > 0):
            raise ValueError(f"a geometric curve from {self.start} to {self.end}: both must be above 0")
        return self

    def at(self, progress: float) -> float:
        """The value when the fraction ``progress`` of the run is over."""
        progress = min(progress, 1.0)
        if self.curve == "geometric":
            return float(self.start * (self.end / self.start) ** progress)
        return self.start + (self.end - self.start) * progress


class Network(Section):
    """Sizes of the policy network; see ``NetworkConfig`` in ``agents/patchwork/policy_network.py``."""

    width: Positive = 256
    """Units of each hidden layer."""
    depth: Positive = 2
    """Number of hidden layers."""
    channels: Positive = 32
    """Channels of the convolutions over the boards."""


class Reward(Section):
    """What the end of a game is worth to a player."""

    outcome: NonNegative = 1.0
    """Reward of a win; a loss costs as much."""
    margin: NonNegative = 0.0
    """Weight of the difference of the scores, divided by ``margin_scale`` and clipped to -1 ... 1."""
    margin_scale: Rate = 40.0
    """Difference of the scores, in points, that counts as 1."""


class League(Section):
    """Past selves as opponents in some of the games."""

    fraction: Fraction = 0.25
    """Share of the games that are played against past selves."""
    snapshot_every: Positive = 10
    """Iterations between two snapshots of the policy."""
    size: Positive = 20
    """Number of snapshots that are kept; the oldest goes first."""
    opponents: Positive = 4
    """Number of snapshots that are played against at a time."""
    choice: Literal["uniform", "hard", "even"] = "hard"
    """Which snapshots are drawn more often: none, those that win most, or those that win every other game."""
    half_life: Positive = 20
    """Iterations after which a result counts half."""


class Evaluation(Section):
    """Paired games against fixed opponents during the run and at its end."""

    every: Positive | None = 20
    """Iterations between two evaluations; null for none by iterations."""
    every_steps: Positive | None = None
    """Steps between two evaluations, beside those by iterations; null for none by steps."""
    seed: Seed = 0
    """Seed of the circles or decks that are played, and of the players; the same in all runs by default."""
    games: Games = 200
    """Games against each opponent."""
    final_games: Games = 1000
    """Games against each opponent at the end of the run."""
    opponents: tuple[str, ...] = ("random", "greedy")
    """Specs of the agents to play against."""


class Cluster(Section):
    """Self-play by workers of Ray; what they play does not depend on how many there are."""

    address: Annotated[str, Field(min_length=1)] = "local"
    """``local`` for a Ray of the run's own, ``auto`` for this machine's cluster, or ``host:port`` of one."""
    workers: NonNegativeInt = 0
    """Number of workers; with 0 the run stays in one process and needs no Ray."""
    games_per_job: Positive = 64
    """Games that a worker gets at a time."""
    ahead: bool = False
    """Whether workers play the next iteration's games during learning, or wait for the new weights."""
    patience: Rate = 120.0
    """Seconds without any worker after which the run ends."""

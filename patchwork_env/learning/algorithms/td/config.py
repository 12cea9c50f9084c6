"""Configuration of temporal-difference learning, of Patchwork (``td``) and of NMBR 9 (``solo_td``)."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import model_validator

from patchwork_env.core.sections import Section
from patchwork_env.games import NMBR9, PATCHWORK
from patchwork_env.learning.config import keys


class TdLearning(Section):
    """Temporal-difference learning of a compiled value."""

    games: keys.Size = 512
    """Number of games in an iteration."""
    candidate_placements: keys.Size = 16
    """Number of the most probable placements of each patch (Patchwork) or on each level (NMBR 9) that the
    value compares."""
    exploration: keys.Schedule = keys.Schedule(start=0.1, end=0.02)
    """Probability that an action is drawn from a softmax over the values, instead of taking the best one."""
    temperature: keys.Rate = 0.05
    """Temperature of that softmax, in units of the value; higher ones draw more evenly."""
    td_lambda: keys.Fraction = 0.8
    """Decay of the lambda-returns that are learned: 1 takes the result of the game, 0 the next value."""
    window: keys.Size = 4
    """Number of the latest iterations whose games the network learns from."""
    gradient_steps: keys.Positive = 64
    """Number of gradient steps in an iteration."""
    minibatch_size: keys.Size = 1024
    """Number of positions in a gradient step."""
    learning_rate: keys.Schedule = keys.Schedule(start=1e-3, end=1e-4, curve="geometric")
    """Step size of Adam, after ``warmup``."""
    warmup: keys.Positive = 500
    """Number of gradient steps at the beginning of the run in which the step size rises from 0."""
    table_rate: keys.Rate = 0.1
    """Factor on the step size of tables, because the network adds up about a hundred of their rows."""
    ema_decay: keys.Fraction = 0.998
    """Decay of the moving average of the weights per gradient step; games are played with the average."""
    averaging_power: keys.NonNegative | None = None
    """Power of polynomial-decay averaging: the trained value is the mean of the weights that played, where a
    gradient step counts in proportion to its number to this power. Null takes the last of these weights."""
    max_gradient_norm: keys.Rate = 1.0
    """Norm to which longer gradients are shortened."""


class Td(TdLearning):
    """Temporal-difference learning of a compiled value by greedy self-play (Tesauro 1995)."""

    openings: keys.Fraction = 0.3
    """Share of the games, 0 to 1, in which scripted players make the first turns; they play the quick policy
    of ``mcts``."""
    scripted_player_fraction: keys.Fraction = 0.2
    """Share of the games, 0 to 1, in which a scripted player plays one side to the end."""
    rival_weight: keys.Fraction = 1.0
    """Weight of the opponent's points when actions are chosen in self-play; with 1, players may block each
    other for whole games."""


class SoloTd(TdLearning):
    """Temporal-difference learning of a value of NMBR 9, where all players play for their own score."""

    temperature: keys.Rate = 1.0
    """Temperature of the softmax of ``exploration``, in points; higher ones draw more evenly."""


class ValueRun(keys.ClusterRun):
    """A run that learns a compiled value; it uses no GPU."""

    TRAINER: ClassVar[str] = "patchwork_env.learning.algorithms.td.trainer:TdTrainer"

    device: Literal["cpu"] = "cpu"
    """The device on which PyTorch learns; this algorithm uses no GPU."""


class TdConfig(ValueRun, keys.RewardedRun):
    """A run of temporal-difference learning of Patchwork."""

    GAMES: ClassVar[tuple[str, ...]] = (PATCHWORK,)

    algorithm: Literal["td"] = "td"
    """The algorithm that learns."""
    td: Td = Td()

    @model_validator(mode="after")
    def _check(self) -> TdConfig:
        if self.reward.margin_cut is not None:
            cut = self.reward.margin_cut
            raise ValueError(f"reward.margin_cut is {cut}; td learns whole margins, so it must be null")
        openings, sides = self.td.openings, self.td.scripted_player_fraction
        if openings + sides > 1:
            shares = f"td.openings is {openings}, td.scripted_player_fraction {sides}"
            raise ValueError(f"{shares}; the sum must be at most 1")
        return self


class SoloTdConfig(ValueRun):
    """A run of temporal-difference learning of NMBR 9."""

    GAMES: ClassVar[tuple[str, ...]] = (NMBR9,)

    game: str = NMBR9
    """The game that is learned."""
    algorithm: Literal["solo_td"] = "solo_td"
    """The algorithm that learns."""
    solo_td: SoloTd = SoloTd()

"""Measurements of a model's strength: paired games with intervals, at any time and during training."""

from __future__ import annotations

import os
from pathlib import Path
from time import perf_counter
from typing import Any

from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from torch import nn

from patchwork_env.core.checks import check_at_least_one, check_seed
from patchwork_env.integrations.sb3.policy import as_agent
from patchwork_env.integrations.sb3.vec_env import SelfPlayVecEnv
from patchwork_env.learning.evaluation import MatchResult, play_matches
from patchwork_env.learning.evaluation.matches import Player
from patchwork_env.learning.reports.run_results import Evaluated, write_training
from patchwork_env.learning.runs.evaluations import metrics

__all__ = ["EvaluationCallback", "evaluate", "write_training"]


def evaluate(
    model: Any, against: Player = "greedy", games: int = 200, *, seed: int | None = 0, **options: Any
) -> MatchResult:
    """Play paired games of a model's likeliest actions against an agent.

    >>> result = evaluate("greedy", against="random", games=20)  # or a model, or "model.zip"
    >>> result.win_rate > 0.9, result.interval[1]
    (True, 1.0)

    The model is a ``MaskablePPO``, its policy, or any agent: a spec, such as the path of a saved model, or a
    function.
    Options and result are those of :func:`~patchwork_env.learning.evaluation.play_matches`: ``win_rate`` with
    its 95% ``interval``, ``score_difference``, ``table()``, ``as_dict()``.
    """
    agent = as_agent(model) if isinstance(model, BaseAlgorithm | nn.Module) else model
    return play_matches(agent, against, games, seed, **options)


class EvaluationCallback(BaseCallback):
    """Evaluates a model like :func:`evaluate` every ``every`` rollouts, after it has learned from them.

    The logger gets ``evaluation/win_rate_against_...`` with its 95% interval, and the means of other figures.

    Args:
        against: The opponent, or a list of them, each in ``games`` games.
        every: The number of rollouts between two evaluations.
        seed: The seed of the circles or decks in every evaluation.
        verbose: 1 prints a line about each match.
        options: Further arguments of :func:`~patchwork_env.learning.evaluation.play_matches`.

    Attributes:
        results: For each evaluation the turns, the minutes of training, and the results by opponent. Turns
            are those of all games in a ``SelfPlayVecEnv``; in other environments they are the learner's
            decisions, ``num_timesteps`` of the model.
    """

    def __init__(
        self,
        against: Player | list[Player] | tuple[Player, ...] = ("greedy",),
        *,
        every: int = 20,
        games: int = 200,
        seed: int = 0,
        verbose: int = 0,
        **options: Any,
    ) -> None:
        super().__init__(verbose)
        self.results: list[Evaluated] = []
        self._against = list(against) if isinstance(against, list | tuple) else [against]
        self._every = check_at_least_one(every, "every")
        self._games, self._seed, self._options = games, check_seed(seed), options
        self._rollouts = 0
        self._turns, self._minutes = 0, 0.0
        self._began: tuple[int, float] | None = None  # turns and time of the last count, during training

    def write_training(self, folder: str | os.PathLike[str], name: str, **options: Any) -> Path:
        """Write all evaluations, and one of the present weights, as a file for ``patchwork-env compare``.

        Arguments and errors are those of :func:`~patchwork_env.integrations.sb3.write_training`; seed and
        algorithm are those of the model by default. The file is ``NAME-seedN.json``.
        """
        if not hasattr(self, "model"):
            raise ValueError("the callback has seen no training yet: give it to learn")
        self._count()
        if not self.results or self.results[-1][0] < self._turns:
            self._evaluate()
        of_model: dict[str, Any] = {"seed": self.model.seed or 0, "algorithm": type(self.model).__name__}
        return write_training(folder, name, self.results, **(of_model | options))

    def _on_training_start(self) -> None:
        self._began = self._played(), perf_counter()

    def _on_step(self) -> bool:
        return True

    def _on_rollout_start(self) -> None:
        self._evaluate_if_due()

    def _on_rollout_end(self) -> None:
        self._rollouts += 1  # the model learns from it next

    def _on_training_end(self) -> None:
        self._evaluate_if_due()
        self._count()
        self._began = None

    def _evaluate_if_due(self) -> None:
        self._count()
        is_new = self._turns > (self.results[-1][0] if self.results else 0)
        if is_new and self._rollouts % self._every == 0:
            self._evaluate()

    def _count(self) -> None:
        """Add the turns and the minutes since training began or was counted."""
        if self._began is not None:
            (played, seconds), self._began = self._began, (self._played(), perf_counter())
            self._turns += self._began[0] - played
            self._minutes += (self._began[1] - seconds) / 60

    def _played(self) -> int:
        """Return the turns in the environment, or the decisions if it does not count turns."""
        env = self.training_env.unwrapped
        return env.turns if isinstance(env, SelfPlayVecEnv) else self.model.num_timesteps

    def _evaluate(self) -> None:
        played = [
            evaluate(self.model, opponent, self._games, seed=self._seed, **self._options)
            for opponent in self._against
        ]
        self.results.append((self._turns, self._minutes, played))
        for result in played:
            for name, value in metrics(result).items():
                self.logger.record(name, value)
            if self.verbose:
                print(f"after {self.model.num_timesteps:,} decisions, {result.summary()}")
        self.logger.dump(self.model.num_timesteps)  # otherwise they are logged with the next rollout
        if self._began is not None:
            self._began = self._played(), perf_counter()  # evaluating is no training

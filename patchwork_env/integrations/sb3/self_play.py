"""Self-play as a callback of Stable-Baselines3, against the present self, past selves and fixed agents."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from stable_baselines3.common.callbacks import BaseCallback
from torch import nn

from patchwork_env.agents import Agent
from patchwork_env.core.checks import check_between, check_seed
from patchwork_env.core.names import short_repr
from patchwork_env.envs.options import complete
from patchwork_env.integrations.sb3.policy import as_agent, snapshot_of
from patchwork_env.integrations.sb3.vec_env import SelfPlayVecEnv
from patchwork_env.learning.algorithms.common.league import SnapshotPool
from patchwork_env.learning.algorithms.common.trainer import MAX_EXACT_INT, State, prefixed
from patchwork_env.learning.config import League

_PRESENT_SELF = 0


class SelfPlayCallback(BaseCallback):
    """Trains a model of MaskablePPO against its present weights, and against past ones from a league.

    Use it as ``model.learn(1_000_000, SelfPlayCallback(fraction=0.25))``. The environment is a
    :class:`SelfPlayVecEnv` for several players, wrapped or not. A ``fixed_fraction`` of the games are against
    the environment's own opponents, and a ``fraction`` against past selves. All others are against the
    present self, which always has the learner's weights. Opponents sample their actions, and a game keeps its
    opponent to its end; those of ``env.set_opponents`` get no more games from the next rollout on. The logger
    gets win rates as ``games/...`` and ``league/...``.

    The callback keeps its league in later calls of ``learn``, also with another environment or model.

    Args:
        fixed_fraction: The share of the games against the environment's own opponents, 0 to 1.
        seed: The seed of all draws, ``0 ... 2**64 - 1``; None for that of the model.
        league: Keys of the section ``league`` of configurations, see
            :class:`~patchwork_env.learning.config.League`, with the same defaults.

    Attributes:
        pool: The past selves, and the results against them.

    Raises:
        ValueError, UnknownOptionError: A value is not allowed, or the model's environment is another one.
    """

    def __init__(
        self, *, fixed_fraction: float = 0.0, seed: int | None = None, verbose: int = 0, **league: Any
    ) -> None:
        super().__init__(verbose)
        self.league = League(**complete(league, League().model_dump(), type(self)))
        share = self.league.fraction
        is_share = isinstance(fixed_fraction, int | float) and fixed_fraction >= 0
        if not (is_share and share + fixed_fraction <= 1):
            raise ValueError(
                f"fixed_fraction is {short_repr(fixed_fraction)}; with a fraction of {share} "
                f"it must be from 0 to {1 - share:g}"
            )
        self._fixed_fraction, self._seed = fixed_fraction, seed if seed is None else check_seed(seed)
        self.pool: SnapshotPool[nn.Module] = SnapshotPool(self.league)
        self._rollouts = 0
        self._env: SelfPlayVecEnv | None = None
        self._learner: Any = None

    # --- stored leagues -----------------------------------------------------------------------------------

    def state_dict(self) -> State:
        """Return the past selves and the results against them."""
        return {**self.pool.state_dict(), "rollouts": self._rollouts}

    def load_state_dict(self, state: State, model: Any) -> None:
        """Continue with the league of a :meth:`state_dict`, whose policies have the shape of ``model``'s."""
        pool: SnapshotPool[nn.Module] = SnapshotPool(self.league)
        pool.load_state_dict(state, snapshot_of(model))
        self._rollouts = check_between(state["rollouts"], 0, MAX_EXACT_INT, "the number of rollouts")
        self.pool = pool

    # --- while a model learns -----------------------------------------------------------------------------

    def _init_callback(self) -> None:
        env = self.training_env.unwrapped
        if not isinstance(env, SelfPlayVecEnv) or env.num_players == 1:
            what = "one for a single player" if isinstance(env, SelfPlayVecEnv) else short_repr(env)
            raise ValueError(f"the environment is {what}; self-play needs a SelfPlayVecEnv with opponents")
        if env is self._env and self.model is self._learner:
            return
        self._present_self: Agent = as_agent(self.model, "present self", sample=True)
        self._env, self._learner, self._has_begun = env, self.model, False
        self.random = np.random.default_rng(self.model.seed if self._seed is None else self._seed)
        self._past_selves: dict[int, Agent] = {}
        self._fixed = env.first_opponents
        self._results: list[tuple[Agent, bool]] = []

    def _on_rollout_start(self) -> None:
        self.choose_opponents()

    def _on_step(self) -> bool:
        for info in self.locals["infos"]:
            if "opponent" in info:
                self._results.append((self._games.opponents[info["opponent"]], info["is_success"]))
        return True

    def _on_rollout_end(self) -> None:
        self.record_results()
        self.add_snapshot_if_due()

    @property
    def _games(self) -> SelfPlayVecEnv:
        assert self._env is not None
        return self._env

    def choose_opponents(self) -> None:
        """Draw past selves, and assign opponents to games that begin; at first to all games at once."""
        at_once, self._has_begun = not self._has_begun, True
        in_play = set() if at_once else {key for key in self.opponent_keys() if key >= 0}
        drawn = self.pool.draw(self.random, in_play)
        self._past_selves = {number: self._past_self(number) for number in (*drawn, *sorted(in_play))}
        opponents = [self._present_self, *(self._past_selves[number] for number in drawn), *self._fixed]
        leaving = [self._past_selves[number] for number in sorted(in_play.difference(drawn))]
        for opponent in (*opponents, *leaving):
            opponent.reseed(int(self.random.integers(2**63)))
        games = self._games.num_envs
        numbers = np.full(games, _PRESENT_SELF)
        first_fixed = games - round(self._fixed_fraction * games)
        first_league = max(0, first_fixed - round(self.league.fraction * games))
        numbers[first_league:first_fixed] = self._in_turn(first_fixed - first_league, 1, len(drawn))
        numbers[first_fixed:] = self._in_turn(games - first_fixed, 1 + len(drawn), len(self._fixed))
        self._games.set_opponents(opponents, numbers=numbers, at_once=at_once)

    def _in_turn(self, count: int, first: int, choices: int) -> npt.NDArray[np.int64]:
        """Return the opponents of ``count`` games: numbers from ``first`` on in turn, or the present self."""
        if choices == 0:
            return np.full(count, _PRESENT_SELF)
        return first + np.arange(count) // self._games.num_players % choices

    def _past_self(self, number: int) -> Agent:
        """Return the agent of a snapshot, the same object as long as the snapshot is in play."""
        make = partial(as_agent, name="past self", sample=True)
        return self._past_selves.get(number) or make(self.pool.policies[number])

    def record_results(self) -> None:
        """Record the results of a rollout's games in the league and the logger."""
        wins, games = {}, {}
        for number, past_self in self._past_selves.items():
            won = [won for opponent, won in self._results if opponent is past_self]
            wins[number], games[number] = float(sum(won)), float(len(won))
        self.pool.record(wins, games)
        metrics = prefixed("league", self.pool.statistics())
        if sum(games.values()):
            metrics["games/win_rate_against_past_self"] = sum(wins.values()) / sum(games.values())
        for agent in self._fixed:
            if won := [won for opponent, won in self._results if opponent is agent]:
                metrics[f"games/win_rate_against_{agent.name}"] = float(np.mean(won))
        self._results.clear()
        for name, value in metrics.items():
            self.logger.record(name, value)

    def add_snapshot_if_due(self) -> None:
        """Count a rollout, and add the present self to the league every ``snapshot_every`` rollouts."""
        self._rollouts += 1
        if self._rollouts % self.league.snapshot_every == 0:
            self.pool.add(snapshot_of(self.model))

    # --- games in progress --------------------------------------------------------------------------------

    def opponent_keys(self) -> list[int]:
        """Return each game's opponent: a past self's number, -1 for the present self, lower if fixed."""
        agents = [self._present_self, *self._fixed]
        keys = {id(agent): -1 - place for place, agent in enumerate(agents)}
        keys |= {id(agent): number for number, agent in self._past_selves.items()}
        opponents = self._games.opponents  # between two calls of learn, others may have joined
        return [keys.get(id(opponents[number]), -1) for number in self._games.opponent_numbers]

    def load_opponent_keys(self, keys: Sequence[int]) -> None:
        """Assign the opponents of :meth:`opponent_keys` to the games in progress."""
        self._past_selves = {key: self._past_self(key) for key in sorted(set(keys)) if key >= 0}
        opponents = [self._present_self, *self._fixed, *self._past_selves.values()]
        places = {key: 1 + len(self._fixed) + place for place, key in enumerate(self._past_selves)}
        numbers = [places[key] if key >= 0 else -1 - key for key in keys]
        self._games.set_opponents(opponents, numbers=np.array(numbers), at_once=True)

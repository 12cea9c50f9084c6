"""Who the learner plays against: its present self, past selves of a league, and fixed agents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic

import numpy as np
import numpy.typing as npt

from patchwork_env.agents import Agent
from patchwork_env.integrations.sb3.vec_env import FinishedGames, SelfPlayVecEnv
from patchwork_env.learning.algorithms.common.league import Policy, SnapshotPool
from patchwork_env.learning.algorithms.common.trainer import grouped

_PRESENT_SELF = 0


class SelfPlayOpponents(Generic[Policy]):
    """Gives every game of an environment its opponent, and tells the league how games ended.

    Fixed agents have the last games, past selves those before, and the present self all others. Call
    :meth:`choose` before a rollout and :meth:`note_results` after it. A game keeps its opponent to its end.

    Args:
        env: The environment, which keeps the games that end.
        present_self: The agent that plays the learner's present weights.
        past_self: The function that makes the agent of a snapshot.
        pool: The snapshots.
        fixed: The fixed agents.
        fixed_fraction: The share of the games that fixed agents have, 0 to 1.
        random: The generator of the random numbers for draws of snapshots and seeds of opponents.
    """

    def __init__(
        self,
        env: SelfPlayVecEnv,
        present_self: Agent,
        past_self: Callable[[Policy], Agent],
        pool: SnapshotPool[Policy],
        fixed: Sequence[Agent],
        fixed_fraction: float,
        random: np.random.Generator,
    ) -> None:
        self.pool = pool
        self._env = env
        self._present_self, self._make_past_self, self._fixed = present_self, past_self, list(fixed)
        self._fixed_fraction = fixed_fraction
        self._random = random
        self._past_selves: dict[int, Agent] = {}
        env.set_opponents([present_self])

    def choose(self, *, at_once: bool = False) -> None:
        """Draws past selves, and gives opponents to games that begin, or to all games ``at_once``."""
        in_play = set() if at_once else {number for number in self.keys() if number >= 0}
        drawn = self.pool.draw(self._random, in_play)
        self._past_selves = {number: self._past_self(number) for number in (*drawn, *sorted(in_play))}
        opponents = [self._present_self, *(self._past_selves[number] for number in drawn), *self._fixed]
        leaving = [self._past_selves[number] for number in sorted(in_play.difference(drawn))]
        for opponent in (*opponents, *leaving):
            opponent.reseed(int(self._random.integers(2**63)))
        games = self._env.num_envs
        numbers = np.full(games, _PRESENT_SELF)
        first_fixed = games - round(self._fixed_fraction * games)
        first_league = max(0, first_fixed - round(self.pool.config.fraction * games))
        numbers[first_league:first_fixed] = self._in_turn(first_fixed - first_league, 1, len(drawn))
        numbers[first_fixed:] = self._in_turn(games - first_fixed, 1 + len(drawn), len(self._fixed))
        self._env.set_opponents(opponents, numbers, at_once=at_once)

    def _in_turn(self, count: int, first: int, choices: int) -> npt.NDArray[np.int64]:
        """The opponents of ``count`` games, ``choices`` of them from ``first`` on, each from all seats.

        Without any choice it is the present self.
        """
        if choices == 0:
            return np.full(count, _PRESENT_SELF)
        return first + np.arange(count) // self._env.num_players % choices

    def _past_self(self, number: int) -> Agent:
        """The agent of a snapshot, the same object as long as the snapshot is in play."""
        return self._past_selves.get(number) or self._make_past_self(self.pool.policy(number))

    def keys(self) -> list[int]:
        """The opponent in each game: a past self's number, -1 for the present self, lower for a fixed one."""
        agents = [self._present_self, *self._fixed]
        keys = {id(agent): -1 - place for place, agent in enumerate(agents)}
        keys |= {id(agent): number for number, agent in self._past_selves.items()}
        return [keys[id(self._env.opponents[number])] for number in self._env.opponent_numbers]

    def note_results(self, finished: FinishedGames) -> dict[str, float]:
        """Tells the league how games against past selves ended; returns metrics by name."""
        met = [self._env.opponents[number] for number in finished.opponents]
        wins, games = {}, {}
        for number, past_self in self._past_selves.items():
            won = [won for won, opponent in zip(finished.won, met, strict=True) if opponent is past_self]
            wins[number], games[number] = float(sum(won)), float(len(won))
        self.pool.record(wins, games)
        metrics = grouped("league", self.pool.statistics())
        if sum(games.values()):
            metrics["games/win_rate_against_past_self"] = sum(wins.values()) / sum(games.values())
        for agent in self._fixed:
            place = next((k for k, opponent in enumerate(self._env.opponents) if opponent is agent), -1)
            won_against = finished.won[finished.opponents == place]
            if len(won_against):
                metrics[f"games/win_rate_against_{agent.name}"] = float(won_against.mean())
        return metrics

    def load_keys(self, keys: Sequence[int]) -> None:
        """Gives games in progress the opponents that :meth:`keys` of such opponents returned."""
        self._past_selves = {key: self._past_self(key) for key in sorted(set(keys)) if key >= 0}
        opponents = [self._present_self, *self._fixed, *self._past_selves.values()]
        places = {key: 1 + len(self._fixed) + place for place, key in enumerate(self._past_selves)}
        numbers = [places[key] if key >= 0 else -1 - key for key in keys]
        self._env.set_opponents(opponents, np.array(numbers), at_once=True)

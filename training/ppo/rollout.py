"""Self-play: collects turns of many games, against the present self and past ones."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from patchwork_env.agents import ragged
from patchwork_env.agents.network import PatchworkNetwork, encode
from patchwork_env.patchwork.state import States
from patchwork_env.patchwork.vector_env import SelfPlayVectorEnv
from training.advantages import Decisions
from training.config import Reward
from training.crew import Crew
from training.rewards import rewards_of_players
from training.statistics import statistics_of_turns


@dataclass
class Rollout:
    """``T`` turns of ``N`` games.

    Attributes:
        states: ``(T, N)`` state records before each turn.
        actions: int64 ``(T, N)``.
        log_probabilities: float32 ``(T, N)``, of the actions when they were chosen.
        decisions: What advantages need.
        statistics: See :func:`~training.statistics.statistics_of_turns`; and the learner's win rate against
            past selves.
    """

    states: States
    actions: npt.NDArray[np.int64]
    log_probabilities: npt.NDArray[np.float32]
    decisions: Decisions
    statistics: dict[str, float]


class Choice:
    """What a network chooses for a batch of states.

    Attributes:
        actions: int64 ``(n,)``, drawn from the policy.
        log_probabilities: float32 ``(n,)``, of the actions.
        values: float32 ``(n,)``.
    """

    def __init__(
        self, network: PatchworkNetwork, states: States, random: np.random.Generator, crew: Crew
    ) -> None:
        parts = crew.map(partial(_evaluate, network), np.array_split(states, crew.size))
        counts, actions, log_probabilities, self.values = map(np.concatenate, zip(*parts, strict=True))
        chosen = ragged.sample(counts, log_probabilities, random.random(len(states)))
        self.actions = actions[chosen]
        self.log_probabilities = log_probabilities[chosen]


def _evaluate(network: PatchworkNetwork, states: States) -> tuple[npt.NDArray[Any], ...]:
    """Numbers of legal actions, these actions, their log-probabilities, and values."""
    inputs, legal = encode(states)
    with torch.inference_mode():
        output = network(inputs.to(network.device))
    return legal.counts, legal.actions, output.log_probabilities.cpu().numpy(), output.values.cpu().numpy()


class SelfPlay:
    """Plays the learner in all games of a batch; in the last ones against a past self.

    A turn with a single legal action is no decision: nobody is asked, and nothing is learned from it.

    Args:
        env: The games; neither masks nor observations are used.
        reward: What the game is worth.
        league_fraction: Fraction of the games that is played against a past self, if there is one.
        crew: Shares the work on each turn.
    """

    def __init__(
        self, env: SelfPlayVectorEnv, reward: Reward, league_fraction: float, crew: Crew | None = None
    ) -> None:
        self.env = env
        self.reward = reward
        self._crew = crew or Crew()
        games = np.arange(env.num_envs)
        self._is_league_game = games >= env.num_envs - round(league_fraction * env.num_envs)
        self._learner_seats = (games % 2).astype(np.uint8)

    def collect(
        self,
        learner: PatchworkNetwork,
        past_self: PatchworkNetwork | None,
        turns: int,
        random: np.random.Generator,
    ) -> Rollout:
        """Plays ``turns`` turns in every game.

        Args:
            learner: Plays all games that are not league games, and one seat of these.
            past_self: Plays the other seat of the league games; None if there is none yet.
            turns: At least 1.
            random: Draws the moves.
        """
        env, shape = self.env, (turns, self.env.num_envs)
        states = np.empty(shape, env.states.dtype)
        actions = np.zeros(shape, np.int64)
        log_probabilities, values = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
        players, learning = np.empty(shape, np.uint8), np.empty(shape, np.bool_)
        winners, scores = np.empty(shape, np.int8), np.empty((*shape, 2), np.int16)
        for t in range(turns):
            states[t], players[t] = env.states, env.current_players
            has_choice = env.counts > 1
            actions[t] = env.random_actions  # right where there is no choice
            learning[t] = has_choice & self._learner_moves(past_self)
            mine = np.flatnonzero(learning[t])
            choice = Choice(learner, env.states[mine], random, self._crew)
            actions[t, mine] = choice.actions
            log_probabilities[t, mine], values[t, mine] = choice.log_probabilities, choice.values
            theirs = np.flatnonzero(has_choice & ~learning[t])
            if past_self is not None and len(theirs):
                actions[t, theirs] = Choice(past_self, env.states[theirs], random, self._crew).actions
            env.step(actions[t])
            winners[t], scores[t] = env.winners, env.final_scores
        ends = winners >= 0
        last_values = Choice(learner, env.states, random, self._crew).values
        rewards, last_players = rewards_of_players(self.reward, winners, scores), env.current_players.copy()
        decisions = Decisions(players, learning, values, rewards, ends, last_players, last_values)
        statistics = statistics_of_turns(states, actions) | self._statistics(winners, past_self is not None)
        return Rollout(states, actions, log_probabilities, decisions, statistics)

    def _learner_moves(self, past_self: PatchworkNetwork | None) -> npt.NDArray[np.bool_]:
        if past_self is None:
            return np.ones(self.env.num_envs, np.bool_)
        return ~self._is_league_game | (self.env.current_players == self._learner_seats)

    def _statistics(self, winners: npt.NDArray[np.int8], league: bool) -> dict[str, float]:
        league_ends = (winners >= 0) & self._is_league_game
        if not (league and league_ends.any()):
            return {}
        learner_wins = winners == self._learner_seats
        return {"win_rate_against_past_self": float(learner_wins[league_ends].mean())}

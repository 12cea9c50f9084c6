"""Self-play: collects turns of many games, against the present self and past ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from patchwork_env.agents import ragged
from patchwork_env.agents.patchwork.evaluation import NetworkEvaluator
from patchwork_env.agents.patchwork.policy_network import PatchworkNetwork
from patchwork_env.core import batches
from patchwork_env.core.batches import loop
from patchwork_env.learning.algorithms.common.advantages import Decisions
from patchwork_env.learning.algorithms.common.rewards import rewards_of_players
from patchwork_env.learning.algorithms.common.threads import ThreadPool
from patchwork_env.learning.config import Reward
from patchwork_env.patchwork.components import NUM_PLAYERS
from patchwork_env.patchwork.engine import winner
from patchwork_env.patchwork.figures import Tally
from patchwork_env.patchwork.rules import RULES
from patchwork_env.patchwork.state import States
from patchwork_env.patchwork_v0 import SelfPlayVectorEnv
from patchwork_env.search import Evaluation

_LEARNER, NEW_GAME = -1, -2
"""In place of the number of a past self: the learner itself; nobody yet, in a game without a turn."""


class LeagueResults(NamedTuple):
    """Games against past selves that ended.

    Attributes:
        wins: By the number of a past self, those that the learner won.
        games: By the number of a past self, all of them.
    """

    wins: dict[int, float]
    games: dict[int, float]


@dataclass
class Rollout:
    """``T`` turns of ``N`` games.

    Attributes:
        states: ``(T, N)`` state records before each turn.
        actions: int64 ``(T, N)``.
        log_probabilities: float32 ``(T, N)``, of the actions when they were chosen.
        decisions: What advantages need.
        league: Results against past selves.
        statistics: See ``Tally.count``; and the learner's win rate against past selves.
    """

    states: States
    actions: npt.NDArray[np.int64]
    log_probabilities: npt.NDArray[np.float32]
    decisions: Decisions
    league: LeagueResults
    statistics: dict[str, float]


class Choice:
    """What policies choose for a batch of states.

    Attributes:
        actions: int64 ``(n,)``, drawn from the policies.
        log_probabilities: float32 ``(n,)``, of the actions.
        values: float32 ``(n,)``.

    Args:
        evaluators: Whom to ask.
        asked: int ``(n,)``, which of them is asked about each state.
        states: ``(n,)`` records, none of which is over.
        random: Draws the actions.
        threads: Share the work.
    """

    def __init__(
        self,
        evaluators: Sequence[NetworkEvaluator],
        asked: npt.NDArray[np.integer[Any]],
        states: States,
        random: np.random.Generator,
        threads: ThreadPool,
    ) -> None:
        first, *others = (np.flatnonzero(asked == number) for number in range(len(evaluators)))
        # The first one has most of the states: its share is divided, and the others' are dealt out.
        parts = [(evaluators[0], rows) for rows in np.array_split(first, threads.size)]
        parts += [part for part in zip(evaluators[1:], others, strict=True) if len(part[1])]

        def work(share: Sequence[tuple[NetworkEvaluator, npt.NDArray[np.int64]]]) -> list[Evaluation]:
            return [evaluate(states[rows]) for evaluate, rows in share]

        shares = [parts[member :: threads.size] for member in range(threads.size)]
        rows = np.concatenate([rows for share in shares for _, rows in share])
        evaluations = [evaluation for share in threads.map(work, shares) for evaluation in share]
        counts, actions, log_probabilities, values = map(np.concatenate, zip(*evaluations, strict=True))
        chosen = ragged.sample(counts, log_probabilities, random.random(len(states))[rows])
        self.actions = np.empty(len(states), np.int64)
        self.log_probabilities, self.values = np.empty((2, len(states)), np.float32)
        self.actions[rows] = actions[chosen]
        self.log_probabilities[rows] = log_probabilities[chosen]
        self.values[rows] = values


class SelfPlay:
    """Plays the learner in all games of a batch; in the last ones against past selves.

    A turn with a single legal action is no decision: nobody is asked, and nothing is learned from it. A game
    keeps its opponent from its first turn to its last, however many rollouts it takes.

    Args:
        env: The games; neither masks nor observations are used.
        reward: What the game is worth.
        league_fraction: Fraction of the games that is played against past selves, if there are any.
        threads: Share the work on each turn.

    Attributes:
        tally: Counts what happens in the games.
        opponents: int64 ``(N,)``, the number of the past self that each game is played against, or a negative
            number.
    """

    def __init__(
        self,
        env: SelfPlayVectorEnv,
        reward: Reward,
        league_fraction: float,
        threads: ThreadPool | None = None,
    ) -> None:
        self.env = env
        self.reward = reward
        self.tally = Tally(env.num_envs)
        self.opponents = np.full(env.num_envs, NEW_GAME, np.int64)
        self._threads = threads or ThreadPool()
        games = np.arange(env.num_envs)
        self._league_game = games - (env.num_envs - round(league_fraction * env.num_envs))
        self._learner_seats = (games % NUM_PLAYERS).astype(np.uint8)

    @property
    def past_selves_in_play(self) -> set[int]:
        """The numbers of the past selves whose games have not ended."""
        return set(self.opponents[self.opponents >= 0].tolist())

    def collect(
        self,
        learner: PatchworkNetwork,
        past_selves: Mapping[int, PatchworkNetwork],
        turns: int,
        random: np.random.Generator,
        drawn: Sequence[int] | None = None,
    ) -> Rollout:
        """Plays ``turns`` turns in every game.

        Args:
            learner: Plays all games that are not league games, and one seat of these.
            past_selves: By number, those that are drawn and those that are in play.
            turns: At least 1.
            random: Draws the moves.
            drawn: The past selves that play the other seats of the league games that begin, in equal parts;
                None for all of them.
        """
        env, shape = self.env, (turns, self.env.num_envs)
        dealt = self._dealt(list(past_selves) if drawn is None else drawn)
        numbers = sorted(self.past_selves_in_play.union(dealt.tolist()) - {_LEARNER})
        networks = [learner, *(past_selves[number] for number in numbers)]
        evaluators = [NetworkEvaluator(network, torch.float32) for network in networks]
        opponents = np.empty(shape, np.int64)
        states = np.empty(shape, env.states.dtype)
        actions = np.zeros(shape, np.int64)
        log_probabilities, values = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
        players, learning = np.empty(shape, np.uint8), np.empty(shape, np.bool_)
        winners, scores = np.empty(shape, np.int8), np.empty((*shape, NUM_PLAYERS), np.int16)
        for t in range(turns):
            states[t], players[t] = env.states, env.current_players
            np.copyto(self.opponents, dealt, where=self.opponents == NEW_GAME)
            opponents[t] = self.opponents
            asked = np.searchsorted([_LEARNER, *numbers], self.opponents)
            asked[env.current_players == self._learner_seats] = 0
            choosing = np.flatnonzero(env.counts > 1)
            actions[t] = env.random_actions  # right where there is no choice
            choice = Choice(evaluators, asked[choosing], env.states[choosing], random, self._threads)
            actions[t, choosing] = choice.actions
            learning[t] = (env.counts > 1) & (asked == 0)
            mine = learning[t, choosing]
            log_probabilities[t, learning[t]] = choice.log_probabilities[mine]
            values[t, learning[t]] = choice.values[mine]
            env.step(actions[t])
            winners[t] = np.where(env.terminations, env.rewards.argmax(axis=1), -1)
            scores[t] = env.final_scores
            self.opponents[env.terminations] = NEW_GAME
        rewards = rewards_of_players(self.reward, winners, scores)
        outlook = self._look_ahead(evaluators[0], random)
        rewards[-1] += outlook.rewards
        decisions = Decisions(
            players, learning, values, rewards, winners >= 0, outlook.players, outlook.values
        )
        league = self._league_results(winners, opponents)
        statistics = self.tally.count(states, actions)
        if league.games:
            rate = sum(league.wins.values()) / sum(league.games.values())
            statistics["win_rate_against_past_self"] = rate
        return Rollout(states, actions, log_probabilities, decisions, league, statistics)

    def _dealt(self, drawn: Sequence[int]) -> npt.NDArray[np.int64]:
        """Who has the other seat in each game that begins."""
        if not len(drawn):
            return np.full(self.env.num_envs, _LEARNER)
        # Two neighbors have the same opponent, and the learner one seat and the other.
        past_selves = np.array(drawn)[self._league_game // NUM_PLAYERS % len(drawn)]
        return np.where(self._league_game >= 0, past_selves, _LEARNER)

    def _look_ahead(self, evaluator: NetworkEvaluator, random: np.random.Generator) -> _Outlook:
        """What the games are worth behind the rollout.

        Values are trained where there is a choice, and only there they are read: turns without one are played
        on, in a copy. A game that they end has its result.
        """
        states = self.env.states.copy()
        loop(batches.play_forced, RULES)(states)
        over = np.empty(len(states), np.int64)
        over = over[: loop(batches.list_over, RULES)(states, over)]
        firsts, scores = np.zeros(len(states), np.int64), np.zeros((len(states), NUM_PLAYERS), np.int16)
        loop(batches.write_scores, RULES)(states, over, firsts, scores)
        winners = np.full(len(states), -1, np.int8)
        winners[over] = [winner(states, i) for i in over.tolist()]
        going_on = np.flatnonzero(winners < 0)
        values = np.zeros(len(states), np.float32)
        asked = np.zeros(len(going_on), np.int64)
        values[going_on] = Choice([evaluator], asked, states[going_on], random, self._threads).values
        return _Outlook(
            states["current_player"].copy(), values, rewards_of_players(self.reward, winners, scores)
        )

    def _league_results(
        self, winners: npt.NDArray[np.int8], opponents: npt.NDArray[np.int64]
    ) -> LeagueResults:
        ends = (winners >= 0) & (opponents >= 0)
        met, won = opponents[ends], (winners == self._learner_seats)[ends]
        numbers = np.unique(met).tolist()
        return LeagueResults(
            {number: float(won[met == number].sum()) for number in numbers},
            {number: float((met == number).sum()) for number in numbers},
        )


class _Outlook(NamedTuple):
    """What ``N`` games are worth behind a rollout.

    Attributes:
        players: uint8 ``(N,)``, who has the next choice.
        values: float32 ``(N,)``, what this player expects; 0 where the game will have ended.
        rewards: float32 ``(N, 2)``, both players' of games that will have ended before.
    """

    players: npt.NDArray[np.uint8]
    values: npt.NDArray[np.float32]
    rewards: npt.NDArray[np.float32]

"""Self-play of PPO: collects turns of many games, against the present self and past ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from patchwork_env.agents import ragged
from patchwork_env.agents.networks import Encoded, KeptStates, NetworkEvaluator, PolicyNetwork, joined, kept
from patchwork_env.core.kernels import States
from patchwork_env.envs.self_play import SelfPlayBatch
from patchwork_env.games import part_of, rules_of
from patchwork_env.learning.algorithms.common.advantages import Decisions, next_choices, rewards_of_players
from patchwork_env.learning.algorithms.common.gradients import ThreadPool, divided_by
from patchwork_env.learning.config import Reward
from patchwork_env.search import Evaluation

LEARNER, NEW_GAME = -1, -2
"""Numbers of opponents that are not past selves: the learner itself, and not chosen yet."""


class LeagueResults(NamedTuple):
    """The learner's wins against each past self, and the games that ended, by the number of the past self."""

    wins: dict[int, float]
    games: dict[int, float]


@dataclass
class Rollout:
    """``T`` turns of ``N`` games."""

    states: States  # (T, N), before each turn
    actions: npt.NDArray[np.int64]  # (T, N)
    log_probabilities: npt.NDArray[np.float32]  # (T, N), of the actions when they were chosen
    successor_values: npt.NDArray[np.float32]  # (T, N, *successor_values_shape), 0 without a choice
    decisions: Decisions
    kept: KeptStates  # the states of the learner's decisions, turn by turn
    league: LeagueResults
    statistics: dict[str, float]  # with the win rate against past selves, if such games ended


class SampledActions(NamedTuple):
    """Actions drawn in ``n`` states, with the outputs of the networks for them."""

    actions: npt.NDArray[np.int64]  # (n,)
    log_probabilities: npt.NDArray[np.float32]  # (n,), of the actions
    values: npt.NDArray[np.float32]  # (n,), the returns that the players to move expect
    successor_values: npt.NDArray[np.float32]  # (n, *successor_values_shape), of the first policy
    kept: Sequence[KeptStates]  # the states of the first policy, in their order


def choose(
    evaluators: Sequence[NetworkEvaluator],
    policy_ids: npt.NDArray[np.integer[Any]],
    states: States,
    random: np.random.Generator,
    threads: ThreadPool,
) -> SampledActions:
    """Choose an action by a policy in each of ``n`` states of running games.

    ``policy_ids``, int ``(n,)``, is the index of the policy for each state: mostly the first one.
    """
    first, *others = (np.flatnonzero(policy_ids == number) for number in range(len(evaluators)))
    # Threads share the states of the first policy; those of another policy stay together. On a GPU a policy
    # evaluates all of its states at once, and threads share their encoding.
    network = evaluators[0].network
    threads, shared = divided_by(threads, network.device)
    parts = [(evaluators[0], rows) for rows in np.array_split(first, threads.size)]
    parts += [part for part in zip(evaluators[1:], others, strict=True) if len(part[1])]
    successor_values = np.zeros((len(states), *network.successor_values_shape), np.float32)

    def ask(evaluator: NetworkEvaluator, rows: npt.NDArray[np.int64], encoded: Encoded) -> Evaluation:
        evaluation, found = evaluator.with_successor_values(encoded)
        if evaluator is evaluators[0]:
            successor_values[rows] = found
        return evaluation

    def work(
        share: Sequence[tuple[NetworkEvaluator, npt.NDArray[np.int64]]],
    ) -> tuple[list[Evaluation], KeptStates]:
        """Encode and evaluate a share of the states; its first part is for the first policy."""
        encoded = network.encode_fully(states[np.concatenate([rows for _, rows in share])], shared)
        ends = np.cumsum([len(rows) for _, rows in share])
        listed = [encoded.part(end - len(rows), end) for (_, rows), end in zip(share, ends, strict=True)]
        return [ask(*part, own) for part, own in zip(share, listed, strict=True)], kept(listed[0])

    shares = [parts[member :: threads.size] for member in range(threads.size)]
    rows = np.concatenate([rows for share in shares for _, rows in share])
    answers, states_kept = zip(*threads.map(work, shares), strict=True)
    evaluations = [evaluation for answer in answers for evaluation in answer]
    counts, actions, log_probabilities, values = map(np.concatenate, zip(*evaluations, strict=True))
    chosen = ragged.sample(counts, log_probabilities, random.random(len(states))[rows])
    order = np.argsort(rows)  # back to the order of the states
    return SampledActions(
        actions[chosen][order],
        log_probabilities[chosen][order],
        values[order],
        successor_values,
        states_kept,
    )


class SelfPlay:
    """Plays the games of a batch with the learner; in the last games past selves are the opponents.

    A turn with a single legal action is no decision: no policy is asked, and nothing is learned from it. With
    several players, each gets ``reward`` at the end; a single player gets ``points`` times its points after
    every turn.
    """

    def __init__(
        self,
        env: SelfPlayBatch,
        reward: Reward,
        league_fraction: float,
        threads: ThreadPool | None = None,
        points: float = 0.0,
    ) -> None:
        self.env = env
        self.reward = reward
        self.points = points
        self.rules = rules_of(env.states)
        self.players = env.rewards.shape[1]
        self.stats = part_of(self.rules.name, "figures").GameStats(env.num_envs)
        self.opponents = np.full(env.num_envs, NEW_GAME, np.int64)
        self._evaluators: dict[PolicyNetwork, NetworkEvaluator] = {}  # of past selves, who do not change
        self._threads = threads or ThreadPool()
        games = np.arange(env.num_envs)
        self._league_game = games - (env.num_envs - round(league_fraction * env.num_envs))
        self._learner_seats = (games % self.players).astype(np.uint8)

    @property
    def past_selves_in_play(self) -> set[int]:
        """The numbers of the past selves in running games."""
        return set(self.opponents[self.opponents >= 0].tolist())

    def collect(
        self,
        learner: PolicyNetwork,
        past_selves: Mapping[int, PolicyNetwork],
        turns: int,
        random: np.random.Generator,
        drawn: Sequence[int] | None = None,
    ) -> Rollout:
        """Play ``turns`` turns in every game; new games have opponents from ``drawn``.

        ``past_selves`` are those that are drawn or in play, by number; all are drawn if ``drawn`` is None.
        """
        env, shape = self.env, (turns, self.env.num_envs)
        assigned_opponents = self._assigned_opponents(list(past_selves) if drawn is None else drawn)
        numbers = sorted(self.past_selves_in_play.union(assigned_opponents.tolist()) - {LEARNER})
        known, networks = self._evaluators, [past_selves[number] for number in numbers]
        self._evaluators = {one: known.get(one) or NetworkEvaluator(one, torch.float32) for one in networks}
        evaluators = [NetworkEvaluator(learner, torch.float32), *(self._evaluators[one] for one in networks)]
        opponents = np.empty(shape, np.int64)
        states = np.empty(shape, env.states.dtype)
        actions = np.zeros(shape, np.int64)
        log_probabilities, values = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
        successor_values = np.zeros((*shape, *learner.successor_values_shape), np.float32)
        players, learner_mask = np.empty(shape, np.uint8), np.empty(shape, np.bool_)
        winners, dones = np.empty(shape, np.int8), np.empty(shape, np.bool_)
        rewards = np.empty((*shape, self.players), np.float32)
        encoded: list[KeptStates] = []
        for t in range(turns):
            states[t], players[t] = env.states, env.current_players
            np.copyto(self.opponents, assigned_opponents, where=self.opponents == NEW_GAME)
            opponents[t] = self.opponents
            policy_ids = np.searchsorted([LEARNER, *numbers], self.opponents)
            policy_ids[env.current_players == self._learner_seats] = 0
            decision_rows = np.flatnonzero(env.counts > 1)
            actions[t] = env.random_actions  # correct where there is no choice
            policies, choices = policy_ids[decision_rows], env.states[decision_rows]
            choice = choose(evaluators, policies, choices, random, self._threads)
            actions[t, decision_rows] = choice.actions
            learner_mask[t] = (env.counts > 1) & (policy_ids == 0)
            mine = learner_mask[t, decision_rows]
            log_probabilities[t, learner_mask[t]] = choice.log_probabilities[mine]
            values[t, learner_mask[t]] = choice.values[mine]
            successor_values[t, learner_mask[t]] = choice.successor_values[mine]
            encoded += choice.kept
            env.step(actions[t])
            winners[t] = np.where(env.terminations, env.rewards.argmax(axis=1), -1)
            rewards[t] = self._rewards(winners[t])
            dones[t] = env.terminations
            self.opponents[dones[t]] = NEW_GAME
        next_players, next_values, last_rewards = self._bootstrap_values(evaluators[0], random)
        rewards[-1] += last_rewards
        decisions = Decisions(players, learner_mask, values, rewards, dones, next_players, next_values)
        league = self._league_results(winners, opponents)
        statistics = self.stats.count(states, actions)
        if league.games:
            rate = sum(league.wins.values()) / sum(league.games.values())
            statistics["win_rate_against_past_self"] = rate
        of_turns = states, actions, log_probabilities, successor_values, decisions
        return Rollout(*of_turns, joined(encoded), league, statistics)

    def _assigned_opponents(self, drawn: Sequence[int]) -> npt.NDArray[np.int64]:
        """Return the opponent of each game if it begins now, int64 ``(N,)``."""
        if not len(drawn):
            return np.full(self.env.num_envs, LEARNER)
        # Two neighboring games have the same opponent, and the learner has a different seat in each.
        past_selves = np.array(drawn)[self._league_game // self.players % len(drawn)]
        return np.where(self._league_game >= 0, past_selves, LEARNER)

    def _rewards(self, winners: npt.NDArray[np.int8]) -> npt.NDArray[np.float32]:
        """Return the rewards ``(N, players)`` of the last turn; winners are -1 where no game ended."""
        if self.players == 1:
            return np.float32(self.points) * self.env.rewards
        return rewards_of_players(self.reward, winners, self.env.final_scores)

    def _bootstrap_values(
        self, evaluator: NetworkEvaluator, random: np.random.Generator
    ) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """Return the players with the next choice after the rollout, ``(N,)``, their values, and rewards.

        Turns without a choice, where values are not trained, are played in a copy. The rewards
        ``(N, players)`` are those of games that end there.
        """
        states, going_on = self.env.states, np.arange(self.env.num_envs)
        rewards = np.zeros((len(states), self.players), np.float32)
        if self.players > 1:
            states, winners, scores = next_choices(states)
            going_on = np.flatnonzero(winners < 0)
            rewards = rewards_of_players(self.reward, winners, scores)
        values = np.zeros(len(states), np.float32)
        policy_ids = np.zeros(len(going_on), np.int64)
        values[going_on] = choose([evaluator], policy_ids, states[going_on], random, self._threads).values
        return states["current_player"].copy(), values, rewards

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

"""Self-play in which every decision is searched, and the examples from it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.networks import NetworkEvaluator
from patchwork_env.agents.patchwork.policy.agent import PatchworkDynamics
from patchwork_env.agents.patchwork.policy.network import PatchworkNetwork
from patchwork_env.agents.ragged import begins_of
from patchwork_env.errors import DivergenceError
from patchwork_env.learning.algorithms.alphazero.config import AlphaZero
from patchwork_env.learning.algorithms.common.advantages import (
    Decisions,
    advantages,
    next_choices,
    rewards_of_players,
)
from patchwork_env.learning.algorithms.common.gradients import ThreadPool
from patchwork_env.learning.config import Reward
from patchwork_env.patchwork.figures import Ended, GameStats
from patchwork_env.patchwork.state import States, empty_states
from patchwork_env.patchwork_v0 import SelfPlayBatch
from patchwork_env.search import Evaluation, GumbelSearch, SearchResult


class Examples(NamedTuple):
    """``n`` searched decisions with ``total`` legal actions."""

    states: States  # `(n,)`
    counts: npt.NDArray[np.int64]  # `(n,)`, the numbers of legal actions
    policies: npt.NDArray[
        np.float16
    ]  # `(total,)`, improved by the search, over the legal actions of all states
    returns: npt.NDArray[np.float32]  # `(n,)`, of the players to move

    def policies_of(self, chosen: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        """Return the policies of some examples, concatenated, as float32."""
        counts = self.counts[chosen]
        shifts = begins_of(self.counts)[chosen] - begins_of(counts)
        places = np.repeat(shifts, counts) + np.arange(counts.sum())
        return self.policies[places].astype(np.float32)


NO_EXAMPLES = Examples(
    empty_states(0), np.empty(0, np.int64), np.empty(0, np.float16), np.empty(0, np.float32)
)


class _Evaluator(NetworkEvaluator):
    """Evaluates by a network; DivergenceError if its output is not finite, as a search needs it."""

    def __call__(self, states: States) -> Evaluation:
        evaluation = super().__call__(states)
        if not np.isfinite(evaluation.values).all() or np.isnan(evaluation.log_probabilities).any():
            raise DivergenceError("training diverged: values or policies of the network are not finite")
        return evaluation


class SearchedSelfPlay:
    """Plays both sides of all games of a batch; threads share the searches of each turn's decisions.

    A turn with a single legal action is played without a search, and nothing is learned from it.
    """

    def __init__(
        self, env: SelfPlayBatch, config: AlphaZero, reward: Reward, threads: ThreadPool | None = None
    ) -> None:
        self.env = env
        self.config = config
        self.reward = reward
        self.stats = GameStats(env.num_envs)
        self._threads = threads or ThreadPool()
        dynamics = PatchworkDynamics(**reward.model_dump())
        self._searches = [
            GumbelSearch(
                dynamics,
                config.simulations,
                config.max_considered,
                c_scale=config.c_scale,
                value_range=dynamics.value_range,
            )
            for _ in range(self._threads.size)
        ]

    def play(
        self, network: PatchworkNetwork, turns: int, random: np.random.Generator
    ) -> tuple[Examples, Ended]:
        """Play ``turns`` turns in every game; return the searched decisions, and the games that ended."""
        env, shape = self.env, (turns, self.env.num_envs)
        evaluator = _Evaluator(network)
        states = np.empty(shape, env.states.dtype)
        players, searched = np.empty(shape, np.uint8), np.empty(shape, np.bool_)
        actions, values = np.empty(shape, np.int64), np.zeros(shape, np.float32)
        winners, scores = np.empty(shape, np.int8), np.empty((*shape, 2), np.int16)
        counts, policies = [NO_EXAMPLES.counts], [NO_EXAMPLES.policies]
        for t in range(turns):
            states[t], players[t], searched[t] = env.states, env.current_players, env.counts > 1
            actions[t] = env.random_actions  # correct where there is no choice
            for result, own in self._search(evaluator, np.flatnonzero(searched[t]), random):
                actions[t, own], values[t, own] = result.chosen, result.values
                counts.append(result.counts)
                policies.append(result.policy.astype(np.float16))
            env.step(actions[t])
            winners[t] = np.where(env.terminations, env.rewards.argmax(axis=1), -1)
            scores[t] = env.final_scores
        rewards = rewards_of_players(self.reward, winners, scores)
        ahead, last_winners, last_scores = next_choices(env.states)
        rewards[-1] += rewards_of_players(self.reward, last_winners, last_scores)
        running, bootstrap_values = last_winners < 0, np.zeros(env.num_envs, np.float32)
        if running.any():
            bootstrap_values[running] = evaluator(ahead[running]).values
        bootstrap = ahead["current_player"], bootstrap_values
        decisions = Decisions(players, searched, values, rewards, winners >= 0, *bootstrap)
        returns = (advantages(decisions, 1.0, self.config.td_lambda) + values)[searched]
        examples = Examples(states[searched], np.concatenate(counts), np.concatenate(policies), returns)
        return examples, self.stats.ended(states, actions)

    def _search(
        self, evaluator: _Evaluator, games: npt.NDArray[np.int64], random: np.random.Generator
    ) -> list[tuple[SearchResult, npt.NDArray[np.int64]]]:
        """Search some games, a part in every thread; return the results with the games of each."""
        shares = self._threads.split(games)
        seeds = random.integers(2**63, size=len(shares))

        def work(part: tuple[GumbelSearch, States, int]) -> SearchResult:
            search, states, seed = part
            return search.run(states, evaluator, np.random.default_rng(seed))

        parts = [
            (search, self.env.states[share], int(seed))
            for search, share, seed in zip(self._searches, shares, seeds, strict=False)
        ]
        return list(zip(self._threads.map(work, parts), shares, strict=True))

"""Self-play with a league in RLlib: past selves, pairings, and win rates."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any
from zlib import crc32

import numpy as np
from ray.rllib.callbacks.callbacks import RLlibCallback
from ray.rllib.core.rl_module.rl_module import RLModuleSpec

MAIN = "main"  # the module that learns
_GAMES = "games_against_past_selves"
_MEMORY = 50  # the number of games over which a win rate averages exponentially


def module_of(
    agent: str, episode: Any, *, weights: Mapping[str, float], fraction: float, players: int, **_: Any
) -> str:
    """Return the module of an agent: the learner, or in a ``fraction`` of the games also a past self.

    In these games the learner has one random seat, and all other seats have one past self, drawn in
    proportion to its weight. The id of the episode seeds the draws, so that all agents of an episode agree.
    """
    random = np.random.default_rng(crc32(episode.id_.encode()))
    if random.random() >= fraction:
        return MAIN
    shares = np.array(list(weights.values()))
    opponent = str(random.choice(list(weights), p=shares / shares.sum()))
    return MAIN if agent == f"player_{random.integers(players)}" else opponent


class LeagueCallback(RLlibCallback):
    """Adds past selves as opponents of the module :data:`MAIN`: frozen copies, stronger ones more often.

    A copy of the learner is added after every ``every`` iterations. Afterwards a ``fraction`` of the games is
    against copies, each with the weight ``(1 - p)^2`` for the learner's win rate ``p`` against it
    (Vinyals et al. 2019). The results of every iteration have the ``win_rates`` by name.

    ``policies_to_train`` must be ``["main"]``, and ``policy_mapping_fn`` must return ``"main"``.
    """

    def __init__(self, every: int = 10, fraction: float = 0.25, players: int = 2) -> None:
        super().__init__()
        self._every, self._fraction, self._players = every, fraction, players
        self._win_rates: dict[str, float] = {}

    def on_episode_end(self, *, episode: Any, metrics_logger: Any, **_: Any) -> None:
        """Log the learner's result against a past self: 1, 0, or 0.5 for a shared win."""
        modules = {agent: episode.module_for(agent) for agent in episode.agent_ids}
        others = set(modules.values()) - {MAIN}
        if others:
            (learner,) = (agent for agent, module in modules.items() if module == MAIN)
            outcome = episode.agent_episodes[learner].get_infos(-1)["outcome"]
            won = 1.0 if outcome == 1 else 0.5 if outcome >= 0 else 0.0
            metrics_logger.log_value((_GAMES, others.pop()), won, reduce="item_series")

    def on_train_result(self, *, algorithm: Any, result: dict[str, Any], **_: Any) -> None:
        """Update the win rates, and add a past self every so many iterations."""
        for name, games in result["env_runners"].pop(_GAMES, {}).items():
            for won in games if isinstance(games, list) else ():  # RLlib logs nan if there were no games
                self._win_rates[name] += (won - self._win_rates[name]) / _MEMORY
        result["win_rates"] = dict(self._win_rates)
        if algorithm.iteration % self._every == 0:
            self._add(algorithm)

    def _add(self, algorithm: Any) -> None:
        name = f"past_{len(self._win_rates)}"
        self._win_rates[name] = 0.5
        deal = partial(
            module_of,
            weights={name: (1 - rate) ** 2 for name, rate in self._win_rates.items()},
            fraction=self._fraction,
            players=self._players,
        )
        learner = algorithm.get_module(MAIN)
        spec = RLModuleSpec.from_module(learner)
        algorithm.add_module(name, spec, new_agent_to_module_mapping_fn=deal)
        state = {"rl_module": {name: learner.get_state()}}
        algorithm.set_state({"learner_group": {"learner": state}})
        # Env runners fetch weights only after the learner has changed them, and this module never learns.
        algorithm.env_runner_group.foreach_env_runner(lambda runner: runner.set_state(state))

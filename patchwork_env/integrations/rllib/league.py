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
    agent: str, episode: Any, *, win_rates: Mapping[str, float], fraction: float, players: int, **_: Any
) -> str:
    """Return the module of an agent: the learner, or in a ``fraction`` of the games also a past self.

    In these games the learner has one random seat, and all other seats have one past self, drawn with the
    weight ``(1 - p)^2`` for the learner's win rate ``p`` against it (Vinyals et al. 2019). The id of the
    episode seeds the draws, so that all agents of an episode agree.
    """
    random = np.random.default_rng(crc32(episode.id_.encode()))
    if random.random() >= fraction:
        return MAIN
    weights = (1 - np.array(list(win_rates.values()))) ** 2
    opponent = str(random.choice(list(win_rates), p=weights / weights.sum()))
    return MAIN if agent == f"player_{random.integers(players)}" else opponent


class LeagueCallback(RLlibCallback):
    """Adds past selves as opponents of the module :data:`MAIN`: frozen copies, stronger ones more often.

    A copy of the learner is added after every ``every`` iterations. Afterwards a ``fraction`` of the games is
    against copies. The results of every iteration have the ``win_rates`` by name.

    ``policies_to_train`` must be ``["main"]``, and ``policy_mapping_fn`` must return ``"main"``.
    """

    def __init__(self, every: int = 10, fraction: float = 0.25, players: int = 2) -> None:
        super().__init__()
        self._every, self._fraction, self._players = every, fraction, players
        self._win_rates: dict[str, float] = {}

    def on_algorithm_init(self, *, algorithm: Any, **_: Any) -> None:
        """Continue the league of a checkpoint, whose configuration deals its past selves."""
        deal = algorithm.config.policy_mapping_fn
        if isinstance(deal, partial) and deal.func is module_of:
            self._win_rates.update(deal.keywords["win_rates"])

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
        deal = partial(module_of, win_rates=self._win_rates, fraction=self._fraction, players=self._players)
        learner = algorithm.get_module(MAIN)
        spec = RLModuleSpec.from_module(learner)
        algorithm.add_module(name, spec, new_agent_to_module_mapping_fn=deal)
        state = {"rl_module": {name: learner.get_state()}}
        algorithm.set_state({"learner_group": {"learner": state}})
        # Env runners fetch weights only after the learner has changed them, and this module never learns.
        algorithm.env_runner_group.foreach_env_runner(lambda runner: runner.set_state(state))

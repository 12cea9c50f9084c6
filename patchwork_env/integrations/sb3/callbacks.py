"""Self-play as a callback of Stable-Baselines3."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from pydantic import ValidationError
from stable_baselines3.common.callbacks import BaseCallback
from torch import nn

from patchwork_env.core.checks import check_seed
from patchwork_env.core.names import hint, shorten
from patchwork_env.errors import UnknownOptionError
from patchwork_env.integrations.sb3.agents import as_agent
from patchwork_env.learning.algorithms.common.league import SnapshotPool
from patchwork_env.learning.algorithms.maskable_ppo.network_policy import PatchworkPolicy
from patchwork_env.learning.algorithms.maskable_ppo.opponents import SelfPlayOpponents
from patchwork_env.learning.algorithms.maskable_ppo.vec_env import SelfPlayVecEnv
from patchwork_env.learning.config import League


class SelfPlayCallback(BaseCallback):
    """Lets a model of MaskablePPO learn against itself: its present weights, and past ones from a league.

    ``model.learn(1_000_000, SelfPlayCallback(fraction=0.25))`` is all that it takes. The environment is a
    :class:`SelfPlayVecEnv` for several players, wrapped or not. The last games, a ``fixed_fraction`` of all,
    keep playing against the opponents that the environment was made with; those before, a ``fraction``,
    against past selves; all others against the present self, whose weights follow the learner's at every
    step. Opponents draw their actions, and a game keeps its opponent to its end. The logger gets win rates as
    ``games/...`` and ``league/...``.

    To go on with the same league in another call of ``learn``, give it the same callback.

    Args:
        fixed_fraction: The share of the games against the environment's own opponents, 0 to 1.
        seed: The seed of all draws, ``0 ... 2**64 - 1``; None for that of the model.
        verbose: See ``BaseCallback``.
        league: Keys of the section ``league`` of configurations, with the same defaults: ``fraction``, 0.25;
            ``snapshot_every`` so many rollouts, 10; ``size``, 20, the most snapshots that are kept;
            ``opponents``, 4, how many of them play at the same time; ``choice``, ``"hard"``, ``"even"`` or
            ``"uniform"``, which are drawn more often; ``half_life``, 20.

    Raises:
        ValueError: A value is not allowed, or the model's environment is another one.
        UnknownOptionError: There is no such option.
    """

    def __init__(
        self, *, fixed_fraction: float = 0.0, seed: int | None = None, verbose: int = 0, **league: Any
    ) -> None:
        super().__init__(verbose)
        self.league = _league(league)
        is_number = isinstance(fixed_fraction, int | float)
        if not is_number or not (fixed_fraction >= 0 and fixed_fraction + self.league.fraction <= 1):
            raise ValueError(
                f"fixed_fraction is {shorten(fixed_fraction)}; with a fraction of {self.league.fraction} it "
                f"must be from 0 to {1 - self.league.fraction:g}"
            )
        self._fixed_fraction = fixed_fraction
        self._seed = check_seed(seed)
        self._rollouts = 0
        self._env: SelfPlayVecEnv | None = None
        self._has_begun = False

    def _init_callback(self) -> None:
        env = self.training_env.unwrapped
        if not isinstance(env, SelfPlayVecEnv) or env.num_players == 1:
            what = "one for a single player" if isinstance(env, SelfPlayVecEnv) else shorten(env)
            raise ValueError(f"the environment is {what}; self-play needs a SelfPlayVecEnv with opponents")
        if env is self._env:
            return
        env.keep_finished = True
        seed = self.model.seed if self._seed is None else self._seed
        self.opponents: SelfPlayOpponents[nn.Module] = SelfPlayOpponents(
            env,
            as_agent(self.model, "present self", sample=True),
            partial(as_agent, name="past self", sample=True),
            SnapshotPool(self.league),
            env.opponents,
            self._fixed_fraction,
            np.random.default_rng(seed),
        )
        self._env, self._has_begun = env, False

    def _on_rollout_start(self) -> None:
        self.opponents.choose(at_once=not self._has_begun)
        self._has_begun = True

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        assert self._env is not None
        for name, value in self.opponents.note_results(self._env.take_finished()).items():
            self.logger.record(name, value)
        self._rollouts += 1
        if self._rollouts % self.league.snapshot_every == 0:
            policy = self.model.policy
            self.opponents.pool.add(policy.network if isinstance(policy, PatchworkPolicy) else policy)


def _league(keys: dict[str, Any]) -> League:
    try:
        return League(**keys)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        key = str(problem["loc"][0])
        if problem["type"] == "extra_forbidden":
            known = ("fixed_fraction", "seed", "verbose", *League.model_fields)
            raise UnknownOptionError(
                f"SelfPlayCallback has no option {shorten(key)}; {hint(key, known)}"
            ) from None
        raise ValueError(f"{key} is {shorten(problem['input'])}: {problem['msg']}") from None

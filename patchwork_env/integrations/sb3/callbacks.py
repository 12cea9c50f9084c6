"""Self-play as a callback of Stable-Baselines3."""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.torch
from pydantic import ValidationError
from stable_baselines3.common.callbacks import BaseCallback
from torch import nn

from patchwork_env.core.checks import check_between, check_seed
from patchwork_env.core.documents import one_line, parse_json
from patchwork_env.core.files import write_bytes
from patchwork_env.core.names import short_repr, unknown_option
from patchwork_env.integrations.sb3.agents import (
    NormalizedPolicy,
    as_agent,
    forget_gradients,
    normalization_of,
)
from patchwork_env.integrations.sb3.opponents import SelfPlayOpponents
from patchwork_env.integrations.sb3.policy import PatchworkPolicy
from patchwork_env.integrations.sb3.vec_env import SelfPlayVecEnv
from patchwork_env.learning.algorithms.common.league import SnapshotPool
from patchwork_env.learning.algorithms.common.state import join, split
from patchwork_env.learning.config import League

_LEAGUE = "patchwork_env league"
"""The entry of a file's metadata that holds what is no tensor."""
_UNFIT = (KeyError, TypeError, ValueError, RuntimeError, AttributeError)
"""The errors that states of other policies or damaged ones lead to."""


class SelfPlayCallback(BaseCallback):
    """Lets a model of MaskablePPO learn against itself: its present weights, and past ones from a league.

    ``model.learn(1_000_000, SelfPlayCallback(fraction=0.25))`` is all that it takes. The environment is a
    :class:`SelfPlayVecEnv` for several players, wrapped or not. The last games, a ``fixed_fraction`` of all,
    keep playing against the opponents that the environment was made with; those before, a ``fraction``,
    against past selves; all others against the present self, whose weights follow the learner's at every
    step. Opponents draw their actions, and a game keeps its opponent to its end. The logger gets win rates as
    ``games/...`` and ``league/...``.

    To go on with the same league in another call of ``learn``, with the same or another environment and
    model, give it the same callback; in another process, one that :meth:`load_league` has given the file of
    :meth:`save_league`.

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
                f"fixed_fraction is {short_repr(fixed_fraction)}; "
                f"with a fraction of {self.league.fraction} it "
                f"must be from 0 to {1 - self.league.fraction:g}"
            )
        self._fixed_fraction = fixed_fraction
        self._seed = check_seed(seed)
        self._pool: SnapshotPool[nn.Module] = SnapshotPool(self.league)
        self._rollouts = 0
        self._env: SelfPlayVecEnv | None = None
        self._learner: Any = None
        self._has_begun = False

    def save_league(self, path: str | os.PathLike[str]) -> None:
        """Writes the past selves and the results against them, in the format safetensors.

        Raises:
            StorageError: The file cannot be written.
        """
        values, tensors = split(self._pool.state_dict())
        own = {name: tensor.detach().cpu().clone().contiguous() for name, tensor in tensors.items()}
        league = json.dumps({**values, "rollouts": self._rollouts})
        write_bytes(Path(path), safetensors.torch.save(own, {_LEAGUE: league}))

    def load_league(self, path: str | os.PathLike[str], model: Any) -> None:
        """Goes on with a league that :meth:`save_league` has written; nothing in the file is executed.

        Args:
            path: The path of the file.
            model: The model that will learn, whose policy has the layers of those in the file.

        Raises:
            FileNotFoundError: There is no such file.
            ValueError: It is no league, or one of other policies.
        """
        pool: SnapshotPool[nn.Module] = SnapshotPool(self.league)
        try:
            with safetensors.safe_open(path, "pt") as file:
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
                values = parse_json((file.metadata() or {})[_LEAGUE], str(path))
            pool.load_state_dict(join(values, tensors), _policy_of(model))
            rollouts = check_between(values["rollouts"], 0, 2**53, "the number of rollouts")
        except (*_UNFIT, safetensors.SafetensorError) as error:
            raise ValueError(f"{path} holds no league of such policies: {one_line(str(error))}") from None
        self._pool, self._rollouts, self._env = pool, rollouts, None

    def _init_callback(self) -> None:
        env = self.training_env.unwrapped
        if not isinstance(env, SelfPlayVecEnv) or env.num_players == 1:
            what = "one for a single player" if isinstance(env, SelfPlayVecEnv) else short_repr(env)
            raise ValueError(f"the environment is {what}; self-play needs a SelfPlayVecEnv with opponents")
        if env is self._env and self.model is self._learner:
            return
        env.keep_finished = True
        seed = self.model.seed if self._seed is None else self._seed
        self.opponents: SelfPlayOpponents[nn.Module] = SelfPlayOpponents(
            env,
            as_agent(self.model, "present self", sample=True),
            partial(as_agent, name="past self", sample=True),
            self._pool,
            env.first_opponents,
            self._fixed_fraction,
            np.random.default_rng(seed),
        )
        self._env, self._learner, self._has_begun = env, self.model, False

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
            self._pool.add(_policy_of(self.model))


def _policy_of(model: Any) -> nn.Module:
    """What a snapshot of a model holds."""
    policy, normalize = model.policy, normalization_of(model)
    if isinstance(policy, PatchworkPolicy):
        return policy.network
    forget_gradients(policy)
    return policy if normalize is None else NormalizedPolicy(policy, normalize)


def _league(keys: dict[str, Any]) -> League:
    try:
        return League(**keys)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        key = str(problem["loc"][0])
        if problem["type"] == "extra_forbidden":
            known = ("fixed_fraction", "seed", "verbose", *League.model_fields)
            raise unknown_option("SelfPlayCallback", key, known) from None
        raise ValueError(f"{key} is {short_repr(problem['input'])}: {problem['msg']}") from None

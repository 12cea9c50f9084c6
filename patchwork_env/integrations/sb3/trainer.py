"""A run of sb3-contrib's MaskablePPO against the present self, past ones and fixed agents."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger
from torch import nn

from patchwork_env import agents
from patchwork_env.agents import Agent
from patchwork_env.agents.networks import PolicyNetwork
from patchwork_env.agents.patchwork import mlp
from patchwork_env.agents.patchwork.mlp import ACTIVATIONS, MlpAgent, MlpConfig, MlpNetwork
from patchwork_env.agents.policy import PolicyAgent, write_policy
from patchwork_env.core.checks import check_between
from patchwork_env.errors import ConfigError, DivergenceError
from patchwork_env.integrations.sb3.config import MaskablePpoConfig
from patchwork_env.integrations.sb3.mlp_policy import BoolMaskBuffer, LegalMlpPolicy
from patchwork_env.integrations.sb3.opponents import SelfPlayOpponents
from patchwork_env.integrations.sb3.policy import PatchworkPolicy
from patchwork_env.integrations.sb3.random_states import RandomStates
from patchwork_env.integrations.sb3.vec_env import FinishedGames, SelfPlayVecEnv
from patchwork_env.learning.algorithms.common.figures import statistics_of_games
from patchwork_env.learning.algorithms.common.league import SnapshotPool
from patchwork_env.learning.algorithms.common.state import (
    MOST,
    State,
    as_arrays,
    as_tensors,
    load_optimizer_state,
    optimizer_state,
)
from patchwork_env.learning.algorithms.common.threads import ThreadPool
from patchwork_env.learning.algorithms.common.trainer import Trainer, grouped

MODEL_FILE = "model.zip"
"""The file that ``MaskablePPO.load`` reads."""
_LOSSES = {
    "loss": "loss",
    "policy_gradient_loss": "policy_loss",
    "value_loss": "value_loss",
    "entropy_loss": "entropy",
    "approx_kl": "kl",
    "clip_fraction": "clip_fraction",
    "explained_variance": "explained_variance",
}
"""The names that figures have in all algorithms here, by sb3-contrib's name."""
_ROLLOUT = ("observations", "actions", "action_masks", "values", "log_probs", "advantages", "returns")
"""The arrays of MaskablePPO's buffer that it learns from, decision by decision."""
_ARGUMENTS = {
    "batch_size": "minibatch_size",
    "n_epochs": "epochs",
    "gamma": "gamma",
    "gae_lambda": "gae_lambda",
    "clip_range": "clip_range",
    "normalize_advantage": "normalize_advantage",
    "vf_coef": "value_coefficient",
    "max_grad_norm": "max_gradient_norm",
    "target_kl": "target_kl",
}
"""The keys of the configuration, by MaskablePPO's argument."""


class MaskablePpoTrainer(Trainer):
    """Lets MaskablePPO learn, one rollout after the other: Patchwork against opponents, NMBR 9 alone.

    Steps are the turns of all games, also those of opponents and those without a choice; MaskablePPO itself
    counts the learner's decisions (``model.num_timesteps``).

    Attributes:
        model: The algorithm.
        network: The present policy; its weights are those of ``model``.
        opponents: Who plays against the learner; None where it plays alone.
    """

    config: MaskablePpoConfig

    def __init__(self, config: MaskablePpoConfig) -> None:
        super().__init__(config)
        settings = config.maskable_ppo
        self.random = np.random.default_rng(config.seed)
        self._states = RandomStates(config.seed)
        self._clock = _Clock()
        self._decisions = settings.num_envs * settings.rollout_steps
        fixed = [_load_fixed(spec) for spec in settings.fixed_opponents]
        rewards: dict[str, Any] = {"rewards": config.reward}
        if config.is_solo:
            rewards = {"rewards": "score", "reward_scale": settings.points}
        self.env = SelfPlayVecEnv(
            settings.num_envs,
            game=config.game,
            seed=config.seed,
            keep_finished=True,
            **rewards,
            **config.variant,
        )
        with self._states.in_use():
            self.model = self._make_model()
            self.network = self._network_of(self.model)
            self.opponents = None if config.is_solo else self._new_opponents(fixed)
            self.model.learn(0)  # begins the games

    def _new_opponents(self, fixed: Sequence[Agent]) -> SelfPlayOpponents[MlpNetwork | PolicyNetwork]:
        """Those of the games that begin now; ``fixed`` are the fixed agents among them."""
        opponents: SelfPlayOpponents[MlpNetwork | PolicyNetwork] = SelfPlayOpponents(
            self.env,
            _agent(self.network, "present self", sample=True),
            partial(_agent, name="past self", sample=True),
            SnapshotPool(self.config.league),
            fixed,
            self.config.maskable_ppo.fixed_fraction,
            self.random,
        )
        opponents.choose()
        return opponents

    @property
    def _has_network(self) -> bool:
        """Whether the policy is the network that is shaped after the game."""
        return self.config.maskable_ppo.policy == "network"

    def _make_model(self) -> MaskablePPO:
        settings = self.config.maskable_ppo
        arguments = self._arguments()
        arguments["policy_kwargs"] |= {"threads": ThreadPool(self.config.threads)}
        model = MaskablePPO(
            PatchworkPolicy if self._has_network else LegalMlpPolicy,
            self.env,
            learning_rate=lambda _: settings.learning_rate.at(self.progress),
            n_steps=settings.rollout_steps,
            rollout_buffer_class=BoolMaskBuffer,
            device=self.config.device,
            **arguments,
        )
        model.set_logger(Logger(None, []))
        return model

    def _arguments(self) -> dict[str, Any]:
        """The arguments of MaskablePPO that its own policy and the one here have in common."""
        settings = self.config.maskable_ppo
        policy: dict[str, Any] = {
            "net_arch": list(settings.net_arch),
            "activation_fn": ACTIVATIONS[settings.activation_fn],
            "ortho_init": settings.ortho_init,
        }
        if self._has_network:
            policy = {"network": self.config.network.model_dump()}
        arguments = {theirs: getattr(settings, key) for theirs, key in _ARGUMENTS.items()}
        return arguments | {"policy_kwargs": policy}

    def _network_of(self, model: MaskablePPO) -> MlpNetwork | PolicyNetwork:
        """The network of a model's policy, or one that shares its layers."""
        policy = cast(Any, model.policy)
        if self._has_network:
            return cast(PolicyNetwork, policy.network)
        settings = self.config.maskable_ppo
        network = MlpNetwork(MlpConfig(settings.net_arch, settings.activation_fn))
        for name in network.mlp_extractor:
            network.mlp_extractor[name] = getattr(policy.mlp_extractor, name)
        network.action_net, network.value_net = policy.action_net, policy.value_net
        return network

    def step(self) -> dict[str, float]:
        """One rollout and the learning from it; see :meth:`Trainer.step`."""
        began, turns = time.perf_counter(), self.env.turns
        if self.opponents is not None:
            self.opponents.choose()
        self.model.ent_coef = self.config.maskable_ppo.entropy_coefficient.at(self.progress)
        try:
            with self._states.in_use():
                self.model.learn(self._decisions, self._clock, reset_num_timesteps=False)
        except DivergenceError as error:
            raise DivergenceError(str(error), error.losses, self._rollout()) from None
        learned = time.perf_counter()
        losses = self._losses()
        finished = self.env.take_finished()
        league = self._note_results(finished)
        share = (self._clock.rollout_ended - began) / (learned - began)
        return (
            self._statistics(finished)
            | league
            | losses
            | {"time/share_of_time_collecting": share}
            | self._count_iteration(self.env.turns - turns, began)
        )

    def _note_results(self, finished: FinishedGames) -> dict[str, float]:
        """Tells the league how games ended, and adds the present self from time to time; returns metrics."""
        if self.opponents is None:
            return {}
        metrics = self.opponents.note_results(finished)
        if (self.iteration + 1) % self.config.league.snapshot_every == 0:
            self.opponents.pool.add(self.network)
        return metrics

    def _statistics(self, finished: FinishedGames) -> dict[str, float]:
        """Figures of the games that ended in the rollout."""
        statistics = statistics_of_games(self.env.rules, finished.states)
        if len(finished.lengths):
            statistics["decisions_per_game"] = float(finished.lengths.mean())
        return grouped("games", statistics)

    def _losses(self) -> dict[str, float]:
        """The losses, as MaskablePPO reports them.

        Raises:
            DivergenceError: A loss or a weight is not finite.
        """
        noted = self.model.logger.name_to_value
        losses = {f"losses/{name}": float(noted[f"train/{theirs}"]) for theirs, name in _LOSSES.items()}
        losses["losses/entropy"] *= -1
        weights = sum(float(parameter.detach().sum()) for parameter in self.model.policy.parameters())
        if not math.isfinite(sum(losses.values()) + weights):
            listed = ", ".join(f"{name} {value:.4g}" for name, value in losses.items())
            message = f"training diverged: the sum of the weights is {weights:.4g} ({listed})"
            raise DivergenceError(message, losses, self._rollout())
        return losses

    def _rollout(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays that MaskablePPO learns from, by name."""
        return {name: getattr(self.model.rollout_buffer, name) for name in _ROLLOUT}

    # --- playing and saving -------------------------------------------------------------------------------

    def agent(self) -> MlpAgent | PolicyAgent:
        """Plays the likeliest moves of the present policy."""
        return _agent(self.network, f"step {self.steps}")

    def write_policy(self, folder: Path) -> None:
        """See :meth:`Trainer.write_policy`."""
        if isinstance(self.network, MlpNetwork):
            mlp.write_policy(folder, self.network, self.policy_info())
        else:
            write_policy(folder, self.network, self.policy_info())

    def write_final(self, folder: Path) -> None:
        """Writes the policy, and a model for ``MaskablePPO.load``.

        The model of perceptrons has sb3-contrib's own classes alone, so that it loads without this package.
        """
        self.write_policy(folder)
        self.portable_model().save(folder / MODEL_FILE)

    def portable_model(self) -> MaskablePPO:
        """The present model for a single environment, with sb3-contrib's own buffer.

        Perceptrons have sb3-contrib's own policy, too.
        """
        settings = self.config.maskable_ppo
        with torch.random.fork_rng(devices=[]):
            model = MaskablePPO(
                PatchworkPolicy if self._has_network else "MlpPolicy",
                SelfPlayVecEnv(1, game=self.config.game),
                learning_rate=settings.learning_rate.at(self.progress),
                ent_coef=settings.entropy_coefficient.at(self.progress),
                device="cpu",
                **self._arguments(),
            )
        model.set_parameters(cast(Any, self.model.get_parameters()), device="cpu")
        model.num_timesteps = self.model.num_timesteps
        return model

    def state_dict(self) -> State:
        """See :meth:`Trainer.state_dict`."""
        model = self.model
        state = super().state_dict() | {
            "policy": self._learner.state_dict(),
            "optimizer": optimizer_state(model.policy.optimizer),
            "games": as_tensors(self._games()),
            "global_random": self._states.state_dict(),
            "random": self.random.bit_generator.state,
            "timesteps": model.num_timesteps,
            "updates": model._n_updates,
        }
        if self.opponents is not None:
            state |= {"league": self.opponents.pool.state_dict(), "opponents": self.opponents.keys()}
        return state

    def load_state_dict(self, state: State) -> None:
        """See :meth:`Trainer.load_state_dict`."""
        super().load_state_dict(state)
        model = self.model
        self._learner.load_state_dict(state["policy"])
        load_optimizer_state(model.policy.optimizer, state["optimizer"])
        self._restore_games(as_arrays(state["games"]))
        if self.opponents is not None:
            self.opponents.pool.load_state_dict(state["league"], self.network)
            self.opponents.load_keys(state["opponents"])
        self._states.load_state_dict(state["global_random"])
        self.random.bit_generator.state = state["random"]
        model.num_timesteps = check_between(state["timesteps"], 0, MOST, "timesteps")
        model._n_updates = check_between(state["updates"], 0, MOST, "updates")

    @property
    def _learner(self) -> nn.Module:
        """The module with all the weights that learn."""
        return self.network if self._has_network else self.model.policy

    def _games(self) -> dict[str, npt.NDArray[Any]]:
        """The games in progress, and which of them have just begun."""
        return self.env.save() | {"episode_starts": np.asarray(self.model._last_episode_starts)}

    def _restore_games(self, games: dict[str, npt.NDArray[Any]]) -> None:
        starts = games.pop("episode_starts")
        if len(starts) != self.env.num_envs:
            raise ValueError(f"episode_starts are of {len(starts)} games; there are {self.env.num_envs}")
        self.model._last_obs, self.model._last_episode_starts = self.env.restore(games), starts


def _load_fixed(spec: str) -> Agent:
    try:
        return agents.load(spec)
    except (ValueError, OSError) as error:
        raise ConfigError(f"maskable_ppo.fixed_opponents: {error}") from None


class _Clock(BaseCallback):
    """Notes when a rollout ends and learning begins, in seconds of :func:`time.perf_counter`."""

    rollout_ended = 0.0

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        self.rollout_ended = time.perf_counter()


def _agent(network: MlpNetwork | PolicyNetwork, name: str, sample: bool = False) -> MlpAgent | PolicyAgent:
    """The agent that plays the present weights of a network."""
    kind = MlpAgent if isinstance(network, MlpNetwork) else PolicyAgent
    return kind(cast(Any, network), name, sample=sample)

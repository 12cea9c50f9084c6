"""A run of sb3-contrib's MaskablePPO against the present self and past ones, or alone for points."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger

from patchwork_env.agents.base import SamplingAgent
from patchwork_env.agents.networks import write_policy
from patchwork_env.core.checks import check_between
from patchwork_env.errors import DivergenceError
from patchwork_env.games import part_of
from patchwork_env.integrations.sb3.policy import BoolMaskBuffer, PatchworkPolicy, as_agent
from patchwork_env.integrations.sb3.self_play import SelfPlayCallback
from patchwork_env.integrations.sb3.vec_env import Info, SelfPlayVecEnv
from patchwork_env.learning.algorithms.common import trainer
from patchwork_env.learning.algorithms.common.gradients import listed
from patchwork_env.learning.algorithms.ppo.config import MaskablePpoConfig

MODEL_FILE = "model.zip"  # the file that ``MaskablePPO.load`` reads
_LOSSES = {
    "loss": "loss",
    "policy_gradient_loss": "policy_loss",
    "value_loss": "value_loss",
    "entropy_loss": "entropy",
    "approx_kl": "kl",
    "clip_fraction": "clip_fraction",
    "explained_variance": "explained_variance",
}
"""The names of losses in this package, by those of sb3-contrib."""
_NUMPY_WORDS = 624  # the words in the state of NumPy's global generator, a Mersenne Twister


class MaskablePpoTrainer(trainer.Trainer):
    """Trains MaskablePPO rollout by rollout: Patchwork against opponents, NMBR 9 alone.

    Steps are the turns of all games, including forced turns and those of opponents; MaskablePPO itself counts
    the learner's decisions (``model.num_timesteps``). MaskablePPO draws from the global random numbers of
    PyTorch and NumPy; during a step these have the states of this run. ``self_play`` is None if the learner
    plays alone.
    """

    config: MaskablePpoConfig

    def __init__(self, config: MaskablePpoConfig) -> None:
        super().__init__(config)
        settings = config.maskable_ppo
        rewards: dict[str, Any] = {"rewards": config.reward}
        if config.is_solo:
            rewards = {"rewards": "score", "reward_scale": settings.points}
        self.env = SelfPlayVecEnv(
            settings.num_envs, game=config.game, seed=config.seed, **rewards, **config.training_options
        )
        self.env.first_opponents = []  # only the present self and past ones
        self._watch = _Watch()
        self._callbacks: list[BaseCallback] = [self._watch]
        self._random_state = _get_random_state()
        with self._own_random_numbers():
            torch.manual_seed(config.seed)
            np.random.seed(np.random.SeedSequence(config.seed).generate_state(4))  # noqa: NPY002
            self.model = self._new_model()
            self.network = cast(PatchworkPolicy, self.model.policy).network
            self.self_play: SelfPlayCallback | None = None
            if not config.is_solo:
                self.self_play = _SelfPlay(seed=config.seed, **config.league.model_dump())
                self.self_play.init_callback(self.model)
                self.self_play.choose_opponents()
                self._callbacks.append(self.self_play)
            self.model.learn(0)  # begins the games

    def _new_model(self) -> MaskablePPO:
        settings = self.config.maskable_ppo
        model = self._maskable_ppo(
            self.env,
            learning_rate=lambda _: settings.learning_rate.at(self.progress),
            n_steps=settings.rollout_steps,
            rollout_buffer_class=BoolMaskBuffer,
            policy_kwargs={"network": self.config.network.model_dump(), "threads": self.config.threads},
            device=self.device,
        )
        model.set_logger(Logger(None, []))
        return model

    def _maskable_ppo(self, env: SelfPlayVecEnv, **options: Any) -> MaskablePPO:
        settings = self.config.maskable_ppo
        return MaskablePPO(
            PatchworkPolicy,
            env,
            batch_size=settings.minibatch_size,
            n_epochs=settings.epochs,
            gamma=settings.gamma,
            gae_lambda=settings.gae_lambda,
            clip_range=settings.clip_range,
            vf_coef=settings.value_coefficient,
            max_grad_norm=settings.max_gradient_norm,
            target_kl=settings.target_kl,
            **options,
        )

    def step(self) -> dict[str, float]:
        """Play one rollout and learn from it."""
        model, began, turns = self.model, time.perf_counter(), self.env.turns
        model.ent_coef = self.config.maskable_ppo.entropy_coefficient.at(self.progress)
        decisions = model.n_steps * model.n_envs
        with self._own_random_numbers():
            model.learn(decisions, self._callbacks, log_interval=None, reset_num_timesteps=False)  # type: ignore[arg-type]
        if self.self_play is not None:
            self.self_play.add_snapshot_if_due()
        noted = dict(model.logger.name_to_value)
        model.logger.dump()  # clears the figures of this iteration
        metrics = {name: value for name, value in noted.items() if name.startswith(("games/", "league/"))}
        if ended := self._watch.ended:
            finals = np.concatenate([info["game"].state for info in ended])
            lengths = [info["episode"]["l"] for info in ended]
            statistics = part_of(self.config.game, "figures").statistics_of_games(finals)
            metrics |= trainer.prefixed("games", statistics)
            metrics["games/decisions_per_game"] = float(np.mean(lengths))
        speed = self._count_iteration(self.env.turns - turns, began, self._watch.rollout_ended)
        return metrics | self._losses(noted) | speed

    def _losses(self, noted: dict[str, Any]) -> dict[str, float]:
        """Return the losses that MaskablePPO reports; DivergenceError if one or a weight is not finite."""
        losses = {f"losses/{name}": float(noted[f"train/{theirs}"]) for theirs, name in _LOSSES.items()}
        losses["losses/entropy"] *= -1
        weights = sum(float(parameter.detach().sum()) for parameter in self.network.parameters())
        if not math.isfinite(losses["losses/loss"] + weights):
            message = f"training diverged: the sum of the weights is {weights:.4g} ({listed(losses)})"
            raise DivergenceError(message)
        return losses

    def agent(self) -> SamplingAgent:
        """Return the agent that plays the most probable moves of the present policy."""
        return as_agent(self.network, f"step {self.steps}")

    def write_policy(self, folder: Path) -> None:
        write_policy(folder, self.network, self.policy_info())

    def write_final(self, folder: Path) -> None:
        """Write the policy, and a model for ``MaskablePPO.load``."""
        self.write_policy(folder)
        self.portable_model().save(folder / MODEL_FILE)

    def portable_model(self) -> MaskablePPO:
        """Return the present model for a single environment."""
        settings = self.config.maskable_ppo
        with torch.random.fork_rng(devices=[]):
            model = self._maskable_ppo(
                SelfPlayVecEnv(1, game=self.config.game),
                learning_rate=settings.learning_rate.at(self.progress),
                ent_coef=settings.entropy_coefficient.at(self.progress),
                policy_kwargs={"network": self.config.network.model_dump()},
                device="cpu",
            )
        cast(PatchworkPolicy, model.policy).network.load_state_dict(self.network.state_dict())
        model.policy.optimizer.load_state_dict(self.model.policy.optimizer.state_dict())
        model.num_timesteps = self.model.num_timesteps
        return model

    def state_dict(self) -> trainer.State:
        model = self.model
        games = self.env.save() | {"episode_starts": np.asarray(model._last_episode_starts)}
        state = super().state_dict() | {
            "policy": self.network.state_dict(),
            "optimizer": trainer.optimizer_state(model.policy.optimizer),
            "games": trainer.as_tensors(games),
            "global_random": self._random_state,
            "timesteps": model.num_timesteps,
            "updates": model._n_updates,
        }
        if self.self_play is not None:
            state |= {
                "league": self.self_play.state_dict(),
                "opponents": self.self_play.opponent_keys(),
                "random": self.self_play.random.bit_generator.state,
            }
        return state

    def load_state_dict(self, state: trainer.State) -> None:
        super().load_state_dict(state)
        model, games = self.model, trainer.as_arrays(state["games"])
        self.network.load_state_dict(state["policy"])
        trainer.load_optimizer_state(model.policy.optimizer, state["optimizer"])
        starts = games.pop("episode_starts")
        if len(starts) != self.env.num_envs:
            raise ValueError(f"episode_starts are of {len(starts)} games; there are {self.env.num_envs}")
        model._last_obs, model._last_episode_starts = self.env.restore(games), starts
        if self.self_play is not None:
            self.self_play.load_state_dict(state["league"], model)
            self.self_play.load_opponent_keys(state["opponents"])
            self.self_play.random.bit_generator.state = state["random"]
        self._random_state = state["global_random"]
        with self._own_random_numbers():  # validates the states
            pass
        model.num_timesteps = check_between(state["timesteps"], 0, trainer.MAX_EXACT_INT, "timesteps")
        model._n_updates = check_between(state["updates"], 0, trainer.MAX_EXACT_INT, "updates")

    @contextmanager
    def _own_random_numbers(self) -> Iterator[None]:
        """Set the global random numbers to those of the run within the block, then restore the others."""
        others = _get_random_state()
        try:
            _set_random_state(self._random_state)
            yield
            self._random_state = _get_random_state()
        finally:
            _set_random_state(others)


class _SelfPlay(SelfPlayCallback):
    """Self-play whose snapshots the trainer adds, after the model has learned from a rollout."""

    def _on_rollout_end(self) -> None:
        self.record_results()


class _Watch(BaseCallback):
    """Collects the infos of games that end in a rollout, and the time at its end, in seconds."""

    rollout_ended: float

    def __init__(self) -> None:
        super().__init__()
        self.ended: list[Info] = []

    def _on_rollout_start(self) -> None:
        self.ended.clear()

    def _on_step(self) -> bool:
        self.ended += [info for info in self.locals["infos"] if info]
        return True

    def _on_rollout_end(self) -> None:
        self.rollout_ended = time.perf_counter()


def _get_random_state() -> trainer.State:
    of_numpy = np.random.get_state(legacy=False)  # noqa: NPY002
    words = {"key": of_numpy["state"]["key"].tolist(), "pos": of_numpy["state"]["pos"]}
    return {"torch": torch.get_rng_state(), "numpy": {**of_numpy, "state": words}}


def _set_random_state(state: trainer.State) -> None:
    check_between(state["numpy"]["state"]["pos"], 0, _NUMPY_WORDS, "pos")  # NumPy does not check it
    torch.set_rng_state(state["torch"])
    np.random.set_state(state["numpy"])  # noqa: NPY002

"""A run of sb3-contrib's MaskablePPO against the present self, past ones and fixed agents."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger

from patchwork_env import agents
from patchwork_env.agents import Agent
from patchwork_env.agents.patchwork.mlp import ACTIVATIONS, MlpAgent, MlpConfig, MlpNetwork, write_policy
from patchwork_env.errors import ConfigError, DivergenceError
from patchwork_env.learning.algorithms.common.league import SnapshotPool
from patchwork_env.learning.algorithms.common.state import (
    StatePart,
    TrainerState,
    arrays_part,
    count_part,
    generator_part,
    module_part,
    nested_part,
    optimizer_part,
)
from patchwork_env.learning.algorithms.common.threads import ThreadPool
from patchwork_env.learning.algorithms.common.trainer import Trainer, grouped
from patchwork_env.learning.algorithms.maskable_ppo.config import MaskablePpoConfig
from patchwork_env.learning.algorithms.maskable_ppo.policy import BoolMaskBuffer, LegalMlpPolicy
from patchwork_env.learning.algorithms.maskable_ppo.random_states import RandomStates
from patchwork_env.learning.algorithms.maskable_ppo.vec_env import FinishedGames, PatchworkVecEnv
from patchwork_env.patchwork.components import NUM_PLAYERS
from patchwork_env.patchwork.figures import statistics_of_games

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
_PRESENT_SELF = 0


class MaskablePpoTrainer(Trainer):
    """Lets MaskablePPO learn, one rollout after the other.

    Steps are those of MaskablePPO: decisions of the learner, without the turns of its opponents.

    Attributes:
        model: The algorithm.
        network: The present policy; its weights are those of ``model``.
    """

    config: MaskablePpoConfig

    def __init__(self, config: MaskablePpoConfig) -> None:
        super().__init__(config)
        settings = config.maskable_ppo
        self.random = np.random.default_rng(config.seed)
        self._states = RandomStates(config.seed)
        self._clock = _Clock()
        self.pool: SnapshotPool[MlpNetwork] = SnapshotPool(config.league)
        self._fixed = [_load_fixed(spec) for spec in settings.fixed_opponents]
        self.env = PatchworkVecEnv(
            settings.num_envs,
            seed=config.seed,
            reward=config.reward,
            special_patches=config.special_patches,
            keep_finished=True,
        )
        with self._states.in_use():
            self.model = self._make_model()
            self.network = _network_of(self.model, MlpConfig(settings.net_arch, settings.activation_fn))
            self._present_self = MlpAgent(self.network, "present self", sample=True)
            self._past_selves: dict[int, MlpAgent] = {}
            self.env.set_opponents([self._present_self])
            self._choose_opponents()
            self.model.learn(0)  # begins the games

    def _make_model(self) -> MaskablePPO:
        settings = self.config.maskable_ppo
        arguments = self._arguments()
        arguments["policy_kwargs"] |= {"threads": ThreadPool(self.config.threads)}
        model = MaskablePPO(
            LegalMlpPolicy,
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
        policy = {
            "net_arch": list(settings.net_arch),
            "activation_fn": ACTIVATIONS[settings.activation_fn],
            "ortho_init": settings.ortho_init,
        }
        arguments = {theirs: getattr(settings, key) for theirs, key in _ARGUMENTS.items()}
        return arguments | {"policy_kwargs": policy}

    @property
    def steps_per_iteration(self) -> int:
        """Decisions of the learner in one rollout of all games."""
        return self.config.maskable_ppo.num_envs * self.config.maskable_ppo.rollout_steps

    def _iterate(self) -> dict[str, float]:
        """One rollout and the learning from it."""
        began = time.perf_counter()
        self._choose_opponents()
        self.model.ent_coef = self.config.maskable_ppo.entropy_coefficient.at(self.progress)
        try:
            with self._states.in_use():
                self.model.learn(self.steps_per_iteration, self._clock, reset_num_timesteps=False)
        except DivergenceError as error:
            raise DivergenceError(str(error), error.losses, self._rollout()) from None
        learned = time.perf_counter()
        losses = self._losses()
        finished = self.env.take_finished()
        league = self._note_results(finished)
        if (self.iteration + 1) % self.config.league.snapshot_every == 0:
            self.pool.add(self.network)
        share = (self._clock.rollout_ended - began) / (learned - began)
        return self._statistics(finished) | league | losses | {"time/share_of_time_collecting": share}

    def _choose_opponents(self) -> None:
        """Gives opponents to games that begin: fixed agents to the last ones, past selves to those before.

        The present self is the opponent in all other games.
        """
        in_play = {number for number in self._opponent_keys() if number >= 0}
        drawn = self.pool.draw(self.random, in_play)
        self._past_selves = {number: self._past_self(number) for number in (*drawn, *sorted(in_play))}
        opponents = [self._present_self, *(self._past_selves[number] for number in drawn), *self._fixed]
        leaving = [self._past_selves[number] for number in sorted(in_play.difference(drawn))]
        for opponent in (*opponents, *leaving):
            opponent.reseed(int(self.random.integers(2**63)))
        games, settings = self.config.maskable_ppo.num_envs, self.config.maskable_ppo
        numbers = np.full(games, _PRESENT_SELF)
        first_fixed = games - round(settings.fixed_fraction * games)
        first_league = max(0, first_fixed - round(self.config.league.fraction * games))
        numbers[first_league:first_fixed] = _in_turn(first_fixed - first_league, 1, len(drawn))
        numbers[first_fixed:] = _in_turn(games - first_fixed, 1 + len(drawn), len(self._fixed))
        self.env.set_opponents(opponents, numbers)

    def _past_self(self, number: int) -> MlpAgent:
        """The agent of a snapshot, the same object as long as the snapshot is in play."""
        known = self._past_selves.get(number)
        return known or MlpAgent(self.pool.policy(number), "past self", sample=True)

    def _opponent_keys(self) -> list[int]:
        """The opponent in each game: a past self's number, -1 for the present self, lower for a fixed one."""
        agents = [self._present_self, *self._fixed]
        keys = {id(agent): -1 - place for place, agent in enumerate(agents)}
        keys |= {id(agent): number for number, agent in self._past_selves.items()}
        return [keys[id(self.env.opponents[number])] for number in self.env.opponent_numbers]

    def _save_opponents(self) -> TrainerState:
        return TrainerState({"league_games": self._opponent_keys()}, {})

    def _restore_opponents(self, state: TrainerState) -> None:
        """Gives games in progress their opponents; states of earlier versions mean the present self."""
        keys: list[int] = state.values.get("league_games", [-1] * self.env.num_envs)
        self._past_selves = {key: self._past_self(key) for key in sorted(set(keys)) if key >= 0}
        opponents = [self._present_self, *self._fixed, *self._past_selves.values()]
        places = {key: 1 + len(self._fixed) + place for place, key in enumerate(self._past_selves)}
        numbers = [places[key] if key >= 0 else -1 - key for key in keys]
        self.env.set_opponents(opponents, np.array(numbers), at_once=True)

    def _note_results(self, finished: FinishedGames) -> dict[str, float]:
        """Tells the league how games against past selves ended; returns its metrics."""
        met = [self.env.opponents[number] for number in finished.opponents]
        wins, games = {}, {}
        for number, past_self in self._past_selves.items():
            won = [won for won, opponent in zip(finished.won, met, strict=True) if opponent is past_self]
            wins[number], games[number] = float(sum(won)), float(len(won))
        self.pool.record(wins, games)
        metrics = grouped("league", self.pool.statistics())
        if sum(games.values()):
            metrics["games/win_rate_against_past_self"] = sum(wins.values()) / sum(games.values())
        return metrics

    def _statistics(self, finished: FinishedGames) -> dict[str, float]:
        """Figures of the games that ended in the rollout."""
        statistics = statistics_of_games(finished.states)
        if len(finished.lengths):
            statistics["decisions_per_game"] = float(finished.lengths.mean())
        for agent in self._fixed:
            place = next((k for k, opponent in enumerate(self.env.opponents) if opponent is agent), -1)
            won = finished.won[finished.opponents == place]
            if len(won):
                statistics[f"win_rate_against_{agent.name}"] = float(won.mean())
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

    def agent(self) -> MlpAgent:
        """Plays the likeliest moves of the present policy."""
        return MlpAgent(self.network, f"step {self.steps}")

    def write_policy(self, folder: Path) -> None:
        """See :meth:`Trainer.write_policy`."""
        write_policy(folder, self.network, self.policy_info())

    def write_final(self, folder: Path) -> None:
        """Writes the policy, and a model of sb3-contrib's own classes for ``MaskablePPO.load`` anywhere."""
        self.write_policy(folder)
        self.portable_model().save(folder / MODEL_FILE)

    def portable_model(self) -> MaskablePPO:
        """The present model with sb3-contrib's own policy and buffer, for a single environment."""
        settings = self.config.maskable_ppo
        with torch.random.fork_rng(devices=[]):
            model = MaskablePPO(
                "MlpPolicy",
                PatchworkVecEnv(1),
                learning_rate=settings.learning_rate.at(self.progress),
                ent_coef=settings.entropy_coefficient.at(self.progress),
                device="cpu",
                **self._arguments(),
            )
        model.set_parameters(cast(Any, self.model.get_parameters()), device="cpu")
        model.num_timesteps = self.model.num_timesteps
        return model

    def _state_parts(self) -> Sequence[StatePart]:
        model, policy = self.model, self.model.policy
        return [
            module_part("policy", policy),
            optimizer_part("optimizer", policy.optimizer, policy),
            arrays_part("env", self._games, self._restore_games),
            nested_part("league", self.pool.state, lambda state: self.pool.restore(state, self.network)),
            StatePart(self._save_opponents, self._restore_opponents),
            nested_part("random", self._states.state, self._states.restore, "global_random"),
            generator_part("random", self.random),
            count_part("timesteps", model, "num_timesteps"),
            count_part("updates", model, "_n_updates"),
        ]

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


def _network_of(model: MaskablePPO, config: MlpConfig) -> MlpNetwork:
    """A network that shares its layers with the policy of a model."""
    network, policy = MlpNetwork(config), cast(Any, model.policy)
    for name in network.mlp_extractor:
        network.mlp_extractor[name] = getattr(policy.mlp_extractor, name)
    network.action_net, network.value_net = policy.action_net, policy.value_net
    return network


def _in_turn(count: int, first: int, choices: int) -> npt.NDArray[np.int64]:
    """The opponents of ``count`` games, ``choices`` of them from ``first`` on, each for two neighbors.

    Without any choice it is the present self.
    """
    if choices == 0:
        return np.full(count, _PRESENT_SELF)
    return first + np.arange(count) // NUM_PLAYERS % choices

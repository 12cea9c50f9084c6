"""Batched self-play: what the environments of both games have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from patchwork_env.core.checks import check_seed, seed_streams
from patchwork_env.core.tensors import Observation
from patchwork_env.errors import IllegalActionError

States = npt.NDArray[np.void]


def check_batch(actions: npt.ArrayLike, num_envs: int) -> npt.NDArray[np.integer[Any]]:
    """Actions of a batch, integers ``(num_envs,)``.

    Raises:
        ValueError: They have another shape or type.
    """
    array = np.asarray(actions)
    if array.shape != (num_envs,) or not np.issubdtype(array.dtype, np.integer):
        raise ValueError(
            f"actions have shape {array.shape} and type {array.dtype}; they must be {num_envs} integers"
        )
    return array


class BaseSelfPlay(ABC):
    """Games that are played at once, in arrays that are allocated once and overwritten by every step.

    Args:
        states: ``(n,)`` records, which :meth:`reset` sets up.
        num_actions: Width of the masks.
        observation_size: Width of the observations.
        masks: Whether to write masks.
        observations: Whether to write observations.
    """

    def __init__(
        self, states: States, num_actions: int, observation_size: int, *, masks: bool, observations: bool
    ) -> None:
        self.num_envs = len(states)
        self.states = states
        self.masks = np.zeros((self.num_envs if masks else 0, num_actions), np.int8)
        self.observations: Observation = np.zeros(
            (self.num_envs if observations else 0, observation_size), np.float32
        )
        self.counts = np.zeros(self.num_envs, np.int16)
        self.random_actions = np.zeros(self.num_envs, np.int64)
        self._actions = np.zeros(self.num_envs, np.int64)
        self._streams = np.zeros(self.num_envs, np.uint64)
        self._sampling_streams = np.zeros(self.num_envs, np.uint64)
        self._sampled_from = np.zeros(self.num_envs, np.uint64)  # the streams before the last draw

    @property
    def current_players(self) -> npt.NDArray[np.uint8]:
        """Who is to move in each game, uint8 ``(n,)``; a view of ``states``."""
        return self.states["current_player"]

    def reset(self, seed: int | None = None) -> None:
        """Starts new games everywhere, with new random streams."""
        self._streams[:] = seed_streams(check_seed(seed), self.num_envs)
        self._sampling_streams[:] = ~self._streams
        self._restart()
        self._forget_results()
        self._describe()

    def step(self, actions: npt.ArrayLike) -> None:
        """Plays one action in every game.

        Args:
            actions: Integers ``(n,)``.

        Raises:
            IllegalActionError: An action is not legal; names the first such game. No game is changed.
            ValueError: The actions have another shape or type.
        """
        self._actions[:] = check_batch(actions, self.num_envs)
        illegal = self._step()
        if illegal >= 0:
            raise IllegalActionError(
                f"action {self._actions[illegal]} of game {illegal} is not legal; "
                f"its mask allows {self.counts[illegal]} actions. No game was changed"
            )

    def save(self) -> dict[str, npt.NDArray[Any]]:
        """Copies of all that the games depend on, for :meth:`restore`: state records and random streams."""
        return {
            "states": self.states.view(np.uint8).copy(),
            "streams": self._streams.copy(),
            "sampling_streams": self._sampled_from.copy(),
        }

    def restore(self, saved: dict[str, npt.NDArray[Any]]) -> None:
        """Continues from what :meth:`save` returned, exactly as the saved games would have.

        Raises:
            ValueError: The arrays are of another number of games, or are missing.
        """
        expected = {name: (array.shape, array.dtype) for name, array in self.save().items()}
        given = {name: (array.shape, array.dtype) for name, array in saved.items()}
        if given != expected:
            raise ValueError(f"the saved games have the arrays {given}; this environment needs {expected}")
        self.states[:] = saved["states"].view(self.states.dtype)
        self._streams[:] = saved["streams"]
        self._sampling_streams[:] = saved["sampling_streams"]
        self._forget_results()
        self._describe()

    @abstractmethod
    def _restart(self) -> None:
        """Starts all games anew."""

    @abstractmethod
    def _forget_results(self) -> None:
        """Makes the outputs say that no game has ended."""

    @abstractmethod
    def _step(self) -> int:
        """One step of all games, or, changing nothing, the first game whose action is illegal; else -1."""

    @abstractmethod
    def _describe(self) -> None:
        """Writes counts, masks, random actions and observations, after noting ``_sampled_from``."""

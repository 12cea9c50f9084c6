"""Searched games played by workers. A job is some of the games as they stand, which it plays on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from patchwork_env.agents.networks import NetworkConfig
from patchwork_env.agents.patchwork.policy_network import PatchworkNetwork
from patchwork_env.learning.algorithms.alphazero.config import AlphaZeroConfig
from patchwork_env.learning.algorithms.alphazero.examples import NO_EXAMPLES, Examples, check_fit
from patchwork_env.learning.algorithms.alphazero.self_play import SearchedSelfPlay, new_env
from patchwork_env.learning.algorithms.common.batches import check_like, concatenated, parts_of_size
from patchwork_env.learning.algorithms.common.remote_play import Weights
from patchwork_env.patchwork import Game
from patchwork_env.patchwork.figures import Ended, Tally
from patchwork_env.patchwork.state import empty_states
from patchwork_env.patchwork_v0 import SelfPlayVectorEnv

_Arrays = dict[str, npt.NDArray[Any]]


class Job(NamedTuple):
    """Some games as they stand, and the seed of their searches.

    Games and the tally, their counts, are what :meth:`SelfPlayVectorEnv.save` and :meth:`Tally.save` return.
    """

    games: _Arrays
    tally: _Arrays
    seed: int


class Rollout(NamedTuple):
    """Some games after the turns of an iteration, their searched decisions, and the games that ended.

    Games and tally are as in :class:`Job`.
    """

    games: _Arrays
    tally: _Arrays
    examples: Examples
    ended: Ended


class AlphaZeroPlayer:
    """A ``Player`` that plays on some games, on the CPU."""

    def __init__(self, config: AlphaZeroConfig) -> None:
        self._config = config
        self._network = PatchworkNetwork(NetworkConfig(**config.network.model_dump()))

    def set_weights(self, weights: Weights) -> None:
        """Plays with these weights from now on."""
        self._network.load_state_dict({name: torch.tensor(array) for name, array in weights.items()})

    def play(self, progress: float, job: Job) -> Rollout:
        """Plays the turns of an iteration in each game."""
        config, settings = self._config, self._config.alphazero
        env = new_env(len(job.tally["counts"]), 0, config.special_patches)
        env.restore(job.games)
        self_play = SearchedSelfPlay(env, settings, config.reward)
        self_play.tally.restore(job.tally)
        random = np.random.default_rng(job.seed)
        examples, ended = self_play.play(self._network, settings.rollout_steps, random)
        return Rollout(env.save(), self_play.tally.save(), examples, ended)


class RemoteSearchedGames:
    """The searched games of a policy as ``RemoteGames``.

    The games and their counts are updated when workers have played them on.
    """

    def __init__(self, network: PatchworkNetwork, env: SelfPlayVectorEnv, tally: Tally) -> None:
        self._network, self._env, self._tally = network, env, tally

    def weights(self) -> Weights:
        """A copy of the weights that play."""
        return {name: tensor.cpu().numpy().copy() for name, tensor in self._network.state_dict().items()}

    def jobs(self, seed: np.uint64, size: int) -> list[Job]:
        """All games, ``size`` of them in a job; each job has a seed of its own."""
        number = self._env.num_envs
        parts = parts_of_size(number, size)
        seeds = np.random.SeedSequence(int(seed)).generate_state(len(parts), np.uint64)
        games = _parts_of(self._env.save(), number, parts)
        tallies = _parts_of(self._tally.save(), number, parts)
        return [Job(own, tally, int(s)) for own, tally, s in zip(games, tallies, seeds, strict=True)]

    def check(self, result: Rollout) -> None:
        """See :meth:`RemoteGames.check`."""
        ended = Ended(empty_states(0), self._tally.save()["counts"])
        check_like(result, Rollout(self._env.save(), self._tally.save(), NO_EXAMPLES, ended), Game)
        numbers = [len(array) for array in (result.games["streams"], result.tally["counts"])]
        if numbers[0] != numbers[1]:
            raise ValueError(f"there are {numbers[0]} games and counts of {numbers[1]}")
        check_fit(result.examples)

    def combine(self, results: Sequence[Rollout]) -> tuple[Examples, dict[str, float]]:
        """The searched decisions, and statistics of the games that ended."""
        self._env.restore(_joined([result.games for result in results]))
        self._tally.restore(_joined([result.tally for result in results]))
        ended = concatenated(result.ended for result in results)
        return concatenated(result.examples for result in results), ended.figures()


def _parts_of(arrays: _Arrays, number: int, parts: Sequence[slice]) -> Iterator[_Arrays]:
    """The arrays of ``number`` games, divided into parts; each game has equally many entries in a row."""
    for part in parts:
        yield {
            name: array.reshape(number, -1)[part].reshape(-1, *array.shape[1:])
            for name, array in arrays.items()
        }


def _joined(parts: Sequence[Mapping[str, npt.NDArray[Any]]]) -> _Arrays:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

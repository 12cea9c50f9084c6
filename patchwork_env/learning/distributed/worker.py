"""What runs in the processes of workers."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import torch

from patchwork_env.learning.config import RunConfig
from patchwork_env.learning.distributed.connection import load_ray
from patchwork_env.learning.distributed.players import Weights, player_of
from patchwork_env.learning.system.machine import made_with
from patchwork_env.learning.system.memory import keep_freed_memory


class Order(NamedTuple):
    """What the jobs of an iteration have in common.

    Attributes:
        version: Of the weights.
        weights: Play.
        progress: Fraction of the run that is over.
    """

    version: int
    weights: Weights
    progress: float


class Begun(NamedTuple):
    """What a worker says of itself when it has begun.

    Attributes:
        machine: The number of its machine in the cluster.
        process: Its number there.
        versions: Of what results depend on.
    """

    machine: str
    process: int
    versions: dict[str, str]


class Worker:
    """Plays games on one thread, in a process of its own."""

    def __init__(self, config: RunConfig) -> None:
        torch.set_num_threads(1)
        keep_freed_memory()
        self._player = player_of(config)
        self._version = -1

    def begin(self) -> Begun:
        """Says that the worker has begun."""
        node = load_ray().get_runtime_context().get_node_id()
        return Begun(node, os.getpid(), versions())

    def work(self, order: Order, job: Any) -> Any:
        """Plays the games of a job."""
        if order.version != self._version:
            self._player.take(order.weights)
            self._version = order.version
        return self._player.play(order.progress, job)


def versions() -> dict[str, str]:
    """Of what the results of a job depend on, by package."""
    return {name: version for name, version in made_with().items() if name != "machine"}

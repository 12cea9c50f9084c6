"""Workers without Ray: their jobs are done in this process, in any order."""

from __future__ import annotations

import pickle
from contextlib import contextmanager

import numpy as np

from patchwork_env.learning.algorithms.common.trainer import make_trainer
from patchwork_env.learning.config import load_config


class FakePool:
    """Does what a ``RayPool`` does, and keeps what jobs share.

    Args:
        workers: How many workers do the jobs.
    """

    def __init__(self, workers):
        self.workers = workers
        self.places: set[tuple[str, int]] = set()
        self.shared: list = []
        self.jobs = 0
        self.error: Exception | None = None
        self._random = np.random.default_rng(3)

    def imap(self, function, shared, jobs):
        self.shared.append(shared)
        self.places = set()
        for turn, number in enumerate(self._random.permutation(len(jobs)).tolist()):
            worker = turn % self.workers
            self.places.add(("machine", worker))
            self.jobs += 1
            given, job = pickle.loads(pickle.dumps((shared, jobs[number])))
            if self.error is not None:
                raise self.error
            yield number, pickle.loads(pickle.dumps(function(given, job)))

    def cancel(self):
        """Nothing is in flight between the calls."""


@contextmanager
def shared(path, workers, *settings):
    """A trainer whose games are played by workers in this process, and their pool."""
    trainer = make_trainer(load_config(path, [f"cluster.workers={workers}", *settings]))
    pool = FakePool(workers)
    with trainer.played_by(pool):
        yield trainer, pool

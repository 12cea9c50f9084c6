"""Workers without Ray: jobs run in this process in random order."""

from __future__ import annotations

import pickle
from contextlib import contextmanager

import numpy as np

from patchwork_env.learning.algorithms.common.trainer import make_trainer
from patchwork_env.learning.config import load_config


class FakePool:
    """A ``RayPool`` without Ray, which records the shared data of jobs."""

    def __init__(self):
        self.shared: list = []
        self.jobs = 0
        self.error: Exception | None = None
        self._random = np.random.default_rng(3)

    def imap(self, function, shared, jobs):
        self.shared.append(shared)
        for number in self._random.permutation(len(jobs)).tolist():
            self.jobs += 1
            given, job = pickle.loads(pickle.dumps((shared, jobs[number])))
            if self.error is not None:
                raise self.error
            yield number, pickle.loads(pickle.dumps(function(given, job)))


@contextmanager
def shared(path, workers, *settings):
    """A trainer whose games are played by workers in this process, and their pool."""
    trainer = make_trainer(load_config(path, [f"cluster.workers={workers}", *settings]))
    trainer.pool = pool = FakePool()
    yield trainer, pool

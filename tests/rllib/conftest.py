"""Tests of RLlib share one Ray, which ends with them, and run on one core."""

from __future__ import annotations

import pytest
import torch

from training.config import Cluster


@pytest.fixture(scope="package", autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="package")
def connection():
    """A Ray of one processor."""
    from training.cluster.connection import connected

    with connected(Cluster(address="local", workers=1)) as ray:
        yield ray

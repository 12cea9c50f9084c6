"""Tests of RLlib share one Ray, which ends with them, and run on one core."""

from __future__ import annotations

import pytest

from tests.one_thread import _one_thread as _one_thread
from training.config import Cluster


@pytest.fixture(scope="package")
def connection():
    """A Ray of one processor."""
    from training.cluster.connection import connected

    with connected(Cluster(address="local", workers=1)) as ray:
        yield ray

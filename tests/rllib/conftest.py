"""Tests of RLlib share one Ray, which ends with them, and run on one core."""

from __future__ import annotations

import pytest

from patchwork_env.learning.config import Cluster
from tests.one_thread import _one_thread as _one_thread


@pytest.fixture(scope="package")
def connection():
    """A Ray of one processor."""
    from patchwork_env.learning.distributed.connection import connected

    with connected(Cluster(address="local", workers=1)) as ray:
        yield ray

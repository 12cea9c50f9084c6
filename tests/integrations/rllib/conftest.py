"""Tests of RLlib share one Ray, which ends with them."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="package")
def connection():
    """A Ray of one processor."""
    from patchwork_env.learning.distributed.ray_cluster import connected

    with connected("local", 1) as ray:
        yield ray

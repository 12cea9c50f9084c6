"""Leaves the tests of this folder out where compiled code has no bounds checks."""

from __future__ import annotations

from pathlib import Path

import pytest
from numba import config

FOLDER = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if not config.BOUNDSCHECK:
        for item in items:
            if FOLDER in item.path.parents:
                item.add_marker(pytest.mark.skip(reason="make test-bounds runs these"))

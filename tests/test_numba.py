"""Two modules use internals of Numba, for the versions with which they were tested."""

import ast
import re
from pathlib import Path

import numba
import pytest

from patchwork_env.core import cache, compile, linking

PROJECT = Path(__file__).parents[1]
PROMISED = {"numba", "numba.extending", "numba.types", "numba.typed", "numba.core.cgutils", "llvmlite.ir"}
"""Modules that Numba documents for users and for extensions."""


def imported(path):
    """The modules of Numba and llvmlite that a file imports, or imports from."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            full = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in PROMISED else str(node.module) for name in full}
    return {name for name in found if name.partition(".")[0] in ("numba", "llvmlite")}


@pytest.mark.slow
def test_only_two_modules_use_internals():
    """``core.compile`` works without these internals; in other modules they would be errors."""
    door = {Path(module.__file__) for module in (cache, linking)}
    for path in {*(PROJECT / "patchwork_env").rglob("*.py")} - door:
        assert imported(path) <= PROMISED, path.name


def test_the_newest_version_that_is_known_is_the_one_that_the_suite_runs_with():
    known = tuple(map(int, numba.__version__.split(".")[:2])) <= linking.NEWEST
    assert known == compile.IS_LINKING, "with this version of Numba kernels take longer to compile"
    lock = (PROJECT / "requirements.lock").read_text(encoding="utf-8")
    locked = re.search(r"^numba==(\d+)\.(\d+)", lock, re.MULTILINE)
    assert locked is not None
    assert (int(locked[1]), int(locked[2])) == linking.NEWEST

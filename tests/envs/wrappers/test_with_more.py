"""The wrappers that need libraries of their own, with these libraries."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.envs.wrappers import many, single, turns
from tests.envs.wrappers.rows import Row

pytest.importorskip("moviepy")
pytest.importorskip("array_api_compat")

pytestmark = pytest.mark.libraries


@pytest.mark.parametrize(
    "row",
    [
        row
        for row in (*single.ROWS, *many.ROWS, *turns.ROWS)
        if {*row.needs} & {"moviepy", "array_api_compat"}
    ],
    ids=repr,
)
@pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore:.*Casting input x"
)
def test_a_wrapper_does_what_its_table_says(
    row: Row, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    row.check("Nmbr9")

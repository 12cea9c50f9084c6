"""Every wrapper of SuperSuit does what its table in ``docs/wrappers.md`` says."""

from __future__ import annotations

import re

import pytest

from tests.envs.wrappers.rows import GAMES, Row
from tests.envs.wrappers.super_suit import ROWS

supersuit = pytest.importorskip("supersuit")

pytestmark = pytest.mark.libraries


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("row", ROWS, ids=repr)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
def test_a_wrapper_does_what_its_table_says(row: Row, game: str) -> None:
    for module in row.needs:
        pytest.importorskip(module)
    row.check(game)


def test_every_wrapper_has_a_row() -> None:
    there = {name for name in dir(supersuit) if re.fullmatch(r"\w+_v\d", name)}
    stems = {name.rpartition("_")[0] for name in there}
    assert {row.name for row in ROWS} <= there
    assert stems - {row.name.rpartition("_")[0] for row in ROWS} == {"stable_baselines_vec_env"}

"""Every wrapper of Gymnasium and PettingZoo does what its table in ``docs/wrappers.md`` says."""

from __future__ import annotations

import gc
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import gymnasium.wrappers
import gymnasium.wrappers.vector
import pettingzoo.utils
import pettingzoo.utils.wrappers
import pytest

from tests.envs.wrappers import many, single, super_suit, turns
from tests.envs.wrappers.rows import Row

PAGE = Path(__file__).parents[3] / "docs" / "wrappers.md"
TABLES = {
    "Gymnasium, single environments": (single.ROWS, gymnasium.wrappers),
    "Gymnasium, vector environments": (many.ROWS, gymnasium.wrappers.vector),
    "PettingZoo": (turns.ROWS, pettingzoo.utils.wrappers),
}
CONVERSIONS = {"aec_to_parallel", "parallel_to_aec", "turn_based_aec_to_parallel"}


class Film:
    """Stands in for MoviePy's clip, and writes the number of its frames."""

    def __init__(self, frames: list[Any], fps: int) -> None:
        del fps
        self._frames = frames

    def write_videofile(self, path: str, logger: Any = None) -> None:
        del logger
        Path(path).write_text(str(len(self._frames)), encoding="utf-8")


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A folder for films, no display, and a MoviePy where there is none."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setattr(gc, "collect", int)  # which takes longer than a film does, with all that tests import
    if "moviepy" not in sys.modules and find_spec("moviepy") is None:
        for name in ("moviepy", "moviepy.video", "moviepy.video.io", "moviepy.video.io.ImageSequenceClip"):
            monkeypatch.setitem(sys.modules, name, ModuleType(name))
        monkeypatch.setattr(sys.modules[name], "ImageSequenceClip", Film, raising=False)


def rows() -> list[Any]:
    return [
        pytest.param(row, library, game, id=f"{title}-{row.name}-{game}")
        for title, (listed, library) in TABLES.items()
        for row in listed
        if row.check is not None
        for game in row.games
    ]


@pytest.mark.parametrize(("row", "library", "game"), rows())
@pytest.mark.filterwarnings("ignore:overflow encountered in cast", "ignore:.*Overwriting existing videos")
def test_a_wrapper_does_what_its_table_says(row: Row, library: ModuleType, game: str) -> None:
    for module in row.needs:
        if module not in sys.modules:
            pytest.importorskip(module)
    if row.name not in CONVERSIONS and row.name not in library.__all__:
        pytest.skip(f"this version has no {row.name}")
    assert row.check is not None
    row.check(game)


@pytest.mark.parametrize("title", TABLES)
def test_every_wrapper_has_a_row(title: str) -> None:
    listed, library = TABLES[title]
    assert {*library.__all__} - {"vector"} <= {row.name for row in listed}


@pytest.mark.parametrize("title", [*TABLES, "SuperSuit"])
def test_the_page_has_the_table(title: str) -> None:
    listed = super_suit.ROWS if title == "SuperSuit" else TABLES[title][0]
    section = PAGE.read_text(encoding="utf-8").partition(f"## {title}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| `")]
    assert lines == [row.text() for row in listed]

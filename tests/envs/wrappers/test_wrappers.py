"""Every wrapper of Gymnasium, PettingZoo and SuperSuit does what ``docs/use/wrappers.md`` says."""

from __future__ import annotations

import gc
import re
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import gymnasium.wrappers
import gymnasium.wrappers.vector
import pettingzoo.utils.wrappers
import pytest

from tests.envs.wrappers import many, single, super_suit, turns
from tests.envs.wrappers.tries import GAMES, YES, Check

PAGE = Path(__file__).parents[3] / "docs" / "use" / "wrappers.md"
CONVERSIONS = {"aec_to_parallel", "parallel_to_aec", "turn_based_aec_to_parallel"}
WRAPPERS = {
    "Gymnasium, single environments": (single, {*gymnasium.wrappers.__all__} - {"vector"}),
    "Gymnasium, vector environments": (many, {*gymnasium.wrappers.vector.__all__}),
    "PettingZoo": (turns, {*pettingzoo.utils.wrappers.__all__} | CONVERSIONS),
}
PICTURED = {
    "RecordVideo",
    "RecordVideoParallel",
    "RenderCollection",
    "HumanRendering",
    "AddWhiteNoise",
    "ObstructView",
    "AddRenderObservation",
    "CaptureStdoutWrapper",
}
AT_ONCE = {
    "BaseParallelWrapper",
    "MultiEpisodeParallelEnv",
    "parallel_to_aec",
    "pettingzoo_env_to_vec_env_v1",
    "concat_vec_envs_v1",
}
"""These are tried with NMBR 9 alone, whose players can act at once, and those that draw pictures, which takes
as long as thousands of moves."""


class Film:
    """Stands in for MoviePy's clip, and writes the number of its frames."""

    def __init__(self, frames: list[Any], fps: int) -> None:
        self._frames = frames

    def write_videofile(self, path: str, logger: Any = None) -> None:
        Path(path).write_text(str(len(self._frames)), encoding="utf-8")


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A folder for films, no display, and a MoviePy where there is none."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setattr(gc, "collect", int)  # which takes longer than a film does, with all that tests import
    if find_spec("moviepy") is None:
        for name in ("moviepy", "moviepy.video", "moviepy.video.io", "moviepy.video.io.ImageSequenceClip"):
            monkeypatch.setitem(sys.modules, name, ModuleType(name))
        monkeypatch.setattr(sys.modules[name], "ImageSequenceClip", Film, raising=False)


def tried(module: Any, there: set[str] | None = None) -> list[Any]:
    """Checks, each with a game, of all wrappers that this version of a library has."""
    checks = {name: check for of in module.CHECKS.values() for name, check in of.items()}
    return [
        pytest.param(check, game, id=f"{module.__name__.rpartition('.')[2]}-{name}-{game}")
        for name, check in checks.items()
        if (there is None or name in there) and name != "NumpyToTorch"
        for game in (("Nmbr9",) if name in PICTURED | AT_ONCE else GAMES)
    ]


@pytest.mark.parametrize(("check", "game"), [row for of in WRAPPERS.values() for row in tried(*of)])
@pytest.mark.filterwarnings("ignore:overflow encountered in cast", "ignore:.*Overwriting existing videos")
def test_a_wrapper_does_what_its_table_says(check: Check, game: str) -> None:
    check(game)


@pytest.mark.libraries
@pytest.mark.parametrize(("check", "game"), tried(super_suit))
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
def test_a_wrapper_of_super_suit_does_what_its_table_says(check: Check, game: str) -> None:
    pytest.importorskip("supersuit")
    check(game)


@pytest.mark.libraries
@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("module", [single, many])
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:.*Casting input x")
def test_tensors(module: Any, game: str) -> None:
    pytest.importorskip("array_api_compat")
    module.CHECKS[YES]["NumpyToTorch"](game)


@pytest.mark.libraries
@pytest.mark.parametrize("film", [single.is_filmed, many.is_filmed, turns.is_filmed, turns.is_filmed_at_once])
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_moviepy_makes_films(film: Check) -> None:
    pytest.importorskip("moviepy")
    film("Nmbr9")


def verdicts(title: str) -> dict[str, str]:
    """What the page says of each wrapper of a library."""
    section = PAGE.read_text(encoding="utf-8").partition(f"## {title}\n")[2].partition("\n## ")[0]
    return dict(re.findall(r"^\| `(\w+)` \| ([a-z ]+) \|", section, re.MULTILINE))


@pytest.mark.parametrize("title", [*WRAPPERS, "SuperSuit"])
def test_the_page_says_what_was_tried(title: str) -> None:
    module = WRAPPERS[title][0] if title in WRAPPERS else super_suit
    found = {name: verdict for verdict, checks in module.CHECKS.items() for name in checks}
    assert {name: said for name, said in verdicts(title).items() if said != "not tried"} == found


@pytest.mark.parametrize("title", WRAPPERS)
def test_the_page_has_every_wrapper(title: str) -> None:
    assert WRAPPERS[title][1] <= set(verdicts(title))


@pytest.mark.libraries
def test_the_page_has_every_wrapper_of_super_suit() -> None:
    supersuit = pytest.importorskip("supersuit")
    there = {name for name in dir(supersuit) if re.fullmatch(r"\w+_v\d", name)}
    said = set(verdicts("SuperSuit"))
    assert said <= there
    stems = [{name.rpartition("_")[0] for name in names} for names in (there, said)]
    assert stems[0] - stems[1] == {"stable_baselines_vec_env"}

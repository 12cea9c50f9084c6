"""What an import costs and needs: no heavy libraries, and no folder to write to."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[1]
PACKAGE = PROJECT / "patchwork_env"

PLAY = """
import json, logging, sys
logging.basicConfig(level=logging.INFO, stream=sys.stderr)
from patchwork_env.patchwork import Game
import patchwork_env

game = Game(seed=3)
while not game.is_over:
    game.play(int(game.legal_actions()[-1]))
print(json.dumps({
    "scores": [int(score) for score in game.scores()],
    "file": patchwork_env.__file__,
    "modules": sorted(sys.modules),
}))
"""

COUNT = """
import json, logging, sys
logging.basicConfig(level=logging.INFO, stream=sys.stderr)
from patchwork_env.core.bits import popcount
import patchwork_env

print(json.dumps({"ones": popcount(7), "file": patchwork_env.__file__}))
"""


def python(code: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run code in a new interpreter, with changed environment variables."""
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=cwd,
        env={**os.environ, "NUMBA_DISABLE_JIT": "0", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def modules_after(code: str, cwd: Path) -> set[str]:
    done = python(f"{code}\nimport json, sys; print(json.dumps(sorted(sys.modules)))", cwd)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


def scores_of_a_game() -> list[int]:
    """The scores of the game of ``PLAY``, played in this process."""
    from patchwork_env.patchwork import Game

    game = Game(seed=3)
    while not game.is_over:
        game.play(int(game.legal_actions()[-1]))
    return [int(score) for score in game.scores()]


HEAVY = {
    "torch",
    "matplotlib",
    "pygame",
    "PIL",
    "stable_baselines3",
    "ray",
    "tensorboard",
    "yaml",
    "pydantic",
}


def test_the_import_is_light(tmp_path: Path) -> None:
    modules = modules_after("import patchwork_env", tmp_path)
    assert not (HEAVY | {"numba", "llvmlite"}) & modules


def test_a_game_needs_no_heavy_library(tmp_path: Path) -> None:
    modules = modules_after(PLAY, tmp_path)
    assert not (HEAVY - {"yaml"}) & modules  # Numba reads YAML where that is installed
    assert "numba" in modules


def test_the_page_needs_only_its_own_extra(tmp_path: Path) -> None:
    code = "from patchwork_env.play import command\nfrom patchwork_env.service.players import Players"
    use = "Players().listed('patchwork')\nwith Players().borrow('champion:instant'): pass"
    modules = modules_after(f"{code}\n{use}", tmp_path)
    assert not (HEAVY - {"yaml"}) & modules
    assert {"starlette", "uvicorn"} <= modules


def copy_beside_which_nothing_is_cached(folder: Path) -> Path:
    """A copy of the package with a file wherever a cache folder would be: not even root can write there."""
    copy = folder / "patchwork_env"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for place in [copy, *(path for path in copy.rglob("*") if path.is_dir())]:
        (place / "__pycache__").write_text("not a folder")
    return folder


def zipped(folder: Path) -> Path:
    """The package in an archive, from which Python can import but to which Numba cannot write."""
    file = folder / "library.zip"
    with zipfile.ZipFile(file, "w") as archive:
        for path in PACKAGE.rglob("*.py"):
            archive.write(path, path.relative_to(PROJECT))
    return file


NO_HOME = {"HOME": "/dev/null", "XDG_CACHE_HOME": "/dev/null"}


@pytest.mark.parametrize("cache", ["", "/dev/null/cache"], ids=["no folder", "impossible folder"])
def test_without_a_writable_cache(cache: str, tmp_path: Path) -> None:
    place = copy_beside_which_nothing_is_cached(tmp_path)
    done = python(COUNT, tmp_path, PYTHONPATH=str(place), NUMBA_CACHE_DIR=cache, **NO_HOME)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert Path(report["file"]).is_relative_to(place)
    assert report["ones"] == 3
    assert done.stderr.count("is compiled anew") == 1


@pytest.mark.slow
def test_a_game_from_an_archive(tmp_path: Path) -> None:
    """No cache can be written beside it."""
    place = zipped(tmp_path)
    done = python(PLAY, tmp_path, PYTHONPATH=str(place), NUMBA_CACHE_DIR="", **NO_HOME)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert Path(report["file"]).is_relative_to(place)
    assert report["scores"] == scores_of_a_game()
    assert done.stderr.count("is compiled anew") == 1


FREE_OF_EXTRAS = '''
import sys
from importlib.metadata import packages_distributions

class NoExtras:
    """Finds nothing but this package and what it requires."""

    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top not in BASE and top not in sys.stdlib_module_names and top in packages_distributions():
            raise ModuleNotFoundError(f"No module named {name!r}", name=top)

sys.meta_path.insert(0, NoExtras())

import gymnasium
from patchwork_env import agents, cli
from patchwork_env.integrations import language_models, text
from patchwork_env.learning.evaluation import Tournament, play_gauntlet, play_matches
from patchwork_env.patchwork import Game

game = Game(seed=7)
gymnasium.make("patchwork_env:Patchwork-v0", opponent="greedy").reset(seed=0)
play_matches(lambda game: game.legal_actions()[0], "random", games=2)
text.describe(game)
assert language_models.TextAgent(lambda prompt: "+").act(game) == text.parse(game, "advance") == 0
assert cli.main(["evaluate", "greedy", "--against", "random", "--games", "2"]) == 0
for name in ("compile", "engine", "gauntlet"):
    try:
        cli.main([name, "--help"])
    except SystemExit as end:
        assert end.code == 0
    else:
        raise AssertionError(name)
'''
BASE = {"numpy", "numba", "llvmlite", "gymnasium", "pettingzoo", "safetensors", "patchwork_env"}
BASE |= {"cloudpickle", "typing_extensions", "farama_notifications"}


def test_what_documents_call_free_of_extras_runs_without_any(tmp_path: Path) -> None:
    done = python(f"BASE = {BASE}\n{FREE_OF_EXTRAS}", tmp_path, PYTHONPATH=str(PROJECT))
    assert done.returncode == 0, done.stderr
    assert "greedy against random: 2 games" in done.stdout

"""The wheel in another project: built, installed in a new environment, used from another folder."""

import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import venv
import zipfile
from contextlib import suppress
from email import message_from_string
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from urllib.request import urlopen

import pytest
from packaging.requirements import Requirement

pytestmark = pytest.mark.slow

PROJECT = Path(__file__).parents[1]

EPISODE = """
import gymnasium, sys
env = gymnasium.make("patchwork_env:Patchwork-v0", opponent="random")
_, info = env.reset(seed=5)
over = False
while not over:
    _, reward, over, _, info = env.step(info["action_mask"].argmax())
import patchwork_env
print(patchwork_env.__file__, *sys.modules)
"""
OWN_PROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "own-row"
version = "1.0"

[project.entry-points."patchwork_env.games"]
row = "own_row"

[project.entry-points."patchwork_env.parts"]
row = "own_row.parts"

[project.entry-points."patchwork_env.agents"]
cautious = "own_row.cautious:Cautious"
"""

OWN_PARTS = """
from patchwork_env.core.parts import GameParts, MatchPart

PARTS = GameParts(matches="own_row.parts:MATCHES")
MATCHES = MatchPart()
"""

OWN_AGENT = """
from patchwork_env.agents import Agent


class Cautious(Agent):
    name = "cautious"

    def __init__(self, seed=None):
        pass

    def act(self, game):
        return int(game.legal_actions()[0])
"""

EXTRAS = {"torch", "onnx", "onnxruntime", "matplotlib", "pygame", "PIL", "yaml", "pydantic", "starlette"}


def run(*command, cwd):
    """Run a command that must succeed and return what it printed; nothing of this clone is on its path."""
    words, variables = map(str, command), {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(list(words), cwd=cwd, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def required(wheel, extra=""):
    """Names of the distributions that an install of the wheel brings: all requirements, near and far."""
    archive = zipfile.ZipFile(wheel)
    (path,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    metadata = message_from_string(archive.read(path).decode())
    needed = named(metadata.get_all("Requires-Dist") or [], extra)
    found: set[str] = set()
    while needed - found:
        name = (needed - found).pop()
        found.add(name)
        with suppress(PackageNotFoundError):  # what another system would need
            needed |= named(distribution(name).requires or [], "")
    return found


def named(requirements, extra):
    """The names of the requirements that hold here, with those of an extra."""
    parsed = map(Requirement, requirements)
    return {one.name for one in parsed if one.marker is None or one.marker.evaluate({"extra": extra})}


def link_packages(names, folder):
    """Make installed distributions importable from another site-packages folder, without a network."""
    for name in names:
        try:
            package = distribution(name)
        except PackageNotFoundError:
            continue
        top = {file.parts[0] for file in package.files or () if file.parts[0] not in ("..", "__pycache__")}
        for entry in top:
            source, target = Path(str(package.locate_file(entry))), folder / entry
            if source.exists() and not target.exists():
                target.symlink_to(source)


def build(*options, source, folder):
    run(sys.executable, "-m", "build", *options, "--no-isolation", "--outdir", folder, source, cwd=folder)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """A wheel of the project, built as for an upload."""
    folder = tmp_path_factory.mktemp("wheel")
    build("--wheel", source=PROJECT, folder=folder)
    (file,) = folder.glob("*.whl")
    return file


def install(wheel, folder):
    """Install a wheel alone in an environment."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", folder / "bin" / "python"]
    run(*pip, "install", "--quiet", "--no-index", "--no-deps", wheel, cwd=folder)


def environment(wheel, folder, extra=""):
    """A fresh environment that holds the wheel and what it requires: the folder of its programs.

    The machine code of this clone comes along, which saves minutes; where it does not fit, it is not used.
    """
    venv.create(folder, symlinks=True)
    install(wheel, folder)
    variables = {"base": str(folder), "platbase": str(folder)}
    packages = Path(sysconfig.get_path("purelib", vars=variables))
    link_packages(required(wheel, extra), packages)
    for code in (PROJECT / "patchwork_env").rglob("*.nb[ic]"):
        target = packages / code.relative_to(PROJECT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(code, target)
    return folder / "bin"


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory):
    """The interpreter of a fresh environment that holds the wheel and what it requires, and nothing else."""
    return environment(wheel, tmp_path_factory.mktemp("environment")) / "python"


def test_the_wheel_holds_all_of_the_library_and_nothing_else(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {name.split("/")[0].split("-")[0] for name in names} == {"patchwork_env"}
    assert wheel.stat().st_size <= 8_000_000
    assert not [name for name in names if name.endswith((".pyc", ".nbi", ".nbc"))]
    configs = {f"patchwork_env/configs/{path.name}" for path in (PROJECT / "configs").glob("*.yaml")}
    assert len(configs) > 5
    files = {path for path in (PROJECT / "patchwork_env").rglob("*.*") if "__pycache__" not in path.parts}
    assert configs | {file.relative_to(PROJECT).as_posix() for file in files} <= names


def test_the_source_distribution_makes_the_same_wheel(wheel, tmp_path):
    """Without options, the wheel is built from the source distribution."""
    build(source=PROJECT, folder=tmp_path)
    assert len(list(tmp_path.glob("*.tar.gz"))) == 1
    archives = zipfile.ZipFile(wheel), zipfile.ZipFile(tmp_path / wheel.name)
    ours, theirs = ({name: archive.read(name) for name in archive.namelist()} for archive in archives)
    assert ours.keys() == theirs.keys()
    assert [name for name in ours if ours[name] != theirs[name]] == []


def test_a_game_and_an_agent_of_an_installed_package_work_in_every_process(wheel, tmp_path):
    programs = environment(wheel, tmp_path / "environment", "train")
    project = tmp_path / "own"
    (project / "own_row").mkdir(parents=True)
    (project / "pyproject.toml").write_text(OWN_PROJECT, encoding="utf-8")
    for name, source in (("cautious", OWN_AGENT), ("parts", OWN_PARTS)):
        (project / "own_row" / f"{name}.py").write_text(source, encoding="utf-8")
    for path in (PROJECT / "tests" / "toy").glob("*.py"):
        shutil.copy(path, project / "own_row")
    build("--wheel", source=project, folder=tmp_path)
    (plugin,) = tmp_path.glob("*.whl")
    install(plugin, programs.parent)
    words = "evaluate cautious --against random --game row --games 4 --workers 2 --json figures.json"
    run(programs / "patchwork-env", *words.split(), cwd=tmp_path)
    assert "cautious" in (tmp_path / "figures.json").read_text(encoding="utf-8")


def test_every_command_works_after_an_install_in_an_empty_folder(wheel, tmp_path_factory, tmp_path):
    """What the extra ``train`` brings is enough."""
    programs = environment(wheel, tmp_path_factory.mktemp("trainer"), "train")
    shutil.copy(PROJECT / "examples" / "game.txt", tmp_path)
    tiny = "total_steps=64 ppo.num_envs=8 ppo.rollout_steps=8 ppo.minibatch_size=32 network.width=16"
    short = "evaluation.games=2 evaluation.final_games=2 evaluation.opponents=[random]"
    slow = "ppo-quick-v1 ppo-v1 mcts:simulations=400 mcts:simulations=5000 mcts:seconds=1"
    for words, found in (
        (f"train quick --set {tiny} {short}", "runs/quick/final/weights.safetensors"),
        ("evaluate runs/quick/final --against random --games 2 --json figures.json", "figures.json"),
        ("tournament random runs/quick/final --games 2 --workers 1 --out games", "games/results.json"),
        ("report runs/quick", "runs/quick/report.html"),
        ("review game.txt --agent champion:nodes=2", "game-review/review.html"),
        (f"gauntlet random --games 2 --workers 1 --skip {slow} --json rating.json", "rating.json"),
    ):
        run(programs / "patchwork-env", *words.split(), cwd=tmp_path)
        assert (tmp_path / found).stat().st_size > 100
    assert run(programs / "patchwork-env", "train", "--list", cwd=tmp_path).startswith("alphazero ")


def test_the_page_comes_with_the_wheel(wheel, tmp_path):
    """Its extra is enough to open it, in an empty folder."""
    program = environment(wheel, tmp_path / "player", "play") / "patchwork-env"
    words = [program, "play", "--no-browser", "--port", "0"]
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    server = subprocess.Popen(words, cwd=tmp_path, env=variables, stdout=subprocess.PIPE, text=True)
    with server:
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        with urlopen(address) as page, urlopen(f"{address}js/main.js") as script:
            assert page.headers["Content-Type"].startswith("text/html")
            assert script.headers["Content-Type"].startswith("text/javascript")
        server.terminate()
    assert server.returncode == 128 + signal.SIGTERM


def test_an_episode_in_another_project(python, tmp_path):
    file, *modules = run(python, "-c", EPISODE, cwd=tmp_path).split()
    assert Path(file).is_relative_to(python.parents[1])
    assert not EXTRAS & set(modules)

"""The wheel, as another project meets it: built, installed in a fresh environment, used from elsewhere."""

import json
import subprocess
import sys
import sysconfig
import venv
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

PROJECT = Path(__file__).parents[1]

EPISODE = """
import json, sys
import gymnasium

env = gymnasium.make("patchwork_env:Patchwork-v0", opponent="random")
observation, info = env.reset(seed=5)
env.action_space.seed(5)
moves, over = 0, False
while not over:
    action = env.action_space.sample(info["action_mask"])
    observation, reward, terminated, truncated, info = env.step(action)
    moves, over = moves + 1, terminated or truncated

import patchwork_env
print(json.dumps({
    "file": patchwork_env.__file__,
    "version": patchwork_env.__version__,
    "moves": moves,
    "reward": float(reward),
    "modules": sorted(sys.modules),
}))
"""

IMPORT_ALL = """
import importlib, json, pkgutil, sys
import patchwork_env

missing = {}
for module in pkgutil.walk_packages(patchwork_env.__path__, "patchwork_env."):
    if module.name.startswith("patchwork_env.learning"):
        continue
    try:
        importlib.import_module(module.name)
    except ModuleNotFoundError as error:
        missing[module.name] = error.name
print(json.dumps({"missing": missing, "modules": sorted(sys.modules)}))
"""

EXTRAS = {"torch", "onnx", "onnxruntime", "matplotlib", "pygame", "PIL", "yaml", "pydantic"}
NEED_AN_EXTRA = {"patchwork_env.agents.checkpoint_tensors", "patchwork_env.agents.networks"} | {
    f"patchwork_env.agents.{name}"
    for name in (
        *(f"patchwork.{n}" for n in ("dense", "evaluation", "policy", "mlp", "policy_network", "planning")),
        *("nmbr9.policy", "nmbr9.policy_network", "patchwork.onnx_agent", "patchwork.onnx_export"),
    )
}


def run(*command: object, cwd: Path) -> str:
    """Run a command that must succeed and return what it printed."""
    done = subprocess.run(
        [str(word) for word in command], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def required(name: str) -> set[str]:
    """Names of the distributions that a plain install brings: all requirements, near and far, but extras."""
    found: set[str] = set()
    names = [name]
    while names:
        requirements = map(Requirement, distribution(names.pop()).requires or [])
        needed = {r.name for r in requirements if r.marker is None or r.marker.evaluate({"extra": ""})}
        names.extend(needed - found)
        found |= needed
    return found


def link_packages(names: set[str], folder: Path) -> None:
    """Make installed distributions importable from another site-packages folder, without a network."""
    for name in names:
        package = distribution(name)
        top = {file.parts[0] for file in package.files or () if file.parts[0] not in ("..", "__pycache__")}
        for entry in top:
            source, target = Path(str(package.locate_file(entry))), folder / entry
            if source.exists() and not target.exists():
                target.symlink_to(source)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel of the project, built as for an upload."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, PROJECT, cwd=folder)
    (file,) = folder.glob("*.whl")
    return file


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a fresh environment that holds the wheel and what it requires, and nothing else."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=True)
    interpreter = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", interpreter]
    run(*pip, "install", "--quiet", "--no-index", "--no-deps", wheel, cwd=folder)
    packages = sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)})
    link_packages(required("patchwork-env"), Path(packages))
    return interpreter


def test_the_wheel_holds_the_library_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0].split("-")[0] for name in names} == {"patchwork_env"}
    assert "patchwork_env/py.typed" in names
    assert not [name for name in names if name.endswith((".pyc", ".nbi", ".nbc"))]


def test_the_wheel_holds_every_file_of_the_library(wheel: Path) -> None:
    files = {path for path in (PROJECT / "patchwork_env").rglob("*.*") if "__pycache__" not in path.parts}
    assert {file.relative_to(PROJECT).as_posix() for file in files} <= set(zipfile.ZipFile(wheel).namelist())


def test_an_episode_in_another_project(python: Path, tmp_path: Path) -> None:
    report = json.loads(run(python, "-c", EPISODE, cwd=tmp_path).splitlines()[-1])
    assert Path(report["file"]).is_relative_to(python.parents[1])
    assert report["version"] == distribution("patchwork-env").version
    assert report["moves"] > 5
    assert report["reward"] in (-1.0, 1.0)
    assert not EXTRAS & set(report["modules"])


def test_training_stays_outside(python: Path, tmp_path: Path) -> None:
    found = run(python, "-c", "import importlib.util as u; print(u.find_spec('training'))", cwd=tmp_path)
    assert found.strip() == "None"


def test_only_learned_agents_need_an_extra(python: Path, tmp_path: Path) -> None:
    report = json.loads(run(python, "-c", IMPORT_ALL, cwd=tmp_path))
    assert set(report["missing"]) == NEED_AN_EXTRA
    assert set(report["missing"].values()) <= {"torch", "onnx", "onnxruntime"}
    assert {"patchwork_env.patchwork.engine", "patchwork_env.agents.greedy"} <= set(report["modules"])

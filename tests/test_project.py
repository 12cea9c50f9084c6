"""The files around the code agree: metadata, citation, changelog, targets, hooks and workflow."""

from __future__ import annotations

import ast
import re
import tomllib
from importlib.metadata import requires
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from patchwork_env import __version__

PROJECT = Path(__file__).parents[1]
METADATA: dict[str, Any] = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def text(path):
    return (PROJECT / path).read_text(encoding="utf-8")


def loaded(path):
    return yaml.safe_load(text(path))


def libraries_of_make():
    """The libraries that tests need, by the markers of the tests."""
    lines = re.findall(r"^imports_(\w+) := (.*)$", text("Makefile").replace("\\\n", ""), re.MULTILINE)
    return {marker: libraries.split() for marker, libraries in lines}


def test_nothing_sends_anyone_to_a_package_of_this_name_on_an_index():
    """The package of this name on an index is of another project; users install from a clone."""
    folders = ("patchwork_env", "docs", "examples", "configs", "training", "research", "benchmarks", "tools")
    files = [path for folder in folders for path in sorted((PROJECT / folder).rglob("*"))]
    files += [*PROJECT.glob("*.md"), PROJECT / "pyproject.toml", PROJECT / "Makefile"]
    endings = {".py", ".md", ".yaml", ".yml", ".toml", ".sh", ".js", ".html", ".jinja", ".ipynb", ""}
    extra = r"patchwork[-_]env\["
    install = r"\b(?:pip|uv|uvx|pipx|conda)\b[^\n`]*[ '\"]patchwork[-_]env\b"
    for path in files:
        if path.suffix in endings and path.is_file() and "_build" not in path.parts:
            found = re.search(f"{extra}|{install}", path.read_text(encoding="utf-8"))
            assert found is None, f"{path.relative_to(PROJECT)}: {found}"


def targets():
    return set(re.findall(r"^([a-z][\w.-]*):(?!=)", text("Makefile"), re.MULTILINE))


def test_the_citation_is_that_of_this_version():
    citation = loaded("CITATION.cff")
    assert citation["version"] == __version__
    assert citation["license"] == METADATA["license"]
    names = [author["name"] for author in METADATA["authors"]]
    assert [author["name"] for author in citation["authors"]] == names
    assert all(name in text("LICENSE") for name in names)


def test_what_make_and_pages_about_it_name_is_there():
    for page in ("README.md", "CONTRIBUTING.md"):
        named = re.findall(r"(?:^|`)make ([a-z][\w.-]*)", text(page), re.MULTILINE)
        assert set(named) & targets() == set(named) != set(), page
    names = re.findall(r"(?<!\S)tests/\S+", text("Makefile"))
    (benchmarks,) = re.findall(r"^BENCHMARKS \?= (.*)$", text("Makefile"), re.MULTILINE)
    names += [f"benchmarks/{name}.py" for name in benchmarks.split()]
    assert [name for name in names if not (PROJECT / name).exists()] == []


def test_the_workflow_runs_what_all_checks_are():
    jobs = loaded(".github/workflows/ci.yml")["jobs"]
    call = r"^make (?:-\S+ |\d+ )*([\w. -]+?)(?: [A-Z_]+=\w+)*(?: *#.*)?$"
    calls = re.findall(call, text(".ci/run"), re.MULTILINE)
    wanted = {target for call in calls for target in call.split()}
    assert set(jobs["locked"]["strategy"]["matrix"]["target"]) == wanted
    assert wanted <= targets()


def test_the_workflow_tries_every_python_that_is_claimed():
    matrix = loaded(".github/workflows/ci.yml")["jobs"]["resolved"]["strategy"]["matrix"]
    claimed = re.findall(r"Python :: (3\.\d+)", "\n".join(METADATA["classifiers"]))
    assert set(claimed) <= set(matrix["python"])
    assert all(version in SpecifierSet(METADATA["requires-python"]) for version in claimed)
    assert all(set(row) == {"python", "resolution"} for row in matrix["include"])


def test_models_learn_with_a_progress_bar_after_installing_the_extra_train():
    brought = {Requirement(line).name for line in METADATA["optional-dependencies"]["train"]}
    needed = {"rich", "tqdm"}  # by Stable-Baselines3 for ``learn(progress_bar=True)``, in an extra of its own
    assert needed <= {Requirement(line).name for line in requires("stable-baselines3") or []}
    assert needed <= brought & locked("requirements.lock").keys()


def test_the_workflow_tries_other_systems():
    job = loaded(".github/workflows/ci.yml")["jobs"]["elsewhere"]
    assert {system.partition("-")[0] for system in job["strategy"]["matrix"]["system"]} == {
        "macos",
        "windows",
    }
    named = re.findall(r"(?:tests|configs)/[\w.]+", " ".join(step.get("run", "") for step in job["steps"]))
    assert len(named) > 3
    assert all((PROJECT / path).exists() for path in named)


def test_what_skips_without_a_library_is_marked_for_the_environment_that_has_it():
    tests = {path: path.read_text(encoding="utf-8") for path in (PROJECT / "tests").rglob("*.py")}
    for marker, libraries in libraries_of_make().items():
        for library in libraries:
            signs = f'importorskip("{library}', f'"{library}": pytest.mark.{marker}'
            needing = [path for path, test in tests.items() if any(sign in test for sign in signs)]
            assert needing, library
            assert [
                path
                for path in needing
                if path.name != "conftest.py" and f"pytest.mark.{marker}" not in tests[path]
            ] == []


def locked(path):
    """The versions of a lock file by the names of packages, in lower case and with dashes."""
    pins = re.findall(r"^([\w.-]+)==(\S+)", text(path), re.MULTILINE)
    return {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in pins}


def test_the_table_of_versions_is_that_of_the_locks():
    page = text("docs/use/libraries.md").partition("## Versions")[2].partition("\n## ")[0]
    rows = [
        [cell.strip(" `") for cell in line.split("|")[1:-1]] for line in re.findall(r"^\| .*", page, re.M)
    ]
    packages = {"pytorch": "torch"}
    assert len(rows) > 12
    for name, version, lock, day in rows[1:]:
        assert re.fullmatch(r"20\d\d-\d\d-\d\d", day)
        package = re.sub(r"[-_.]+", "-", name).lower().removesuffix(", the oldest")
        assert locked(lock)[packages.get(package, package)] == version, name
    assert {path.name for path in PROJECT.glob("requirements*.lock")} == {row[2] for row in rows[1:]}


def defined(path):
    """The functions and classes of a file, methods as ``Class.method``."""
    names: set[str] = set()
    if path.endswith(".js"):
        for owner, body in re.findall(r"^(?:export )?class (\w+).*?\{\n(.*?)^\}", text(path), re.M | re.S):
            names |= {
                f"{owner}.{method}" for method in re.findall(r"^  (?:async )?\*?(#?\w+)\(.*\{$", body, re.M)
            }
        return names | set(re.findall(r"^(?:export )?(?:async )?function\*? (\w+)", text(path), re.M))
    for node in ast.parse(text(path)).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            names |= {
                f"{node.name}.{inner.name}" for inner in node.body if isinstance(inner, ast.FunctionDef)
            }
    return names


@pytest.mark.parametrize(
    ("section", "most"),
    [("Five ways through it", [10, 10, 10, 10, 10]), ("Follow the data", [7, 8, 5, 7])],
)
def test_the_ways_through_the_house_are_short_and_lead_through_what_exists(section, most):
    ways = text("CONTRIBUTING.md").split(f"## {section}")[1].split("\n## ")[0].split("\n**")[1:]
    seen: list[tuple[str, str]] = []
    for way, limit in zip(ways, most, strict=True):
        stops = re.findall(r"`([^`]+/[^`]+)` `([^`]+)`", way)
        assert len(stops) == max(len(re.findall(r"^\d+\.", way, re.MULTILINE)), way.count("→") + 1)
        assert len(stops) <= limit
        seen += stops
    assert len(set(seen)) == len(seen), "a stop comes twice"
    for path, name in seen:
        assert name in defined(path), f"{path} has no {name}"

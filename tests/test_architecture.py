"""Imports run one way through the package: never upwards and never in a circle.

The test reads the sources, including imports inside functions and under ``TYPE_CHECKING``.
"""

from __future__ import annotations

import ast
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[1]
PACKAGE = "patchwork_env"
OUTSIDE = {"training", "research", "benchmarks", "examples", "tests", "tools"}
"""Folders of the clone that the wheel does not have."""

TIERS = (
    ("errors",),
    ("core",),
    ("drawing",),
    ("patchwork", "nmbr9"),
    ("games",),
    ("envs", "search", "protocol.programs"),
    ("protocol.client",),
    ("agents",),
    ("service",),
    ("play", "protocol"),
    ("patchwork_v0", "nmbr9_v0", "testing"),
    ("learning.system",),
    ("learning.config",),
    ("learning.distributed",),
    ("learning.evaluation",),
    ("learning.algorithms",),
    ("learning.runs",),
    ("learning.reports",),
    ("learning.toolbox",),
    ("integrations",),
    ("learning.commands",),
    ("cli",),
    ("__main__",),
)
"""The package from the bottom to the top. A module imports from its own place and from tiers below it, but
not from others of its tier. The longest name counts that fits."""

STRANGERS = (
    ("core", ("patchwork", "nmbr9", "games")),
    ("drawing", ("patchwork", "nmbr9", "games")),
    ("search", ("patchwork", "nmbr9", "games", "envs")),
    ("envs", ("patchwork", "nmbr9")),
    ("agents.patchwork", ("nmbr9", "agents.nmbr9")),
    ("agents.nmbr9", ("patchwork", "agents.patchwork")),
)
"""Packages, and those that they must not import."""


@cache
def modules():
    """Every module of the package by its name within it; ``""`` is the package itself."""
    found = {}
    for path in sorted((PROJECT / PACKAGE).rglob("*.py")):
        parts = path.relative_to(PROJECT / PACKAGE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def imported_names(path):
    """Full names that a file imports: modules, and what it takes from them."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: imports give full names"
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return found


@cache
def arrows():
    """The modules of the package that each module imports, except for the version."""
    graph: dict[str, set[str]] = {name: set() for name in modules()}
    for importer, path in modules().items():
        for name in imported_names(path):
            top, _, inner = name.partition(".")
            if top != PACKAGE or inner == "__version__":
                continue
            found = inner if inner in graph else inner.rpartition(".")[0]
            assert found in graph, f"{importer} imports {name}, which does not exist"
            graph[importer].add(found)
    return graph


def lies_in(module, place):
    return module == place or module.startswith(f"{place}.")


def tier_of(module):
    """The height of a module and the entry of ``TIERS`` that it belongs to."""
    fitting = [
        (number, place) for number, tier in enumerate(TIERS) for place in tier if lies_in(module, place)
    ]
    return max(fitting, key=lambda found: len(found[1]), default=None)


def is_against_the_rules(importer, imported):
    if not importer or importer == imported:
        return False  # the package itself stands above everything
    above, below = tier_of(importer), tier_of(imported)
    if not imported or (above and below and above[1] != below[1] and above[0] <= below[0]):
        return True
    if any(
        lies_in(importer, place) and any(lies_in(imported, stranger) for stranger in strangers)
        for place, strangers in STRANGERS
    ):
        return True
    # Modules of all agents refer to those of a game, and to games, by strings.
    shared = lies_in(importer, "agents") and not any(
        lies_in(importer, f"agents.{game}") for game in ("patchwork", "nmbr9")
    )
    return shared and imported.removeprefix("agents.").partition(".")[0] in ("patchwork", "nmbr9")


def test_every_module_has_a_tier_and_every_tier_modules():
    assert [module for module in modules() if module not in ("", "learning") and not tier_of(module)] == []
    places = [place for tier in TIERS for place in tier]
    assert [place for place in places if not any(lies_in(module, place) for module in modules())] == []


def test_no_import_runs_upwards():
    pairs = ((importer, imported) for importer, found in arrows().items() for imported in found)
    wrong = sorted(pair for pair in pairs if is_against_the_rules(*pair))
    assert wrong == [], "imports that run upwards or know too much: (importer, imported)"


def test_no_import_runs_in_a_circle():
    TopologicalSorter(arrows()).prepare()


def test_the_package_needs_nothing_of_the_clone():
    for importer, path in modules().items():
        tops = {name.partition(".")[0] for name in imported_names(path)}
        assert not tops & OUTSIDE, f"{importer} imports {sorted(tops & OUTSIDE)}, which no wheel has"


@pytest.mark.parametrize("folder", ["training", "examples"])
def test_scripts_need_only_the_package(folder):
    for path in (PROJECT / folder).rglob("*.py"):
        tops = {name.partition(".")[0] for name in imported_names(path)}
        assert not tops & (OUTSIDE - {folder}), f"{path} imports {sorted(tops & OUTSIDE)}"


@pytest.mark.parametrize(
    ("importer", "imported", "wrong"),
    [
        ("core.game", "patchwork.state", True),
        ("patchwork.game", "nmbr9.game", True),
        ("agents.load", "agents.patchwork.greedy", True),
        ("agents.patchwork.greedy", "patchwork.engine", False),
        ("agents.nmbr9.greedy", "patchwork.engine", True),
        ("learning.config", "learning.algorithms.ppo", True),
        ("search.tree", "", True),
    ],
)
def test_the_rules_themselves(importer, imported, wrong):
    assert is_against_the_rules(importer, imported) is wrong


def compares_a_game(path):
    """Whether a file compares anything with the name of a game."""
    words = {"PATCHWORK", "NMBR9", "patchwork", "nmbr9"}
    return any(
        getattr(side, "id", getattr(side, "value", None)) in words
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Compare)
        for side in (node.left, *node.comparators)
        if isinstance(side, ast.Name | ast.Constant)
    )


def test_no_module_compares_a_game_with_one_by_name():
    """They read the rules and the parts of the game."""
    assert [name for name, path in modules().items() if compares_a_game(path)] == []

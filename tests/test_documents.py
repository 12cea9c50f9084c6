"""What the documents say: their examples run, and their tables agree with the code."""

import contextlib
import doctest
import importlib
import io
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from _pytest.mark import ParameterSet
from pydantic import BaseModel

from patchwork_env.agents import specs
from patchwork_env.learning.config.keys import section_of
from patchwork_env.learning.config.registry import algorithms
from patchwork_env.nmbr9 import observation as nmbr9_observation
from patchwork_env.patchwork import observation as patchwork_observation

PROJECT = Path(__file__).parents[1]
DOCUMENTS = [
    "README.md",
    "docs/adding_a_game.md",
    "docs/agents.md",
    "docs/benchmark.md",
    "docs/datasets.md",
    "docs/engine.md",
    "docs/environments.md",
    "docs/evaluation.md",
    "docs/game.md",
    "docs/interoperability.md",
    "docs/language_models.md",
    "docs/nmbr9.md",
    "docs/open_spiel.md",
    "docs/placement.md",
    "docs/strength.md",
    "docs/toolbox.md",
    "docs/torchrl.md",
]
LIBRARIES = {
    "huggingface_hub",
    "mcp",
    "minari",
    "open_spiel",
    "openenv",
    "pyspiel",
    "ray",
    "tensordict",
    "torchrl",
}
"""Libraries that examples use and `make test` does without: tests/integrations/test_pages.py runs these."""
PAGES = sorted(
    path.relative_to(PROJECT).as_posix()
    for folder, pattern in ((".", "*.md"), ("docs", "**/*.md"), ("research", "**/*.md"))
    for path in (PROJECT / folder).glob(pattern)
)
"""Every page that people read."""
PRESENT = [page for page in PAGES if page != "CHANGELOG.md"]
"""Those that speak of nothing that is gone."""
WITH_EXAMPLES = sorted(
    {
        ".".join(path.relative_to(PROJECT).with_suffix("").parts).removesuffix(".__init__")
        for folder in ("patchwork_env", "research")
        for path in (PROJECT / folder).rglob("*.py")
        if re.search(r"^\s*>>> ", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
)
"""Every module with examples in its docstrings."""
FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^()\s]+)\)")
PATH = re.compile(r"`((?:patchwork_env|training|research|benchmarks|tests|tools|docs|examples)/[\w./-]*)`")


@pytest.fixture(autouse=True)
def own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Agents that an example registers are forgotten when it ends."""
    monkeypatch.setattr(specs, "_entries", dict(specs.registered()))


def prose(page: str) -> str:
    """The text of a page without its fenced code."""
    return FENCED.sub("", (PROJECT / page).read_text(encoding="utf-8"))


def anchors(page: Path) -> set[str]:
    """The anchors of the headings of a page, as GitHub derives them from their text."""
    headings = re.findall(r"^#+ +(.*?) *$", prose(page.relative_to(PROJECT).as_posix()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def examples() -> list[tuple[str, int, str]]:
    """Document, line and code of every Python example."""
    texts = {name: (PROJECT / name).read_text(encoding="utf-8") for name in DOCUMENTS}
    return [
        (name, text.count("\n", 0, match.start()) + 1, match[1])
        for name, text in texts.items()
        for match in re.finditer(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    ]


def libraries(code: str) -> set[str]:
    """Those of :data:`LIBRARIES` that an example imports, by itself or with the adapter of that name."""
    imports = re.findall(r"^\s*(?:from|import) .*", code, re.MULTILINE)
    return LIBRARIES & set(re.findall(r"\w+", " ".join(imports)))


def examples_as_parameters(with_libraries: bool) -> list[ParameterSet]:
    """The examples that need some of :data:`LIBRARIES`, or those that need none."""
    chosen = [example for example in examples() if bool(libraries(example[2])) == with_libraries]
    slow = pytest.mark.slow
    return [
        pytest.param(name, line, code, id=f"{name}:{line}", marks=() if name == "README.md" else slow)
        for name, line, code in chosen
    ]


@pytest.mark.parametrize(("name", "line", "code"), examples_as_parameters(with_libraries=False))
def test_examples_run(
    name: str, line: int, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "sb3_contrib" in code:
        pytest.importorskip("sb3_contrib")
    monkeypatch.chdir(tmp_path)  # for what examples write
    run_example(name, line, code)


def run_example(name: str, line: int, code: str) -> None:
    """Execute the example at a line of a page; what it prints is not shown."""
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile("\n" * line + code, str(PROJECT / name), "exec"), {"__name__": "example"})


def test_there_are_examples_of_every_document() -> None:
    assert {name for name, _, _ in examples()} == set(DOCUMENTS)


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    for link in LINK.findall(prose(page)):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (PROJECT / page).parent / path if path else PROJECT / page
        assert target.exists(), f"{page} links to {link}, which does not exist"
        assert target.resolve().is_relative_to(PROJECT), f"{page} links to {link}, outside the project"
        if anchor:
            assert anchor in anchors(target.resolve()), f"{page} links to {link}; there is no such heading"


@pytest.mark.parametrize("page", PRESENT)
def test_paths_lead_somewhere(page: str) -> None:
    named = [path for path in PATH.findall(prose(page)) if "NAME" not in path]
    missing = [path for path in named if not (PROJECT / path).exists()]
    assert not missing, f"{page} names {missing}, which do not exist"


def keys(kind: type[BaseModel], path: tuple[str, ...] = ()) -> Iterator[str]:
    """The full names of all keys of a configuration."""
    for name in kind.model_fields:
        yield ".".join((*path, name))
        section = section_of(kind, name)
        if section is not None:
            yield from keys(section, (*path, name))


@pytest.mark.parametrize("page", PRESENT)
def test_keys_of_configurations_exist(page: str) -> None:
    known = {key for kind in algorithms().values() for key in keys(kind)}
    sections = "|".join({key.partition(".")[0] for key in known if "." in key})
    text = (PROJECT / page).read_text(encoding="utf-8")
    named = re.findall(rf"(?<![\w./-])((?:{sections})(?:\.[a-z_]+)+)(?![\w(/]|\.\w)", text)
    files = (".py", ".md", ".png", ".yaml", ".json", ".jsonl")
    assert [key for key in named if key not in known and not key.endswith(files)] == []


def library_of(module: str) -> str | None:
    """The one of :data:`LIBRARIES` that a module adapts; None if it needs none of them."""
    adapted = re.match(r"patchwork_env\.integrations\.(\w+)", module)
    return adapted[1] if adapted and adapted[1] in LIBRARIES else None


@pytest.mark.slow
@pytest.mark.parametrize("module", [module for module in WITH_EXAMPLES if library_of(module) is None])
def test_examples_of_docstrings_run(module: str) -> None:
    run_examples_of_docstrings(module)


def run_examples_of_docstrings(module: str) -> None:
    """Run the examples in the docstrings of a module, which has some."""
    results = doctest.testmod(importlib.import_module(module))
    assert results.attempted > 0
    assert results.failed == 0


@pytest.mark.parametrize(
    ("document", "observation"),
    [("environments", patchwork_observation), ("nmbr9", nmbr9_observation)],
    ids=["patchwork", "nmbr9"],
)
def test_the_table_of_observations(document: str, observation: ModuleType) -> None:
    text = (PROJECT / f"docs/{document}.md").read_text(encoding="utf-8")
    for name, shape in observation.SHAPES.items():
        part = observation.SLICES[name]
        assert f"| `{name}` | {shape} | {part.start}:{part.stop} |" in text
    assert f"float32 vector of {observation.OBSERVATION_SIZE} numbers" in text

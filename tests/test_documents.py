"""The documents: their examples run, and their tables agree with the code."""

import ast
import contextlib
import doctest
import importlib.util
import io
import re
import sys
from pathlib import Path

import pytest

from patchwork_env import games
from patchwork_env.agents import specs
from patchwork_env.agents.checkpoints import SHIPPED_FOLDER, copy_checkpoint
from patchwork_env.learning.commands import train
from patchwork_env.learning.config import algorithms
from patchwork_env.learning.config.keys import section_of
from patchwork_env.nmbr9 import observation as nmbr9_observation
from patchwork_env.patchwork import observation as patchwork_observation
from tests import toy
from tests.learning.small_runs import small

PROJECT = Path(__file__).parents[1]
IMPORT = r"^\s*(?:from|import) .*"
NEEDS = {
    r"\bhf:|huggingface_hub": ("huggingface_hub", pytest.mark.libraries),
    IMPORT + r"\bmcp\b": ("mcp", pytest.mark.libraries),
    r"minari|patchwork-env dataset": ("minari", pytest.mark.libraries),
    IMPORT + r"\b(open_spiel|pyspiel)\b": ("pyspiel", pytest.mark.libraries),
    IMPORT + r"\b(torchrl|tensordict)\b": ("torchrl", pytest.mark.libraries),
    IMPORT + r"\b(jax|pgx)\b|mctx_alphazero": ("jax", pytest.mark.jax),
    r"openenv": ("openenv", pytest.mark.older),
    rf"rllib|{IMPORT}\bray\b": ("ray", pytest.mark.older),
}
"""Patterns of code that needs a library: its module, and the mark of the environment that has it."""
SLOW = (
    r"export_policy|MaskablePPO|beam:|STEPS|check_game|GameVectorEnv|Client\(|save_gif|hierarchical|gauntlet"
)
SLOW += r"|PolicyAgent\("
"""Patterns of examples that take seconds."""
WRITTEN_BY_THE_BUILD = re.compile(r"docs/(_build|reference/(api|commands|configuration|source))/")
PAGES = sorted(
    page
    for folder, pattern in ((".", "*.md"), ("docs", "**/*.md"), ("research", "**/*.md"))
    for path in (PROJECT / folder).glob(pattern)
    if not WRITTEN_BY_THE_BUILD.match(page := path.relative_to(PROJECT).as_posix())
)
"""All pages except those that the site makes from the code."""
PRESENT = [page for page in PAGES if page != "CHANGELOG.md"]
"""The pages without the changelog, which may name removed things."""
WITH_EXAMPLES = sorted(
    {
        ".".join(path.relative_to(PROJECT).with_suffix("").parts).removesuffix(".__init__")
        for folder in ("patchwork_env", "research")
        for path in (PROJECT / folder).rglob("*.py")
        if re.search(r"^\s*>>> ", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
)
"""Every module with examples in its docstrings."""
DIRECTIVES = ("{code-cell}", "{eval-rst}", "{include}", "{toctree}")
"""Blocks that the site fills; code cells run while it is built."""
INCLUDE = re.compile(r"```{include} (\S+)\n```")
FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^()\s]+)\)")
PATH = re.compile(r"`((?:patchwork_env|training|research|benchmarks|tests|tools|docs|examples)/[\w./-]*)`")


@pytest.fixture(autouse=True)
def own_registry(monkeypatch):
    """Agents that an example registers are forgotten when it ends."""
    monkeypatch.setattr(specs, "_entries", dict(specs._entries))


@pytest.fixture(autouse=True)
def my_game(monkeypatch):
    """``my_game``, which readers copy from the toy, is the original here, whose machine code is ready."""
    monkeypatch.setitem(sys.modules, "my_game", toy)
    monkeypatch.setitem(sys.modules, "my_game.engine", toy.engine)
    monkeypatch.setitem(games._modules(), "row", "my_game")
    games._load.cache_clear()


def prose(page):
    """The text of a page without its fenced code."""
    return FENCED.sub("", (PROJECT / page).read_text(encoding="utf-8"))


def anchors(page):
    """The anchors of the headings of a page, as GitHub derives them, or of the file that it includes."""
    if included := INCLUDE.match(page.read_text(encoding="utf-8")):
        return anchors((page.parent / included[1]).resolve())
    headings = re.findall(r"^#+ +(.*?) *$", prose(page.relative_to(PROJECT).as_posix()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def fenced(*languages):
    """Page, line and text of every block in one of some languages, or in any."""
    return [
        (page, text.count("\n", 0, match.start()) + 1, match[2])
        for page in PRESENT
        for text in [(PROJECT / page).read_text(encoding="utf-8")]
        for match in re.finditer(r"^```({[\w:-]+}|\w*)[^\n]*\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
        if not languages or match[1] in languages
    ]


def marks(code):
    """The marks of code that needs other libraries."""
    return [mark for words, (_, mark) in NEEDS.items() if re.search(words, code, re.MULTILINE)]


def missing(code):
    """The libraries that code needs and that are not installed."""
    needed = [library for words, (library, _) in NEEDS.items() if re.search(words, code, re.MULTILINE)]
    return [library for library in needed if importlib.util.find_spec(library) is None]


def skip_without_libraries(code):
    if libraries := missing(code):
        pytest.skip(f"needs {', '.join(libraries)}")


@pytest.mark.parametrize(
    ("page", "line", "code"),
    [
        pytest.param(
            page,
            line,
            code,
            id=f"{page}:{line}",
            marks=marks(code) + [pytest.mark.slow] * bool(re.search(SLOW, code)),
        )
        for page, line, code in fenced("python")
    ],
)
def test_examples_run(page, line, code, tmp_path, monkeypatch):
    """Output is hidden; examples with runs get prepared ones, and learn for a moment."""
    skip_without_libraries(code)
    monkeypatch.chdir(tmp_path)  # for what examples write
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    if '"runs/' in code:
        prepare_runs(code)
    code = code.replace("model.learn(100_000", "model.learn(100").replace("games=1000", "games=4")
    code = re.sub(r"^(STEPS\b.*? = )[\d_]+", r"\g<1>1", code, flags=re.MULTILINE)
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile("\n" * line + code, str(PROJECT / page), "exec"), {"__name__": "example"})


def prepare_runs(code):
    """Makes the runs that an example names: a policy, and a model of sb3-contrib."""
    final = Path("runs/ppo/final")
    final.mkdir(parents=True)
    copy_checkpoint(SHIPPED_FOLDER / "ppo-quick", final)
    if "runs/maskable_ppo" in code:
        words = [
            "maskable_ppo_quick",
            "--run-dir",
            "runs/maskable_ppo",
            "--set",
            *small("maskable_ppo_quick"),
        ]
        assert train.main(words) == 0


@pytest.mark.parametrize(
    ("page", "line", "code"),
    [
        pytest.param(page, line, code, id=f"{page}:{line}", marks=marks(code))
        for page, line, code in fenced("py")
    ],
)
def test_examples_that_need_more_than_code_compile_and_import_what_exists(page, line, code):
    """Those with a run or a server of the reader's."""
    skip_without_libraries(code)
    parts = ast.parse("\n" * line + code, str(PROJECT / page)).body
    imports = [part for part in parts if isinstance(part, ast.Import | ast.ImportFrom)]
    assert imports
    exec(compile(ast.Module(imports, []), str(PROJECT / page), "exec"), {})


def test_no_code_hides_in_other_blocks():
    """All blocks are of known languages, and those of none are what programs print, or positions."""
    known = ("", "bibtex", "dockerfile", "json", "py", "python", "sh", "text", "toml", "yaml", *DIRECTIVES)
    texts = [block[2] for block in fenced("", "text")]
    assert len(fenced(*known)) == len(fenced())
    assert [
        text
        for text in texts
        if re.search(IMPORT + r"|^\$? ?(patchwork-env|python|pip|make|git) ", text, re.M)
    ] == []


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    for link in LINK.findall(prose(page)):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = ((PROJECT / page).parent / path if path else PROJECT / page).resolve()
        assert target.is_relative_to(PROJECT), f"{page} links to {link}, outside the project"
        if WRITTEN_BY_THE_BUILD.match(target.relative_to(PROJECT).as_posix()):
            continue  # which fails where there is no such page
        assert target.exists(), f"{page} links to {link}, which does not exist"
        if anchor:
            assert anchor in anchors(target), f"{page} links to {link}; there is no such heading"


@pytest.mark.parametrize("page", PRESENT)
def test_pages_are_short(page):
    """Except for logs of experiments; longer pages must be split."""
    text = (PROJECT / page).read_text(encoding="utf-8")
    if page == "README.md":
        assert len(text.splitlines()) <= 120
    elif not page.startswith("docs/notebook/"):
        assert len(re.findall(r"\S*\w\S*", text)) <= 1500


@pytest.mark.parametrize("page", PRESENT)
def test_paths_lead_somewhere(page):
    named = [path for path in PATH.findall(prose(page)) if not re.search("NAME|_build", path)]
    missing = [path for path in named if not (PROJECT / path).exists()]
    assert not missing, f"{page} names {missing}, which do not exist"


def keys(kind, path=()):
    """The full names of all keys of a configuration."""
    for name in kind.model_fields:
        yield ".".join((*path, name))
        section = section_of(kind, name)
        if section is not None:
            yield from keys(section, (*path, name))


@pytest.mark.parametrize("page", PRESENT)
def test_keys_of_configurations_exist(page):
    known = {key for kind in algorithms().values() for key in keys(kind)}
    sections = "|".join({key.partition(".")[0] for key in known if "." in key})
    text = (PROJECT / page).read_text(encoding="utf-8")
    named = re.findall(rf"(?<![\w./-])((?:{sections})(?:\.[a-z_]+)+)(?![\w(/]|\.\w)", text)
    files = (".py", ".md", ".png", ".yaml", ".json", ".jsonl", ".ipynb")
    assert [key for key in named if key not in known and not key.endswith(files)] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "module", [pytest.param(module, marks=marks(f"import {module}")) for module in WITH_EXAMPLES]
)
def test_examples_of_docstrings_run(module):
    skip_without_libraries(f"import {module}")
    results = doctest.testmod(importlib.import_module(module))
    assert results.attempted > 0
    assert results.failed == 0


@pytest.mark.parametrize(
    ("document", "observation"),
    [("games/patchwork", patchwork_observation), ("games/nmbr9", nmbr9_observation)],
    ids=["patchwork", "nmbr9"],
)
def test_the_table_of_observations(document, observation):
    text = (PROJECT / f"docs/{document}.md").read_text(encoding="utf-8")
    for name, shape in observation.SHAPES.items():
        part = observation.SLICES[name]
        assert f"| `{name}` | {shape} | {part.start}:{part.stop} |" in text
    assert f"float32 vector of {observation.OBSERVATION_SIZE} numbers" in text

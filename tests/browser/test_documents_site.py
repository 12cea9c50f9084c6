"""The site of documents as `make docs` builds it: search, phones, notebooks, and what surrounds the text."""

import json
import re
from pathlib import Path

import pytest

from tests.browser.serving import address_of, folder_server

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("chromium")]

SITE = Path(__file__).parents[2] / "docs" / "_build" / "html"
FOUND = {
    "SB3": "train/sb3",
    "train SB3": "train/sb3",
    "rules": "games/patchwork",
    "observation": "games/patchwork",
    "hyperparameters": "reference/configuration/index",
    "mask": "use/gymnasium",
    "custom PPO": "tutorials/own_ppo",
    "install": "use/install",
    "Windows": "reference/systems",
    "opponent": "use/agents",
    "turn": "reference/glossary",
    "multi-agent": "use/pettingzoo",
    "elo": "measure/gauntlet",
}
"""What people search for, and a page that must be among the first three."""
OF_EACH_KIND = (
    *("index", "use/index", "use/engine", "use/wrappers", "play/page", "train/algorithms", "train/rllib"),
    *("tutorials/own_ppo", "reference/index", "reference/configuration/ppo", "reference/contributing"),
    *("reference/api/patchwork_env.patchwork_v0", "reference/api/patchwork_env.learning.evaluation", "404"),
    *("reference/commands/train", "reference/glossary", "reference/source/examples/own_ppo.py"),
)
OUTSIDE = """() => {
  const right = document.documentElement.clientWidth + 1;
  const isIn = (part) => part.getBoundingClientRect().right <= right || !part.textContent.trim();
  const scrolls = (part) => getComputedStyle(part).overflowX !== "visible";
  const isReached = (part) => part.tagName !== "ARTICLE" && (scrolls(part) || isReached(part.parentElement));
  const parts = [...document.querySelectorAll("article *")];
  return parts.filter((part) => !isIn(part) && !isReached(part)).map((part) => part.textContent.trim());
}"""
"""The texts that stand beyond the right edge of a phone and cannot be scrolled to."""


@pytest.fixture(scope="module")
def address():
    if not (SITE / "index.html").exists():
        pytest.fail("there is no site of documents: make docs")
    with folder_server(SITE) as server:
        yield address_of(server)


@pytest.fixture
def page(chromium):
    """A page as a visitor has it for the first time; nothing may be reported on its console."""
    context = chromium.new_context(viewport={"width": 1280, "height": 800})
    opened, reports = context.new_page(), []
    opened.on(
        "console", lambda line: reports.append(line.text) if line.type in ("warning", "error") else None
    )
    opened.on("pageerror", lambda error: reports.append(str(error)))
    yield opened
    context.close()
    assert not reports


def test_search_finds_the_page_among_the_first_three(page, address):
    page.goto(f"{address}search.html")
    page.wait_for_function("Search.hasIndex()")
    find = "(words) => Search._performSearch(...Search._parseQuery(words)).slice(-3).map((found) => found[0])"
    assert {
        words: wanted for words, wanted in FOUND.items() if wanted not in page.evaluate(find, words)
    } == {}


def test_nothing_leaves_a_phone(page, address):
    page.set_viewport_size({"width": 390, "height": 844})
    outside = {}
    for name in OF_EACH_KIND:
        page.goto(f"{address}{name}.html")
        outside[name] = page.evaluate(OUTSIDE)
    assert {name: texts for name, texts in outside.items() if texts} == {}


def test_all_sections_stand_in_the_bar_and_keys_are_two_clicks_away(page, address):
    page.goto(address)
    bar = page.locator(".bd-header .navbar-nav")
    names = ["Tutorials", "Use", "Train", "Measure", "Play", "Games", "Reference", "Notebook"]
    assert bar.locator("a:visible").all_inner_texts() == names
    bar.get_by_text("Reference").click()
    page.locator("article").get_by_role("link", name="ppo", exact=True).click()
    assert page.locator("article").get_by_text("ppo.num_envs").first.is_visible()


def test_pages_describe_themselves_and_lead_on():
    texts = {path.relative_to(SITE).as_posix(): path.read_text("utf-8") for path in SITE.rglob("*.html")}
    pages = {
        name: text for name, text in texts.items() if not name.startswith(("page/", "_static/", "search"))
    }
    assert len(pages) > 100
    described = {
        name: re.search(r'<meta name="description" content="([^"]{12,})">', text)
        for name, text in pages.items()
    }
    assert [name for name, found in described.items() if not found] == []
    assert 'class="prev-next-area"' in pages["train/sb3.html"]
    assert '<base href="/">' in pages["404.html"]
    assert not re.search(r"_downloads/[^\"]*\.py\"", "".join(pages.values()))


def test_notebooks_to_download_run_by_themselves():
    notebooks = [json.loads(path.read_text("utf-8")) for path in SITE.glob("_downloads/*/*.ipynb")]
    assert len(notebooks) == 5
    for notebook in notebooks:
        assert "%pip install" in notebook["cells"][0]["source"]
        for cell in notebook["cells"]:
            if cell["cell_type"] == "markdown":
                assert not re.search(r"{[\w-]+}`|\]\((?![a-z]+:)", "".join(cell["source"]))

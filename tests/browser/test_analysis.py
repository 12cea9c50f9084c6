"""Analysis and review on the page: bar, graph, lines, exploration, and the moves that lost most."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from patchwork_env.learning.reports.review import NAMES
from patchwork_env.nmbr9 import Game as Nmbr9

pytestmark = pytest.mark.browser

DONE = '[data-role="review-result"][data-done="true"]'
OPPONENT = "partner:level=2"
PATIENCE = 300
"""The seconds after which one gives up: kernels may have to be compiled first."""


class Visit:
    """A page that is open."""

    page: Any

    def __init__(self, open_page):
        self._open_page = open_page

    def open(self, notation="", **query):
        """Opens a game; returns Playwright's page."""
        fragment = f"#{quote(notation.strip())}" if notation else ""
        self.page = self._open_page(f"?{urlencode(query)}{fragment}")
        self.page.set_default_timeout(1000 * PATIENCE)
        return self.page

    def role(self, name):
        """The element with a data-role."""
        return self.page.locator(f'[data-role="{name}"]')

    def until(self, condition):
        """Waits until a condition in JavaScript holds."""
        self.page.wait_for_function(f"() => {condition}")


@pytest.fixture
def visit(open_page):
    """A page to open."""
    return Visit(open_page)


GAME = (
    "patchwork/1 variant=revised first=0 circle=13,32,25,26,22,7,31,27,8,9,1,5,28,18,2,12,14,10,16,19,23,"
    "11,24,4,3,30,29,17,6,15,21,20,0\n"
    "13/4@f1 + + 26/0@d1 22/1@h2 7/1@h1 + 8/0@d1 5/5@g1 + + 28/2@g3 12/4@a1 14/7@a2 16/2@e3 *i6 23/0@d2 "
    "11/1@h6 3/2@g3 30/0@f5 *h9 6/0@d6 20/3@g6 32/1@d4 27/1@c2 *i7 + 1/1@b5 2/1@b4 10/4@d8\n"
)
"""A game with several moves of every name. A move of player 0 is next."""


@pytest.fixture
def reviewed(visit):
    """The review of a game."""
    visit.open(GAME, game="patchwork", opponent=OPPONENT, seat="0")
    visit.role("review").click()
    visit.page.wait_for_selector(DONE)
    return visit


def ply(visit):
    return int(visit.page.evaluate("window.game.page.session.ply"))


def wait_for_ply(visit, number):
    visit.until(f"window.game.page.session.ply === {number}")


def notation(visit):
    return str(visit.page.evaluate("window.game.page.session.mainNotation"))


def test_the_bar_tells_the_probability_that_player_0_wins(visit):
    visit.open(game="patchwork", opponent=OPPONENT, seat="0", seed="7")
    visit.role("show-evaluation").click()
    bar = visit.page.locator('[data-role="evaluation"][data-win][data-searching="false"]')
    bar.wait_for()
    win = float(bar.get_attribute("data-win"))
    assert 0 < win < 1
    assert int(bar.get_attribute("data-depth")) > 0
    assert f"{100 * win:.0f}%" in bar.inner_text()
    assert "for you" in bar.inner_text()


def test_graph_list_counts_and_bar_tell_the_same(reviewed):
    page = reviewed.page
    marks = Counter(mark.get_attribute("data-name") for mark in page.locator(".graph-mark").all())
    counted: Counter[str | None] = Counter()
    for item in page.locator(".review-counts [data-name]").all():
        counted[item.get_attribute("data-name")] += int(item.get_attribute("data-count"))
    in_list = Counter(
        item.get_attribute("data-name") for item in page.locator('[data-role="moves"] [data-name]').all()
    )
    assert set(marks) == set(NAMES)
    assert marks == counted == in_list
    listed = page.locator('[data-role="worst"] > li')
    assert listed.first.get_attribute("data-name") == "blunder"


def test_the_graph_goes_to_positions_by_mouse_and_by_keys(reviewed):
    graph = reviewed.role("graph")
    last = ply(reviewed)
    graph.click(position={"x": 1, "y": 30})
    wait_for_ply(reviewed, 0)
    graph.press("ArrowRight")
    wait_for_ply(reviewed, 1)
    graph.press("ArrowRight")
    wait_for_ply(reviewed, 2)
    reviewed.page.locator('[data-role="graph"][aria-valuenow="2"]').wait_for()
    assert "%" in graph.get_attribute("aria-valuetext")
    graph.press("End")
    wait_for_ply(reviewed, last)


def test_lines_are_drawn_on_the_board_and_explored(visit):
    page = visit.open(GAME, game="patchwork", opponent=OPPONENT, seat="0")
    before = notation(visit)
    page.evaluate("window.game.page.session.goto(8)")
    visit.role("show-lines").click()
    assert visit.role("advance").is_enabled()  # although it is the opponent's turn
    line = visit.role("lines").locator("button").first
    line.hover()
    page.wait_for_selector(".ghost")
    line.click()
    visit.until("window.game.page.session.exploring && window.game.page.session.ply === 9")
    shown = "JSON.parse(document.querySelector('.line-moves')?.dataset.shown ?? '[]')"
    visit.until(f"{shown}[1] === window.game.page.session.notation")  # not the lines of the move before
    line.click()
    visit.until("window.game.page.session.ply === 10")
    assert notation(visit) == before
    visit.until("document.querySelectorAll('[data-role=variations] button').length === 2")
    visit.role("leave").click()
    assert ply(visit) == 8
    assert visit.page.evaluate("window.game.page.session.exploring") is False
    visit.role("variations").locator("button").last.click()
    assert ply(visit) == 10
    assert notation(visit) == before


def test_a_line_that_changes_while_it_is_pressed_is_played(visit):
    page = visit.open(GAME, game="patchwork", opponent=OPPONENT, seat="0")
    page.evaluate("window.game.page.session.goto(7)")
    visit.role("show-lines").click()
    page.locator(".line-moves .move-drawing").first.hover()
    page.mouse.down()
    figure = "document.querySelector('.line-figure').title"
    page.evaluate(f"document.querySelector('.line-moves').dataset.shown = ''; window.before = {figure}")
    visit.until(f"{figure} !== window.before")
    page.mouse.up()
    visit.until("window.game.page.session.ply === 8")


def test_a_search_ends_when_another_position_is_shown(visit):
    page = visit.open(GAME, game="patchwork", opponent=OPPONENT, seat="0")
    page.evaluate("window.game.page.session.goto(5)")
    visit.role("show-lines").click()
    page.wait_for_selector('[data-role="evaluation"][data-searching="true"][data-win]')
    with page.expect_event("requestfailed", lambda request: request.url.endswith("/api/analyse")):
        page.evaluate("window.game.page.session.goto(9)")
    page.wait_for_selector('[data-role="evaluation"][data-searching="true"][data-win]')


def test_a_worse_move_is_shown_and_tried_again(reviewed):
    page, before = reviewed.page, notation(reviewed)
    item = page.locator('[data-role="worst"] > li:has([data-role="retry"])').first
    at = int(item.get_attribute("data-ply"))
    item.locator(".review-show").click()
    assert ply(reviewed) == at - 1
    page.wait_for_selector(".ghost.hint, .advance.suggested")
    item.locator('[data-role="retry"]').click()
    reviewed.until(f"window.game.page.session.main.length === {at}")
    assert before.startswith(notation(reviewed).strip())
    assert page.evaluate("window.game.page.session.seats.map((seat) => seat.spec ?? seat.kind)") == [
        "person",
        OPPONENT,
    ]
    page.locator(".notice button").first.click()
    page.wait_for_selector(DONE)
    assert notation(reviewed) == before


@pytest.mark.parametrize("kind", ["Html", "Text"])
def test_reports_tell_what_the_page_tells(reviewed, kind, tmp_path):
    page = reviewed.page
    with page.expect_download() as download:
        reviewed.role(f"save{kind}").click()
    download.value.save_as(tmp_path / "report")
    text = (tmp_path / "report").read_text(encoding="utf-8")
    for side in reviewed.role("accuracy").all():
        assert f"{float(side.get_attribute('data-value')):.0f}% accuracy" in text
    words = notation(reviewed).split("\n", 1)[1].split()
    assert " ".join(words) in text
    assert not re.search(r'(src|href)="', text)


def test_nmbr9_alone_has_points_instead_of_a_probability(visit):
    game = Nmbr9(seed=5)
    for _ in range(6):
        game.play(int(game.legal_actions()[-1]))
    visit.open(game.notation(), game="nmbr9")
    visit.role("review").click()
    visit.page.wait_for_selector(DONE)
    bar = visit.role("evaluation")
    assert bar.get_attribute("data-win") is None
    assert re.search(r"about \d+ points", bar.inner_text())
    assert visit.page.locator('[data-role="worst"] > li').count() > 0


def test_the_graph_of_two_tables_of_nmbr9_shows_points(visit):
    game = Nmbr9(deck=[5, 7, 2], players=2)
    while not game.is_over:
        game.play(int(game.legal_actions()[-1]))
    visit.open(game.notation(), game="nmbr9", seat="both")
    visit.role("review").click()
    visit.page.wait_for_selector(DONE)
    heights = set(re.findall(r"[ML]\S+ (\S+?)(?=L|$)", visit.page.locator(".graph-line").get_attribute("d")))
    assert len(heights) > 2


def test_a_move_with_few_visits_has_no_figure_and_what_was_cut_short_goes_on(visit):
    page = visit.open(game="patchwork", seat="both", seed="7", lang="en")
    page.evaluate(
        """() => {
          window.game.page.backend.analyse = async (_, { onanalysis }) => {
            window.isAsked = true;
            const line = { word: "+", visits: 9, margin: null, exact: false };
            const lines = [{ ...line, win: 0.63 }, { ...line, word: "25/0@a1", win: null }];
            onanalysis({ player: 0, win: 0.63, margin: 1, depth: 1e9, done: false, lines });
          };
        }"""
    )
    visit.role("show-lines").click()
    page.locator(".line-figure", has_text="63%").wait_for()  # the server may have sent other lines before
    page.wait_for_selector(".unsure")
    assert page.locator(".line-figure").all_inner_texts() == ["63%", ""]
    page.evaluate("window.isAsked = false")
    visit.role("show-lines").click()
    visit.until("window.isAsked")


def test_what_an_analysis_waits_for_is_said(visit):
    page = visit.open(game="patchwork", seat="both", seed="7", lang="en")
    page.evaluate(
        """() => {
          window.game.page.backend.analyse = (_, { onprogress }) => {
            onprogress({ progress: "…", key: "compiling", count: 1 });
            return new Promise(() => {});
          };
        }"""
    )
    visit.role("show-lines").click()
    page.get_by_text("Preparing the agent (only once) …").wait_for()

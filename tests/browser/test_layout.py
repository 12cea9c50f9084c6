"""What one needs for a move is in the window without scrolling, and nothing lies upon the boards."""

import pytest

from tests.browser.views import GAMES, query_of

pytestmark = pytest.mark.browser

OUTSIDE = """
(names) => names.flatMap((name) => [...document.querySelectorAll(name)].map((element) => [name, element]))
  .filter(([, element]) => element.checkVisibility())
  .filter(([, element]) => {
    const { left, top, right, bottom } = element.getBoundingClientRect();
    return left < 0 || top < 0 || right > innerWidth || bottom > innerHeight;
  }).map(([name]) => name)
"""
COVERED = """
() => [...document.querySelectorAll('.near [data-role="cell"]')].filter((cell) => {
  const { left, top, width, height } = cell.getBoundingClientRect();
  return document.elementFromPoint(left + width / 2, top + height / 2) !== cell;
}).map((cell) => [cell.dataset.row, cell.dataset.column])
"""
NEEDED = (
    *('[data-role="cell"]', '[data-role="offer"]', '[data-role="turn"]', '[data-role="advance"]'),
    *('[data-role="undo"]', '[data-role="hint"]', '[data-role="review"]', "#analysis .toggles"),
    *('[data-role="moves"]', ".track", ".supply", ".status"),
)


ALONE = {"patchwork": "?opponent=partner:level=1&seat=0", "nmbr9": "?game=nmbr9&seed=3"}


@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize("game", GAMES)
def test_a_window_of_1280_by_800_shows_everything(open_page, game, alone):
    viewport = {"width": 1280, "height": 800}
    page = open_page(ALONE[game] if alone else query_of(game, "en", 15), viewport=viewport)
    assert page.evaluate("document.documentElement.scrollHeight") <= 800
    assert page.evaluate(OUTSIDE, list(NEEDED)) == []
    priced = page.locator(".offer-next .price").count()
    assert priced >= 10 if game == "patchwork" else priced == 0


@pytest.mark.parametrize("moves", [15, None], ids=["middle", "end"])
@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize(("width", "height"), [(390, 664), (390, 844), (320, 640)])
def test_phones_show_the_whole_board(open_page, width, height, game, moves):
    viewport = {"width": width, "height": height}
    page = open_page(query_of(game, "en", moves), touch=True, viewport=viewport)
    if moves is None:  # what the points are made of comes before the board
        page.evaluate("document.querySelector('.near :is(.quilt, .table)').scrollIntoView({ block: 'end' })")
    assert page.evaluate(COVERED) == []
    if moves is not None:
        assert (
            page.evaluate(OUTSIDE, ['[data-role="turn"]', '[data-role="advance"]', '[data-role="offer"]'])
            == []
        )

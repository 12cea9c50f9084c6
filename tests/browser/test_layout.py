"""On every usual screen, in every language, the window shows what a player needs, uncovered and whole."""

import pytest

from tests.browser.views import GAMES, LANGUAGES, notation_after

pytestmark = pytest.mark.browser

DESKTOPS = ((1280, 800), (1366, 650), (1440, 750), (1024, 768))
PHONES = ((844, 390), (390, 844), (390, 664), (320, 640))
NEEDED = (
    *(".status-turn", ".status-last", ".ending table", '[data-role="rematch"]', ".near .plate"),
    *('.near [data-role="cell"]', '[data-role="offer"]', '[data-role="turn"]', '[data-role="flip"]'),
    *('[data-role="advance"]', '[data-role="undo"]', '[data-role="hint"]', '[data-role="review"]'),
    '[data-role="new-game"]',
)
BESIDE = (".far .plate", ".track", ".supply", "#analysis .toggles", '[data-role="moves"]')
"""What wide windows show, too; on phones it lies below."""
MISSING = """
(selectors) => selectors.flatMap((selector) => [...document.querySelectorAll(selector)]
  .filter((element) => element.checkVisibility() && element.textContent + element.dataset.role)
  .filter((element) => {
    const { left, top, right, bottom, width, height } = element.getBoundingClientRect();
    const isOutside = left < -1 || top < -1 || right > innerWidth + 1 || bottom > innerHeight + 1;
    const found = document.elementFromPoint(left + width / 2, top + height / 2);
    const isCovered = !element.contains(found) && !found?.contains(element);
    const { scrollWidth, clientWidth } = element; // 0 where a box is inline
    const isCut = clientWidth > 0 && scrollWidth > clientWidth + 1
      && getComputedStyle(element).overflowX === "hidden";
    return width > 0 && (isOutside || isCovered || isCut);
  }).map(() => selector))
"""
"""The selectors of visible elements that are outside the window, covered or cut off."""
OPEN = "([seat, line]) => window.game.page.open({ opponent: 'greedy', seat }, { lines: [line] })"
SETTLED = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


@pytest.mark.parametrize("touch", [False, True], ids=["desktop", "phone"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_what_a_player_needs_is_in_the_window(open_page, language, touch):
    page = open_page(f"?game=patchwork&seat=both&seed=7&lang={language}", touch=touch)
    findings = []
    for game in GAMES:
        for seat, moves in (("0", 14), ("both", 15), ("0", None)):
            page.evaluate(OPEN, [seat, notation_after(game, moves).strip()])
            page.evaluate("document.querySelector('.notice .close')?.click()")
            for number, (width, height) in enumerate(PHONES if touch else DESKTOPS):
                page.set_viewport_size({"width": width, "height": height})
                page.emulate_media(color_scheme=("light", "dark")[number % 2])
                page.evaluate(SETTLED)
                needed = NEEDED + (BESIDE if width >= 1200 else ())
                at = f"{game}, seat {seat}, {moves} moves, {width} by {height}"
                findings += [f"{at}: {name}" for name in sorted(set(page.evaluate(MISSING, list(needed))))]
                if width >= 1200 and page.evaluate("document.documentElement.scrollHeight") > height:
                    findings.append(f"{at}: the page scrolls")
    assert not findings, "\n".join(findings)

"""Everybody can use the page: every view fits the screen, and axe finds nothing serious in any of them.

In light and dark, on phones and wide screens, by mouse and by touch, in every language.
"""

from __future__ import annotations

from importlib.resources import files

import pytest

from tests.browser.views import GAMES, LANGUAGES, views_of_game

pytestmark = pytest.mark.browser

HEIGHTS = {320: 640, 360: 740, 390: 844, 768: 1024, 1024: 768, 1280: 800, 1440: 900}
"""The heights of screens by their widths."""
SCANNED = (360, 1440)
"""The widths at which axe looks at the page."""
GRAVE = ("serious", "critical")
SCHEMES = ("light", "dark")
CUT_OFF = """
() => {
  const shown = (element) => element.checkVisibility({ visibilityProperty: true, opacityProperty: true })
    && !element.closest(".visually-hidden, details:not([open]) > :not(summary)");
  const text = (element) => element.textContent.trim().slice(0, 40);
  const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  const cut = [...document.querySelectorAll(
    "button, a, label, label > span, h1, h2, h3, dt, dd, summary, legend, .status-turn, p, th, td, strong",
  )].filter(shown).filter((element) => element.scrollWidth > element.clientWidth + 2
    && element.clientWidth > 1 && getComputedStyle(element).overflowX !== "auto");
  const outside = [...document.querySelectorAll("button, select, input, textarea, a, h2, p")].filter(shown)
    .filter((element) => {
      const { left, right, width } = element.getBoundingClientRect();
      const isScrolled = element.closest(".review-scroll, [data-scrolls]");
      return width > 1 && !isScrolled && !element.matches(".skip") && (left < -1 || right > innerWidth + 1);
    });
  const told = (what) => (element) =>
    `${what}: ${element.localName}.${element.className}[${element.dataset.role ?? ""}] "${text(element)}"`;
  return [
    ...(wide > 0 ? [`the page is ${wide} px too wide`] : []),
    ...cut.map(told("cut off")),
    ...outside.map(told("outside")),
  ];
}
"""
"""What is cut off or lies outside the window, in words."""
SETTLED = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
"""Waits until what was changed is on the screen."""


@pytest.fixture(scope="module")
def axe():
    """The source of axe; the page's policy forbids foreign scripts, but not what a debugger evaluates."""
    return (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")


def grave_findings(page, axe):
    """What axe finds to be serious or critical: the rule, and where."""
    if page.evaluate("typeof axe") == "undefined":
        page.evaluate(axe)
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    return [
        f"{rule['id']} ({rule['impact']}): {node['target']} {node['failureSummary']}"
        for rule in found["violations"]
        if rule["impact"] in GRAVE
        for node in rule["nodes"]
    ]


def findings_at(page, width, axe):
    """What does not fit a screen, and what axe finds on it in the colours of the day and of the night."""
    page.set_viewport_size({"width": width, "height": HEIGHTS[width]})
    page.evaluate(SETTLED)
    findings: list[str] = page.evaluate(CUT_OFF)
    for scheme in SCHEMES if width in SCANNED else ():
        page.emulate_media(color_scheme=scheme)
        page.evaluate(SETTLED)
        findings += [f"{scheme}: {finding}" for finding in grave_findings(page, axe)]
    return [f"{width} px: {finding}" for finding in findings]


@pytest.mark.parametrize(("language", "touch"), [("en", False), ("fa", True)])
@pytest.mark.parametrize("game", GAMES)
def test_every_view(open_page, axe, game, language, touch):
    findings = [
        f"{name}, {finding}"
        for name, page in views_of_game(open_page, game, language, touch=touch)
        for width in HEIGHTS
        for finding in findings_at(page, width, axe)
    ]
    assert not findings, "\n".join(findings)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_rules(open_page, axe, language):
    page = open_page(f"?lang={language}")
    assert page.evaluate("document.documentElement.lang") == language
    page.goto(page.url.partition("?")[0] + f"rules/{language}.html")
    findings = [finding for width in HEIGHTS for finding in findings_at(page, width, axe)]
    assert not findings, "\n".join(findings)

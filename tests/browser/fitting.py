"""Whether everything fits: nothing to scroll sideways, no words cut off."""

from __future__ import annotations

from typing import Any

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


def what_does_not_fit(page: Any) -> list[str]:
    """What is cut off or lies outside the window, in words."""
    found: list[str] = page.evaluate(CUT_OFF)
    return found

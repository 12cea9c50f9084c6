/** The remaining tiles; in free order the player chooses from them. */

import { button, element, setAttribute } from "../elements.js";
import { number, t } from "../language.js";
import { tilePicture } from "./tiles.js";

const DIGITS = Array.from({ length: 10 }, (_, digit) => digit);

export class Supply {
  /**
   * @param {object} components
   * @param {(digit: number) => void} onchoose
   */
  constructor(components, onchoose) {
    this.heading = element("h2", { class: "supply-heading" });
    this.counters = DIGITS.map((digit) => counter(components, digit, onchoose));
    this.upcoming = element("ol", { class: "upcoming", dir: "ltr" });
    this.element = element(
      "section",
      { class: "supply" },
      this.heading,
      element("div", { class: "supply-tiles", role: "group", dir: "ltr" }, this.counters),
      this.upcoming,
    );
  }

  /**
   * @param {import("../backend.js").Position} position
   * @param {Set<number>} digits to choose from
   */
  show(position, digits) {
    const { order, left, deck, round } = position.state;
    const free = order === "free";
    this.heading.textContent = t(free ? "nmbr9.toChoose" : "nmbr9.toCome");
    this.element.classList.toggle("free", free);
    this.counters.forEach((each, digit) => this.#mark(each, digit, left[digit], free, digits.has(digit)));
    const known = order === "known" ? deck.slice(round + 1) : [];
    this.upcoming.hidden = known.length === 0;
    this.upcoming.setAttribute("aria-label", t("nmbr9.upcoming"));
    this.upcoming.replaceChildren(
      ...known.map((digit) => element("li", { style: `--tile: var(--tile-${digit})` }, number(digit))),
    );
  }

  #mark(each, digit, left, free, mayTake) {
    setAttribute(each, "data-role", free && "offer");
    setAttribute(each, "data-slot", free && String(digit));
    each.disabled = !free;
    setAttribute(each, "aria-disabled", !mayTake && "true");
    each.classList.toggle("gone", left === 0);
    each.querySelector(".supply-digit").textContent = number(digit);
    each.querySelector(".supply-left").textContent = `×${number(left ?? 0)}`;
    const text = t("nmbr9.left", { digit, count: left ?? 0 });
    each.title = text;
    each.querySelector(".visually-hidden").textContent = text;
  }
}

function counter(components, digit, onchoose) {
  return button(
    { class: "supply-tile", "data-digit": digit, onclick: () => onchoose(digit) },
    element(
      "span",
      { class: "supply-piece", "aria-hidden": "true" },
      tilePicture(components, digit, 0),
      element("span", { class: "supply-digit" }),
    ),
    element("span", { class: "supply-left", "aria-hidden": "true" }),
    element("span", { class: "visually-hidden" }),
  );
}

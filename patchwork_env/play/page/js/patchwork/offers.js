/** The offered patches, and the next ones in the circle. */

import { button, element, setAttribute, svg } from "../elements.js";
import { number, t } from "../language.js";
import { CELL, clock, pieceOfCloth, sewingButton } from "./fabric.js";
import { oriented } from "./pieces.js";

const NUM_OFFERED = 3;

/**
 * A drawing of a patch.
 * @param {number} patch
 * @param {object} shape as `oriented` gives it
 * @param {number} margin in units; cells have ten
 */
export function patchDrawing(patch, shape, margin = 1) {
  const [width, height] = [shape.width * CELL, shape.height * CELL];
  return svg(
    "svg",
    {
      class: "patch-drawing",
      viewBox: `${-margin} ${-margin} ${width + 2 * margin} ${height + 2 * margin}`,
      "aria-hidden": "true",
      style: `--width: ${shape.width}; --height: ${shape.height}`,
    },
    pieceOfCloth(patch, shape),
  );
}

export class Offers {
  #components;
  #drawn = "";

  /**
   * @param {object} components
   * @param {(slot: number) => void} ontake
   */
  constructor(components, ontake) {
    this.#components = components;
    this.ontake = ontake;
    this.cards = element("div", { class: "offer-cards" });
    this.rest = element("div", { class: "offer-rest" });
    this.element = element("div", { class: "offers", role: "group", dir: "ltr" }, this.cards, this.rest);
  }

  /** Draws the circle, and marks each offered patch with the reason why it cannot be taken, if any. */
  show(position, hand) {
    const { circle } = position.state;
    this.element.setAttribute("aria-label", t("patchwork.offers"));
    const now = `${document.documentElement.lang} ${circle}`;
    if (now !== this.#drawn) this.#draw(circle);
    this.#drawn = now;
    for (const card of this.cards.children) this.#mark(card, position, hand);
  }

  /** The reason why a patch cannot be taken. */
  reason(slot) {
    return this.cards.children[slot]?.dataset.reason ?? "";
  }

  #draw(circle) {
    this.cards.replaceChildren(...circle.slice(0, NUM_OFFERED).map((patch, slot) => this.#card(patch, slot)));
    this.rest.replaceChildren(
      ...circle
        .slice(NUM_OFFERED)
        .map((patch, index) =>
          element(
            "span",
            {
              class: "offer-next",
              role: "img",
              "aria-label": priceText(this.#components.patches[patch], NUM_OFFERED + index),
            },
            patchDrawing(patch, oriented(this.#components.patches[patch], 0)),
            this.#tag(patch),
          ),
        ),
    );
    this.element.scrollLeft = 0;
  }

  #card(patch, slot) {
    return button(
      {
        class: "offer",
        "data-role": "offer",
        "data-slot": slot,
        "data-patch": patch,
        onclick: () => this.ontake(slot),
      },
      element(
        "span",
        { class: "offer-patch" },
        patchDrawing(patch, oriented(this.#components.patches[patch], 0)),
      ),
      this.#tag(patch),
      element("span", { class: "offer-reason", dir: "auto", "aria-hidden": "true" }),
      element("span", { class: "offer-words visually-hidden" }),
    );
  }

  #tag(patch) {
    const { buttons, time } = this.#components.patches[patch];
    return element(
      "span",
      { class: "price", "aria-hidden": "true" },
      sign(sewingButton(0, 0, 9)),
      element("b", {}, number(buttons)),
      sign(clock(0, 0, 9)),
      element("b", {}, number(time)),
    );
  }

  #mark(card, position, hand) {
    const slot = Number(card.dataset.slot);
    const patch = this.#components.patches[Number(card.dataset.patch)];
    const short = this.#shortOf(slot, patch, position, hand);
    const reason = short || this.#waitsFor(position, hand);
    setAttribute(card, "aria-disabled", reason !== "" && "true");
    setAttribute(card, "aria-pressed", String(hand.slot === slot));
    setAttribute(card, "data-short", short !== "");
    card.querySelector(".offer-reason").textContent = short;
    card.dataset.reason = reason;
    const text = [priceText(patch, slot), reason].filter(Boolean).join(" ");
    card.title = text;
    card.querySelector(".offer-words").textContent = text;
  }

  /** The reason why this patch cannot be bought: too few buttons, or no room. */
  #shortOf(slot, patch, position, hand) {
    if (position.over || position.state.pending_special) return "";
    const missing = patch.buttons - position.state.buttons[position.player];
    if (missing > 0) return t("patchwork.reason.buttons", { count: missing });
    return hand.choices === null || hand.canTake(slot) ? "" : t("patchwork.reason.room");
  }

  /** The reason why no patch can be bought now. */
  #waitsFor(position, hand) {
    if (position.over) return t("patchwork.reason.over");
    if (position.state.pending_special) return t("patchwork.reason.special");
    return hand.choices === null ? t("patchwork.reason.turn") : "";
  }
}

const priceText = ({ buttons, time, income, cells }, slot) =>
  t("patchwork.offer", {
    number: slot + 1,
    size: t("patchwork.cells", { count: cells.length }),
    buttons: t("patchwork.buttons", { count: buttons }),
    time: t("patchwork.spaces", { count: time }),
    income: t("patchwork.buttons", { count: income }),
  });

/** A sign beside a number. */
export const sign = (drawing) =>
  svg("svg", { class: "sign", viewBox: "-10 -10 20 20", "aria-hidden": "true" }, drawing);

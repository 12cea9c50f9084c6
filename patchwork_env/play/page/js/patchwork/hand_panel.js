/** The patch in hand, the buttons to turn it, flip it and put it back, and the advance button. */

import { button, element, icon, setAttribute } from "../elements.js";
import { number, t } from "../language.js";
import { patchDrawing } from "./offers.js";

export class HandPanel {
  #hand;

  /**
   * @param {import("./hand.js").Hand} hand
   * @param {() => void} onadvance
   */
  constructor(hand, onadvance) {
    this.#hand = hand;
    this.piece = element("div", { class: "hand-piece", "data-role": "hand", role: "img" });
    this.turn = tool("turn", "turn", () => hand.turn());
    this.flip = tool("flip", "flip", () => hand.flip());
    this.back = tool("put-back", "back", () => hand.putBack());
    this.gain = element("span", { class: "advance-gain", dir: "ltr" });
    this.advance = button(
      { class: "primary advance", "data-role": "advance", onclick: onadvance },
      element("span", { class: "advance-text" }),
      this.gain,
    );
    this.element = element(
      "div",
      { class: "hand" },
      this.piece,
      element("div", { class: "hand-tools" }, this.turn, this.flip, this.back),
      this.advance,
    );
  }

  /** The drawing of the patch in hand, or a note. */
  #content() {
    const hand = this.#hand;
    const note = (key) => element("span", { class: "hand-note" }, t(key));
    if (hand.isEmpty) return hand.choices ? [note("patchwork.hand.empty")] : [];
    const drawing = patchDrawing(hand.patch, hand.shape, 2);
    return hand.isSpecial ? [drawing, note("patchwork.reason.special")] : [drawing];
  }

  #label() {
    if (this.#hand.isEmpty) return t("patchwork.hand.none");
    return this.#hand.isSpecial
      ? t("patchwork.reason.special")
      : t("patchwork.hand.holds", { patch: this.#hand.patch });
  }

  /**
   * @param {{gain: number}} context `gain`: the spaces to advance, which are also the buttons to receive
   */
  show({ gain }) {
    const hand = this.#hand;
    this.piece.dataset.orientation = hand.orientation;
    setAttribute(this.piece, "data-patch", hand.patch);
    this.piece.replaceChildren(...this.#content());
    this.piece.setAttribute("aria-label", this.#label());
    for (const [button, text] of [
      [this.turn, "turn"],
      [this.flip, "flip"],
      [this.back, "back"],
    ]) {
      button.disabled = hand.isEmpty || (hand.isSpecial && button !== this.turn && button !== this.flip);
      button.title = t(`patchwork.hand.${text}`);
      button.setAttribute("aria-label", t(`patchwork.hand.${text}`));
    }
    const may = hand.choices?.advance ?? false;
    this.advance.disabled = !may;
    this.advance.querySelector(".advance-text").textContent = t("patchwork.advance");
    this.gain.textContent = may ? `+${number(gain)}` : "";
    this.advance.title = may
      ? t("patchwork.advanceBy", {
          spaces: t("patchwork.spaces", { count: gain }),
          buttons: t("patchwork.buttons", { count: gain }),
        })
      : "";
  }
}

const tool = (role, name, onclick) =>
  button({ class: "round", "data-role": role, onclick }, icon(name));

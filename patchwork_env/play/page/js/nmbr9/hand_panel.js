/** The card, the tile in hand, its points, and the buttons that turn it. */

import { button, element, icon, setAttribute } from "../elements.js";
import { number, t } from "../language.js";
import { tilePicture } from "./tiles.js";

export class HandPanel {
  #components;
  #hand;

  /**
   * @param {object} components
   * @param {import("./hand.js").Hand} hand
   * @param {() => void} ontake called when the card is clicked
   */
  constructor(components, hand, ontake) {
    this.#components = components;
    this.#hand = hand;
    this.card = button({ class: "card", onclick: ontake });
    this.piece = element("div", { class: "hand-piece", "data-role": "hand", dir: "ltr" });
    this.note = element("p", { class: "hand-note" });
    this.left = tool("icon-mirrored", () => hand.turn(-1));
    this.turn = tool("", () => hand.turn());
    this.turn.dataset.role = "turn";
    this.element = element(
      "div",
      { class: "hand" },
      element(
        "div",
        { class: "card-place" },
        this.card,
        (this.round = element("span", { class: "card-round" })),
      ),
      this.piece,
      this.note,
      element("div", { class: "hand-tools", dir: "ltr" }, this.left, this.turn),
    );
  }

  /** @param {import("../backend.js").Position} position */
  show(position) {
    const hand = this.#hand;
    this.#showCard(position);
    this.piece.dataset.orientation = hand.orientation;
    setAttribute(this.piece, "data-digit", hand.digit);
    this.piece.replaceChildren(
      ...(hand.isEmpty ? [] : [tilePicture(this.#components, hand.digit, hand.orientation, 2)]),
    );
    this.piece.setAttribute("role", "img");
    this.piece.setAttribute(
      "aria-label",
      hand.isEmpty ? t("nmbr9.hand.none") : t("nmbr9.hand.holds", { digit: hand.digit }),
    );
    this.note.textContent = this.#noteText(position);
    this.note.classList.toggle("refusing", this.isRefusing);
    for (const [button, text] of [
      [this.turn, "turn"],
      [this.left, "turnBack"],
    ]) {
      button.disabled = hand.isEmpty;
      button.title = t(`nmbr9.hand.${text}`);
      button.setAttribute("aria-label", t(`nmbr9.hand.${text}`));
    }
  }

  #showCard(position) {
    const { digit, order, round, rounds } = position.state;
    const hand = this.#hand;
    const shown = order !== "free" && digit !== null;
    this.card.hidden = !shown;
    setAttribute(this.card, "data-role", shown && "offer");
    setAttribute(this.card, "data-slot", shown && "0");
    setAttribute(this.card, "aria-disabled", !hand.mayMove && "true");
    this.card.style.setProperty("--tile", `var(--tile-${digit})`);
    this.card.replaceChildren(element("span", { class: "card-digit" }, digit === null ? "" : number(digit)));
    this.card.setAttribute("aria-label", digit === null ? "" : t("nmbr9.card", { digit }));
    this.round.textContent = t("nmbr9.round", {
      round: number(Math.min(round + 1, rounds)),
      rounds: number(rounds),
    });
  }

  get isRefusing() {
    const { anchor } = this.#hand;
    return anchor !== null && !this.#hand.fits(anchor);
  }

  #noteText(position) {
    const hand = this.#hand;
    if (position.over || !hand.mayMove) return "";
    if (hand.isEmpty) return t("nmbr9.hand.choose");
    return hand.anchor === null ? t("nmbr9.hand.place") : placeText(hand);
  }
}

/** The level and the points of the ghost, or why it does not fit. */
export function placeText(hand) {
  const reason = hand.reasonAt(hand.anchor);
  if (reason) return t(`nmbr9.reason.${reason}`);
  const { level } = hand.groundAt(hand.anchor);
  if (level === 0) return t("nmbr9.fitsTable");
  return t("nmbr9.fits", { level, points: t("nmbr9.points", { count: level * hand.digit }) });
}

const tool = (className, onclick) =>
  button({ class: `round ${className}`, onclick }, icon("turn"));

/** The variations of the game: the position at which each leaves it, and its moves. A click shows a move. */

import { button, element, keepingFocus, setAttribute } from "../elements.js";
import { t } from "../language.js";
import { moveDrawing } from "../moves.js";

export class Variations {
  #app;

  /** @param {import("../view.js").App} app */
  constructor(app) {
    this.#app = app;
    this.list = element("ul", {
      class: "variations",
      "data-role": "variations",
      onclick: (event) => this.#clicked(event),
    });
    this.title = element("h3", {});
    this.element = element("section", {}, this.title, this.list);
  }

  show() {
    const { session } = this.#app;
    const { variations } = session;
    this.element.hidden = variations.length === 0;
    this.title.textContent = t("analysis.variations");
    keepingFocus(this.list, () =>
      this.list.replaceChildren(...variations.map((variation, index) => this.#row(variation, index))),
    );
  }

  #row(variation, index) {
    const { session, view } = this.#app;
    const isShown = session.exploring && session.line === variation.line;
    const moves = variation.line.slice(variation.from).map((position) => {
      const move = button(
        {
          class: `variation-move player-${position.mover}`,
          "data-variation": index,
          "data-ply": position.ply,
        },
        moveDrawing(view, position),
      );
      setAttribute(move, "aria-current", isShown && session.ply === position.ply && "step");
      return move;
    });
    const from = element("span", { class: "variation-from" }, t("analysis.from", { ply: variation.from }));
    const row = element("li", {}, from, moves);
    row.classList.toggle("shown", isShown);
    return row;
  }

  #clicked(event) {
    const move = event.target.closest("[data-variation]");
    if (!move) return;
    const { session } = this.#app;
    session.revisit(session.variations[Number(move.dataset.variation)], Number(move.dataset.ply));
  }
}

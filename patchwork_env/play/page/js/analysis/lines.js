/**
 * The best moves with their expected continuations. Pointing at one draws it on the boards; a click plays it as
 * a variation.
 */

import { button, element } from "../elements.js";
import { language, t } from "../language.js";
import { moveDrawing } from "../moves.js";
import { isAlone } from "../players.js";
import { figureText, viewpoint } from "./wording.js";

const MOST_SHOWN = 5;
const MOST_WORDS = 8;
/** The most moves of a line that are drawn on the boards. */
const MOST_DRAWN = 4;

export class Lines {
  #app;
  #shown = [];

  /**
   * @param {import("../view.js").App} app
   * @param {(word: string) => void} onchoose called on a click
   */
  constructor(app, onchoose) {
    this.#app = app;
    this.element = element("ol", { class: "lines", "data-role": "lines" });
    const line = (event) => this.#shown[[...this.element.children].indexOf(event.target.closest("li"))];
    for (const event of ["pointerover", "focusin"])
      this.element.addEventListener(event, (happened) => this.#preview(line(happened)));
    for (const event of ["pointerleave", "focusout"])
      this.element.addEventListener(event, () => this.#preview(null));
    this.element.addEventListener("click", (event) => {
      const chosen = line(event);
      if (chosen) onchoose(chosen.word);
    });
  }

  /** @param {?import("../backend.js").Analysis} analysis of the position that is shown */
  show(analysis) {
    this.#shown = analysis && !this.#app.session.position.over ? analysis.lines.slice(0, MOST_SHOWN) : [];
    this.element.hidden = this.#shown.length === 0;
    this.element.setAttribute("aria-label", t("analysis.lines"));
    this.#fit();
    this.#shown.forEach((line, index) => this.#write(this.element.children[index], line));
  }

  /** Adds or removes rows at the end, so that the focus stays in its row. */
  #fit() {
    const { children } = this.element;
    while (children.length > this.#shown.length) children[children.length - 1].remove();
    while (children.length < this.#shown.length) {
      this.element.append(
        element(
          "li",
          {},
          button(
            { class: "line" },
            element("span", { class: "line-figure" }),
            element("span", { class: "line-moves", dir: "ltr" }),
          ),
        ),
      );
    }
  }

  #write(row, line) {
    const { session, view } = this.#app;
    const { position } = session;
    const [figure, moves] = row.firstChild.children;
    figure.textContent = figureText(isAlone(session) ? viewpoint(session) : position.player, line);
    row.classList.toggle("unsure", figure.textContent === "");
    figure.title = t("analysis.lineTitle", { count: line.visits });
    const shown = moversOf(line, position).slice(0, MOST_WORDS);
    const now = JSON.stringify([language(), session.notation, shown]);
    // A pressed element must stay, or its release would not be a click.
    if (moves.dataset.shown === now || moves.matches(":active")) return;
    moves.dataset.shown = now;
    moves.replaceChildren(
      ...shown.map(({ word, player }) => {
        const move = moveDrawing(view, notPlayed(position, word, player));
        if (player !== null) move.classList.add(`player-${player}`);
        return move;
      }),
    );
  }

  #preview(line) {
    const { view, session } = this.#app;
    if (line)
      view.preview(
        moversOf(line, session.position)
          .filter(({ player }) => player !== null)
          .slice(0, MOST_DRAWN),
      );
    else view.preview([]);
  }
}

/** The moves of a line with their players; null where the analysis does not give them. */
export function moversOf({ word, line = [word], movers = [] }, position) {
  return line.map((one, index) => ({
    word: one,
    player: index === 0 ? position.player : (movers[index] ?? null),
  }));
}

/** A position with a move that was not played, as `view.moveLabel` and `view.drawMove` take it. */
export const notPlayed = (position, word, player) => ({ ...position, word, mover: player, action: null });

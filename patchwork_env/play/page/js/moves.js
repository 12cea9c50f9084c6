/** The list of moves; a click goes to a move. */

import { button, element, setAttribute } from "./elements.js";
import { number, t } from "./language.js";

/** @param {import("./view.js").App} app */
export function mountMoves(app) {
  const list = document.querySelector('[data-role="moves"]');
  list.addEventListener("click", (event) => {
    const item = event.target.closest("[data-ply]");
    if (item) app.session.goto(Number(item.dataset.ply));
  });
  let drawn = "";
  new ResizeObserver(() => reveal(list)).observe(list);
  app.addEventListener("shown", () => {
    const { session, view } = app;
    const now = `${document.documentElement.lang} ${session.notationAt(session.line.length - 1)}`;
    if (now !== drawn) list.replaceChildren(...session.line.map((position) => moveItem(position, view)));
    drawn = now;
    for (const item of list.querySelectorAll("[data-ply]"))
      setAttribute(item, "aria-current", Number(item.dataset.ply) === session.ply && "step");
    reveal(list);
  });
}

/**
 * A move as a picture and its place, with words for screen readers and a tooltip in notation.
 * @param {import("./view.js").View} view
 * @param {import("./backend.js").Position} position as for `view.moveLabel`
 */
export function moveDrawing(view, position, words = view.moveLabel(position)) {
  const [picture, text] = view.drawMove(position);
  return element(
    "span",
    { class: "move-drawing", title: `${words}\n${position.word}` },
    element("span", { class: "move-picture", "aria-hidden": "true" }, picture),
    element("span", { class: "move-text", dir: "auto", "aria-hidden": "true" }, text),
    element("span", { class: "visually-hidden" }, words),
  );
}

function moveItem(position, view) {
  return element(
    "li",
    { class: position.mover === null ? "move" : `move player-${position.mover}` },
    button(
      { "data-ply": position.ply },
      element("span", { class: "ply", "aria-hidden": "true" }, position.word ? number(position.ply) : ""),
      position.word ? moveDrawing(view, position, view.describe(position)) : t("moves.start"),
    ),
  );
}

/** Scrolls the list to the current move; `scrollIntoView` would also scroll the page. */
function reveal(list) {
  const here = list.querySelector("[aria-current]");
  if (here) list.scrollTop = here.offsetTop - (list.clientHeight - here.offsetHeight) / 2;
}

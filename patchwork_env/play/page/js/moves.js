/** The list of the moves so far; a click goes there. */

import { element, setAttribute } from "./elements.js";
import { number, t } from "./language.js";

/** @param {import("./view.js").App} app */
export function mountMoves(app) {
  const list = document.querySelector('[data-role="moves"]');
  list.addEventListener("click", (event) => {
    const item = event.target.closest("[data-ply]");
    if (item) app.session.goto(Number(item.dataset.ply));
  });
  let drawn = "";
  app.addEventListener("shown", () => {
    const { session, view } = app;
    const now = `${document.documentElement.lang} ${session.notationAt(session.line.length - 1)}`;
    if (now !== drawn) list.replaceChildren(...session.line.map((position) => moveItem(position, view)));
    drawn = now;
    for (const item of list.querySelectorAll("[data-ply]")) mark(item, session.ply);
  });
}

function moveItem(position, view) {
  const label = position.word ? view.describe(position) : t("moves.start");
  const text = position.word ? view.moveLabel(position) : t("moves.start");
  return element(
    "li",
    { class: position.mover === null ? "move" : `move player-${position.mover}` },
    element(
      "button",
      { type: "button", "data-ply": position.ply, title: label },
      element("span", { class: "ply", "aria-hidden": "true" }, position.word ? number(position.ply) : ""),
      element("span", { class: "move-text", dir: "auto", "aria-hidden": "true" }, text),
      element("span", { class: "visually-hidden" }, label),
    ),
  );
}

function mark(item, ply) {
  const here = Number(item.dataset.ply) === ply;
  setAttribute(item, "aria-current", here && "step");
  const list = item.closest('[data-role="moves"]');
  if (here) list.scrollTop = item.offsetTop - list.clientHeight / 2;
}

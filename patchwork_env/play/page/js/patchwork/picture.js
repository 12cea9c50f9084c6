/** The table as one picture that needs no style sheet. */

import { svg } from "../elements.js";
import { number, t } from "../language.js";
import { copyOf, pictureOf } from "../pictures.js";
import { definitions } from "./fabric.js";
import { ring, WHOLE } from "./ring.js";

const SIDE = 560;
const TRACK = 520;
const GAP = 40;

/** @param {import("./table.js").Table} table */
export function picture(table) {
  const [width, height] = [2 * SIDE + TRACK + 4 * GAP, SIDE + 2 * GAP + 90];
  return pictureOf(
    width,
    height,
    definitions(),
    side(table, 0, GAP),
    track(table, 2 * GAP + SIDE, GAP + 60),
    side(table, 1, 3 * GAP + SIDE + TRACK),
  );
}

const part = (drawing, x, y, side, attributes = {}) =>
  copyOf(drawing, { x, y, width: side, height: side, ...attributes });

/** The track with the circle of patches around it. */
function track({ position, starting, components, track: { drawing } }, x, y) {
  const copy = part(drawing, x, y, TRACK, { viewBox: WHOLE });
  copy.prepend(...ring(position.state, starting, components.patches).flat());
  return copy;
}

/** A player's name, score, buttons and income above the quilt. */
function side({ position, plates, boards }, player, x) {
  const { scores, state } = position;
  const facts = [
    t("patchwork.has.buttons", { count: state.buttons[player] }),
    t("patchwork.has.income", { count: state.incomes[player] }),
  ];
  return svg(
    "g",
    { class: `player-${player}` },
    svg("circle", { class: "token-face", cx: x + 22, cy: GAP + 38, r: 15 }),
    svg("text", { class: "picture-name", x: x + 50, y: GAP + 50 }, plates[player].name.textContent),
    svg(
      "text",
      { class: "picture-score", x: x + SIDE, y: GAP + 50, "text-anchor": "end" },
      number(scores[player]),
    ),
    svg("text", { class: "picture-facts", x: x + 50, y: GAP + 78 }, facts.join(" · ")),
    part(boards[player].drawing, x, GAP + 90, SIDE),
  );
}

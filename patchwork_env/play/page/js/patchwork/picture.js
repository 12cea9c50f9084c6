/** The table as one picture that needs no style sheet: the drawings of the screen, with their styles written into them. */

import { svg } from "../elements.js";
import { independent } from "../pictures.js";
import { definitions } from "./fabric.js";

const SIDE = 560;
const TRACK = 520;
const GAP = 40;

/** @param {import("./table.js").Table} table */
export function picture(table) {
  const [width, height] = [2 * SIDE + TRACK + 4 * GAP, SIDE + 2 * GAP + 90];
  const drawn = svg("svg", { xmlns: "http://www.w3.org/2000/svg", viewBox: `0 0 ${width} ${height}`, width, height, class: "picture" },
    svg("rect", { width, height, class: "picture-ground" }),
    definitions(),
    caption(table, 0, GAP), caption(table, 1, 3 * GAP + SIDE + TRACK),
    part(table.quilts[0].drawing, GAP, GAP + 90, SIDE),
    part(table.track.drawing, 2 * GAP + SIDE, GAP + 60, TRACK),
    part(table.quilts[1].drawing, 3 * GAP + SIDE + TRACK, GAP + 90, SIDE));
  return independent(drawn);
}

function part(drawing, x, y, side) {
  const copy = drawing.cloneNode(true);
  for (const [name, value] of Object.entries({ x, y, width: side, height: side })) copy.setAttribute(name, value);
  copy.querySelector(".ghosts")?.replaceChildren();
  return copy;
}

function caption(table, player, x) {
  const { scores, state } = table.position;
  const plate = table.plates[player];
  return svg("g", { class: `player-${player}` },
    svg("circle", { class: "token-face", cx: x + 22, cy: GAP + 40, r: 15 }),
    svg("text", { class: "picture-name", x: x + 50, y: GAP + 52 }, plate.name.textContent),
    svg("text", { class: "picture-score", x: x + SIDE, y: GAP + 52, "text-anchor": "end" }, `${scores[player]}`),
    svg("text", { class: "picture-facts", x: x + 50, y: GAP + 80 }, `${state.buttons[player]} ● +${state.incomes[player]}`));
}

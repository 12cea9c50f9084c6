/** The circle of patches around the track, in pictures of the table; on the screen it is the row of offers. */

import { svg } from "../elements.js";
import { CELL, pieceOfCloth } from "./fabric.js";
import { oriented } from "./pieces.js";

const RADIUS = 120;
const SCALE = 0.46;
/** The view box of the track with the circle around it. */
export const WHOLE = "-138 -138 276 276";

/**
 * @param {{circle: number[], offered: number[]}} state
 * @param {number[]} starting the circle at the start of the game
 * @param {object[]} patches
 */
export function ring({ circle, offered }, starting, patches) {
  const angleOf = (index) => (2 * Math.PI * (index + 0.5)) / starting.length - Math.PI / 2;
  const before = angleOf(circle.length ? starting.indexOf(circle[0]) - 0.5 : -0.5);
  const neutral = pawn();
  neutral.setAttribute("transform", at(before, RADIUS - 13));
  return [
    svg("circle", { class: "ring-line", r: RADIUS }),
    circle.map((patch) =>
      ringPatch(patch, patches[patch], angleOf(starting.indexOf(patch)), offered.includes(patch)),
    ),
    neutral,
  ];
}

const at = (angle, radius) => `translate(${Math.cos(angle) * radius} ${Math.sin(angle) * radius})`;

function ringPatch(patch, piece, angle, offered) {
  const shape = oriented(piece, 0);
  const cloth = pieceOfCloth(patch, shape);
  const upright = (angle * 180) / Math.PI + 90;
  const middle = `translate(${(-shape.width * CELL) / 2} ${(-shape.height * CELL) / 2})`;
  cloth.setAttribute("transform", `rotate(${upright}) scale(${SCALE * (offered ? 1.15 : 1)}) ${middle}`);
  return svg(
    "g",
    { class: "ring-patch", transform: at(angle, RADIUS) },
    offered && svg("circle", { class: "ring-spot", r: 14 }),
    cloth,
  );
}

/** The neutral token: a spool of thread. */
function pawn() {
  return svg(
    "g",
    { class: "pawn" },
    svg("path", { class: "pawn-wood", d: "M-4.5-5h9v2h-1.5v6h1.5v2h-9v-2h1.5v-6h-1.5z" }),
    svg("path", { class: "pawn-thread", d: "M-3-2.5h6M-3-.8h6M-3 .9h6M-3 2.5h6" }),
  );
}

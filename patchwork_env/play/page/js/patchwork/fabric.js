/** The cloth of the patches: eight hues and eight weaves; no two patches have the same pair. */

import { svg } from "../elements.js";
import { corners, inset, roundedPath } from "../outline.js";
import { SPECIAL_PATCH } from "./actions.js";

/** The side of a cell in units of the drawings. */
export const CELL = 10;
const HUES = 8;
const SHADES = 4;
const CORNER = 1.7;
const SEAM = 1.15;

/** The weaves: name, path in one cell, and style. */
const WEAVES = [
  ["gingham", "M0 0h5v10H0z M0 0h10v5H0z", "area"],
  ["dots", "M2.5 1.4a1.1 1.1 0 1 1-.01 0z M7.5 6.4a1.1 1.1 0 1 1-.01 0z", "solid"],
  ["stripes", "M-1 6 6-1 M-1 11 11-1 M4 11 11 4", "line"],
  ["pins", "M1.7 0v10 M5 0v10 M8.3 0v10", "fine"],
  ["crosses", "M1.4 2.5h2.2M2.5 1.4v2.2 M6.4 7.5h2.2M7.5 6.4v2.2", "fine"],
  ["plaid", "M3 0v10 M0 3h10 M8 0v10 M0 8h10", "plaid"],
  ["herringbone", "M0 1.5 2.5 4 5 1.5 7.5 4 10 1.5 M0 6.5 2.5 9 5 6.5 7.5 9 10 6.5", "fine"],
  [
    "scales",
    "M0 0a2.5 2.5 0 0 0 5 0a2.5 2.5 0 0 0 5 0 M-2.5 5a2.5 2.5 0 0 0 5 0a2.5 2.5 0 0 0 5 0a2.5 2.5 0 0 0 5 0",
    "fine",
  ],
];

/** The hue, weave and shade of a patch; patches of one hue differ in the others. */
function fabricOf(patch) {
  if (patch >= SPECIAL_PATCH) return { hue: "special", weave: 5, shade: 0 };
  const round = Math.floor(patch / HUES);
  return { hue: (patch * 5 + 2) % HUES, weave: (patch * 3 + round) % WEAVES.length, shade: round % SHADES };
}

const patternId = ({ hue, weave }) => `weave-${weave}-${hue}`;

/** The patterns and gradients of pieces, needed once per document. */
export function definitions() {
  const fabrics = Array.from({ length: SPECIAL_PATCH + 1 }, (_, patch) => fabricOf(patch));
  return svg(
    "defs",
    {},
    svg(
      "linearGradient",
      { id: "sheen", x1: 0, y1: 0, x2: 1, y2: 1 },
      svg("stop", { offset: "0", "stop-color": "#fff", "stop-opacity": ".22" }),
      svg("stop", { offset: ".5", "stop-color": "#fff", "stop-opacity": "0" }),
      svg("stop", { offset: "1", "stop-color": "#1a1008", "stop-opacity": ".16" }),
    ),
    svg(
      "pattern",
      { id: "linen", width: 1, height: 1, patternUnits: "userSpaceOnUse" },
      svg("path", { d: "M0 .25h1 M.25 0v1", class: "linen" }),
    ),
    fabrics.map((fabric) =>
      svg(
        "pattern",
        { id: patternId(fabric), width: CELL, height: CELL, patternUnits: "userSpaceOnUse" },
        svg("path", {
          d: WEAVES[fabric.weave][1],
          class: `weave-${WEAVES[fabric.weave][2]} hue-${fabric.hue}`,
        }),
      ),
    ),
  );
}

/**
 * A piece of cloth with its seam and its buttons; cell (0, 0) is at the origin.
 * @param {number} patch
 * @param {{cells: number[][], buttons: number[][]}} shape
 */
export function pieceOfCloth(patch, { cells, buttons = [] }) {
  const fabric = fabricOf(patch);
  const points = corners(cells).map(([x, y]) => [x * CELL, y * CELL]);
  const outline = roundedPath(inset(points, 0.18), CORNER);
  return svg(
    "g",
    { class: "piece", "data-patch": patch },
    svg("path", { d: outline, class: `cloth hue-${fabric.hue}` }),
    svg("path", { d: outline, class: `shade-${fabric.shade}` }),
    svg("path", { d: outline, fill: `url(#${patternId(fabric)})` }),
    svg("path", { d: outline, fill: "url(#linen)" }),
    svg("path", { d: outline, fill: "url(#sheen)", class: "edge" }),
    svg("path", { d: roundedPath(inset(points, SEAM), CORNER * 0.6), class: "seam" }),
    buttons.map(([row, column]) => sewingButton((column + 0.5) * CELL, (row + 0.5) * CELL, CELL * 0.29)),
  );
}

/** A sewing button with four holes. */
export function sewingButton(x, y, radius) {
  const hole = radius * 0.34;
  const places = [[-1, -1], [1, -1], [-1, 1], [1, 1]];
  return svg(
    "g",
    { class: "sewing-button", transform: `translate(${x} ${y}) scale(${radius})` },
    svg("circle", { cx: 0.08, cy: 0.16, r: 1, class: "button-shadow" }),
    svg("circle", { r: 1, class: "button-face" }),
    svg("circle", { r: 0.72, class: "button-groove" }),
    places.map(([right, down]) =>
      svg("circle", {
        cx: (right * hole) / radius,
        cy: (down * hole) / radius,
        r: 0.15,
        class: "button-hole",
      }),
    ),
  );
}

/** A clock face, the sign for time. */
export function clock(x, y, radius) {
  return svg(
    "g",
    { class: "clock", transform: `translate(${x} ${y}) scale(${radius})` },
    svg("circle", { r: 0.92, class: "clock-face" }),
    svg("path", { d: "M0-.55V0l.38.26", class: "clock-hands" }),
  );
}

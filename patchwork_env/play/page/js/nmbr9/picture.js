/** All tables as one picture that needs no style sheet. */

import { svg } from "../elements.js";
import { copyOf, pictureOf } from "../pictures.js";

const SIDE = 640;
const GAP = 40;
const HEAD = 70;

/** @param {import("./table.js").Table} table */
export function picture({ boards, plates }) {
  const [width, height] = [boards.length * (SIDE + GAP) + GAP, SIDE + HEAD + 2 * GAP];
  return pictureOf(
    width,
    height,
    boards.map((board, player) => [
      caption(plates[player], player, left(player)),
      copyOf(board.drawing, { x: left(player), y: GAP + HEAD, width: SIDE, height: SIDE }),
    ]),
  );
}

const left = (player) => GAP + player * (SIDE + GAP);

function caption({ name, score }, player, x) {
  return svg(
    "g",
    { class: `player-${player}` },
    svg("circle", { class: "token-face", cx: x + 20, cy: GAP + 24, r: 15 }),
    svg("text", { class: "picture-name", x: x + 48, y: GAP + 36 }, name.textContent),
    svg(
      "text",
      { class: "picture-score", x: x + SIDE, y: GAP + 36, "text-anchor": "end" },
      score.dataset.value,
    ),
  );
}

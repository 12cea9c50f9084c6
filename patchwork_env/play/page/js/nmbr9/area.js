/** The visible part of a table: a square around the tiles. */

import { startOf } from "./actions.js";

const REACH = 4;
const EDGE = 1;
const LEAST = 12;

/**
 * The area of a player's table.
 * @param {import("../backend.js").Position} position
 * @param {number} player
 * @param {boolean} mayGrow whether the player can add tiles, which needs room on all sides
 * @returns {{top: number, left: number, rows: number, columns: number}}
 */
export function areaOf(position, player, mayGrow) {
  const cells = position.state.tables[player].flatMap((tile) => tile.cells);
  const covered = cells.length ? cells : [startOf(position)];
  const margin = mayGrow ? REACH : EDGE;
  const [rows, columns] = [0, 1].map((axis) => covered.map((cell) => cell[axis]));
  const [top, bottom] = extent(rows, margin);
  const [left, right] = extent(columns, margin);
  const side = Math.max(LEAST, bottom - top + 1, right - left + 1);
  return { top: centred(top, bottom, side), left: centred(left, right, side), rows: side, columns: side };
}

const extent = (values, margin) => [Math.min(...values) - margin, Math.max(...values) + margin];

const centred = (low, high, side) => low - Math.floor((side - (high - low + 1)) / 2);

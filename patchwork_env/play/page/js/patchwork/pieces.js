/** Shapes of patches: the cells of each orientation, and the cells with buttons. */

import { SIZE, SPECIAL_PATCH } from "./actions.js";

/**
 * A patch in an orientation: `orientation % 4` clockwise quarter turns, after a left-right flip from 4 on.
 * @returns {{cells: number[][], buttons: number[][], height: number, width: number}} `buttons`: the cells
 *   with one
 */
export function oriented({ cells, income = 0 }, orientation) {
  const turned = normalized(cells.map((cell) => turn(cell, orientation)));
  const first = cells.map((cell, index) => [cell, index]).sort(([a], [b]) => a[0] - b[0] || a[1] - b[1]);
  return {
    cells: turned,
    buttons: first.slice(0, income).map(([, index]) => turned[index]),
    height: 1 + Math.max(...turned.map(([row]) => row)),
    width: 1 + Math.max(...turned.map(([, column]) => column)),
  };
}

function turn([row, column], orientation) {
  let [r, c] = orientation >= 4 ? [row, -column] : [row, column];
  for (let quarter = 0; quarter < orientation % 4; quarter += 1) [r, c] = [c, -r];
  return [r, c];
}

function normalized(cells) {
  const top = Math.min(...cells.map(([row]) => row));
  const left = Math.min(...cells.map(([, column]) => column));
  return cells.map(([row, column]) => [row - top, column - left]);
}

/** A special patch as a piece. */
export const SPECIAL = { cells: [[0, 0]], income: 0 };

/**
 * The pieces on a quilt.
 * @param {number[]} layout the patch on each of the 81 cells; -1 for none
 * @param {object} components
 * @returns {{patch: number, row: number, column: number, cells: number[][], buttons: number[][]}[]}
 */
export function piecesOn(layout, components) {
  const cellsOf = new Map();
  layout.forEach((patch, cell) => {
    if (patch < 0) return;
    const key = patch >= SPECIAL_PATCH ? `${patch} ${cell}` : `${patch}`;
    if (!cellsOf.has(key)) cellsOf.set(key, { patch, cells: [] });
    cellsOf.get(key).cells.push([Math.floor(cell / SIZE), cell % SIZE]);
  });
  return [...cellsOf.values()].map(({ patch, cells }) => placed(patch, cells, components));
}

function placed(patch, cells, components) {
  const row = Math.min(...cells.map((cell) => cell[0]));
  const column = Math.min(...cells.map((cell) => cell[1]));
  const shape = components.patches[patch];
  const orientation = shape ? orientationOf(shape, textOf(normalized(cells))) : 0;
  return { patch, row, column, ...(shape ? oriented(shape, orientation) : { ...SPECIAL, buttons: [] }) };
}

function orientationOf(shape, text) {
  return shape.orientations.findIndex(
    ({ canonical }, index) => canonical === index && textOf(oriented(shape, index).cells) === text,
  );
}

const textOf = (cells) => cells.map(String).sort().join(" ");

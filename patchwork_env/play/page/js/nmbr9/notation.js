/**
 * The notation of NMBR 9: `7/3@-2,5` places tile 7 in orientation 3 with the top-left corner of its bounding
 * box two rows above and five columns right of that of the first tile; in free order `=7` chooses a tile.
 */

import { STRIDE, chooseAction, placeAction } from "./actions.js";

export const FORMAT = "nmbr9/1";
export const FIELDS = ["players", "order", "rounds", "deck"];
const PLACE = /^([0-9])\/([0-3])@(0|-?[1-9][0-9]?),(0|-?[1-9][0-9]?)$/;

/**
 * The word of a legal action.
 * @param {number} action
 * @param {?number} digit the digit of the tile to be placed
 * @param {?number[]} corner the row and column of the first tile on the table
 * @param {{place: number, choose: number}} encoding
 */
export function moveText(action, digit, corner, encoding) {
  if (action >= encoding.choose) return `=${action - encoding.choose}`;
  const anchor = (action - encoding.place) % (STRIDE * STRIDE);
  const orientation = Math.floor((action - encoding.place) / (STRIDE * STRIDE));
  const [row, column] = [Math.floor(anchor / STRIDE), anchor % STRIDE];
  const [top, left] = corner ?? [row, column];
  return `${digit}/${orientation}@${row - top},${column - left}`;
}

/**
 * The action of a word, legal or not; null if the word is invalid, places another tile, or is outside the table.
 * @param {(orientation: number) => number[]} middle the place of a first tile
 */
export function parseMove(text, digit, corner, encoding, middle) {
  const choice = /^=([0-9])$/.exec(text);
  if (choice) return chooseAction(encoding, Number(choice[1]));
  const [tile, orientation, down, right] = (PLACE.exec(text) ?? []).slice(1).map(Number);
  if (digit === null || tile !== digit) return null;
  const [top, left] = corner ?? middle(orientation);
  const [row, column] = [top + down, left + right];
  const isOnTable = row >= 0 && row < STRIDE && column >= 0 && column < STRIDE;
  return isOnTable ? placeAction(encoding, orientation, row * STRIDE + column) : null;
}

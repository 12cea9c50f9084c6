/**
 * The notation of NMBR 9: `7/3@-2,5` places tile 7 in orientation 3 with the top-left corner of its bounding
 * box two rows above and five columns right of that of the first tile; in free order `=7` chooses a tile.
 */

export const FORMAT = "nmbr9/1";
export const FIELDS = ["players", "order", "rounds", "deck"];
const SIZE = 64;

/** The orientation, row and column of an action that places a tile. */
export function placement(action) {
  const anchor = action % (SIZE * SIZE);
  return {
    orientation: Math.floor(action / (SIZE * SIZE)),
    row: Math.floor(anchor / SIZE),
    column: anchor % SIZE,
  };
}

/**
 * The word of a legal action.
 * @param {number} action
 * @param {?number} digit the digit of the tile to be placed
 * @param {?number[]} corner the row and column of the first tile on the table
 * @param {{choose: number}} encoding
 */
export function moveText(action, digit, corner, encoding) {
  if (action >= encoding.choose) return `=${action - encoding.choose}`;
  const { orientation, row, column } = placement(action);
  const [top, left] = corner ?? [row, column];
  return `${digit}/${orientation}@${row - top},${column - left}`;
}

/**
 * The action of a word, which may still be illegal; null if the word is none, places another tile, or lies
 * beyond the table.
 * @param {(orientation: number) => number[]} middle the place of a first tile
 */
export function parseMove(text, digit, corner, encoding, middle) {
  const choice = /^=([0-9])$/.exec(text);
  if (choice) return encoding.choose + Number(choice[1]);
  const place = /^([0-9])\/([0-3])@(0|-?[1-9][0-9]?),(0|-?[1-9][0-9]?)$/.exec(text);
  if (!place || digit === null || Number(place[1]) !== digit) return null;
  const orientation = Number(place[2]);
  const [top, left] = corner ?? middle(orientation);
  const [row, column] = [top + Number(place[3]), left + Number(place[4])];
  const isOnTable = row >= 0 && row < SIZE && column >= 0 && column < SIZE;
  return isOnTable ? (orientation * SIZE + row) * SIZE + column : null;
}

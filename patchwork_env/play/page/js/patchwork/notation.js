/**
 * The notation of Patchwork: `+` advances; `12/3@d5` buys patch 12 and places it in orientation 3 with the
 * top-left corner of its bounding box in column d, row 5; `*d5` places a special patch.
 */

export const FORMAT = "patchwork/1";
export const FIELDS = ["variant", "first", "circle"];
const COLUMNS = "abcdefghi";
const SIZE = COLUMNS.length;
const ORIENTATIONS = 8;

/**
 * The parts of an action that buys a patch.
 * @param {number} action
 * @param {{buy: number}} encoding
 */
export function placement(action, encoding) {
  const place = action - encoding.buy;
  const anchor = place % (SIZE * SIZE);
  return {
    slot: Math.floor(place / (ORIENTATIONS * SIZE * SIZE)),
    orientation: Math.floor(place / (SIZE * SIZE)) % ORIENTATIONS,
    row: Math.floor(anchor / SIZE),
    column: anchor % SIZE,
  };
}

/**
 * The word of a legal action.
 * @param {number} action
 * @param {number[]} offered the patches that may be bought
 * @param {{advance: number, buy: number, special: number}} encoding
 */
export function moveText(action, offered, encoding) {
  if (action === encoding.advance) return "+";
  if (action >= encoding.special) {
    const cell = action - encoding.special;
    return `*${cellText(Math.floor(cell / SIZE), cell % SIZE)}`;
  }
  const { slot, orientation, row, column } = placement(action, encoding);
  return `${offered[slot]}/${orientation}@${cellText(row, column)}`;
}

/** The action of a word, which may still be illegal; null if the word is none or buys what is not offered. */
export function parseMove(text, offered, encoding) {
  if (text === "+") return encoding.advance;
  const special = /^\*([a-i])([1-9])$/.exec(text);
  if (special) return encoding.special + cellOf(special[1], special[2]);
  const buy = /^([0-9]{1,9})\/([0-7])@([a-i])([1-9])$/.exec(text);
  const slot = buy ? offered.indexOf(Number(buy[1])) : -1;
  if (slot < 0) return null;
  return encoding.buy + (slot * ORIENTATIONS + Number(buy[2])) * SIZE * SIZE + cellOf(buy[3], buy[4]);
}

const cellText = (row, column) => `${COLUMNS[column]}${row + 1}`;

const cellOf = (column, row) => (Number(row) - 1) * SIZE + COLUMNS.indexOf(column);

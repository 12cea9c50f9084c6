/** Actions and words of Patchwork: decoding and encoding. */

/** The rows and columns of a quilt; anchors are `row * SIZE + column`. */
export const SIZE = 9;
const CELLS = SIZE * SIZE;
const ORIENTATIONS = 8;
const COLUMNS = "abcdefghi";
const BUY = /^(\d+)\/([0-7])@([a-i])([1-9])$/;
const SPECIAL = /^\*([a-i])([1-9])$/;

/** The number of a special patch in quilts. */
export const SPECIAL_PATCH = 33;

/**
 * The legal actions of a position by kind.
 * @returns {{advance: boolean, special: Set<number>, buys: Map<number, Set<number>>[]}} for each slot of the
 *   offer the anchors (`9 * row + column`) that fit, by canonical orientation
 */
export function choicesOf(position, encoding) {
  const choices = { advance: false, special: new Set(), buys: [new Map(), new Map(), new Map()] };
  for (const action of position.legal) {
    if (action === encoding.advance) choices.advance = true;
    else if (action >= encoding.special) choices.special.add(action - encoding.special);
    else addBuy(choices.buys, placementOf(action, encoding));
  }
  return choices;
}

function addBuy(buys, { slot, orientation, anchor }) {
  const anchors = buys[slot];
  if (!anchors.has(orientation)) anchors.set(orientation, new Set());
  anchors.get(orientation).add(anchor);
}

/** Decodes a purchase: slot, orientation and anchor. */
export function placementOf(action, encoding) {
  const index = action - encoding.buy;
  const orientation = Math.floor(index / CELLS) % ORIENTATIONS;
  return { slot: Math.floor(index / (CELLS * ORIENTATIONS)), orientation, anchor: index % CELLS };
}

/** The action that buys from a slot and places in a canonical orientation at an anchor. */
export const buyAction = (encoding, slot, orientation, anchor) =>
  encoding.buy + (slot * ORIENTATIONS + orientation) * CELLS + anchor;

/**
 * Decodes a word.
 * @returns {{kind: "advance"}|{kind: "special", anchor: number}|{kind: "buy", patch: number, orientation:
 *   number, anchor: number}}
 */
export function parseWord(word) {
  const buy = BUY.exec(word);
  if (buy)
    return {
      kind: "buy",
      patch: Number(buy[1]),
      orientation: Number(buy[2]),
      anchor: anchorOf(buy[3], buy[4]),
    };
  const special = SPECIAL.exec(word);
  return special ? { kind: "special", anchor: anchorOf(special[1], special[2]) } : { kind: "advance" };
}

const anchorOf = (column, row) => (Number(row) - 1) * SIZE + COLUMNS.indexOf(column);

/** The name of a cell: column a-i from the left, row 1-9 from the top. */
export const cellName = (anchor) => `${COLUMNS[anchor % SIZE]}${Math.floor(anchor / SIZE) + 1}`;

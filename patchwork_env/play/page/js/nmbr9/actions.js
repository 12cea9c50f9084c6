/** Actions and words of NMBR 9: decoding and encoding. */

const PLACE = /^(\d)\/([0-3])@(-?\d+),(-?\d+)$/;

/** The number of rows, and of columns, that anchors may have: `64 * row + column`. */
export const STRIDE = 64;
const ANCHORS = STRIDE * STRIDE;

/**
 * The legal actions of a position by kind.
 * @param {number[]} legal
 * @param {{place: number, choose: number}} encoding
 * @returns {{digits: Set<number>, places: Map<number, Set<number>>}} the digits that may be chosen, and
 *   the anchors that fit, by canonical orientation
 */
export function choicesOf(legal, encoding) {
  const choices = { digits: new Set(), places: new Map() };
  for (const action of legal) {
    if (action >= encoding.choose) choices.digits.add(action - encoding.choose);
    else addPlace(choices.places, action - encoding.place);
  }
  return choices;
}

function addPlace(places, index) {
  const orientation = Math.floor(index / ANCHORS);
  if (!places.has(orientation)) places.set(orientation, new Set());
  places.get(orientation).add(index % ANCHORS);
}

export const placeAction = (encoding, orientation, anchor) => encoding.place + orientation * ANCHORS + anchor;

export const chooseAction = (encoding, digit) => encoding.choose + digit;

/**
 * Decodes a word; rows and columns count from the first tile of the table.
 * @returns {{kind: "choose", digit: number}|
 *   {kind: "place", digit: number, orientation: number, row: number, column: number}}
 */
export function parseWord(word) {
  if (word.startsWith("=")) return { kind: "choose", digit: Number(word.slice(1)) };
  const [digit, orientation, row, column] = PLACE.exec(word).slice(1).map(Number);
  return { kind: "place", digit, orientation, row, column };
}

/**
 * The placements of the moves of a line.
 * @param {import("../backend.js").Position} position
 * @param {string[]} words
 * @returns {{player: number, digit: number, orientation: number, row: number, column: number}[]} in the
 *   rows and columns of the position
 */
export function placementsOf(position, words) {
  const { tables, players } = position.state;
  const first = tables.map((tiles) => tiles[0] && [tiles[0].row, tiles[0].column]);
  const placements = [];
  let player = position.player ?? 0;
  for (const word of words) {
    const move = parseWord(word);
    if (move.kind === "place") {
      const [row, column] = (first[player] ??= startOf(position));
      placements.push({ ...move, player, row: row + move.row, column: column + move.column });
    }
    player = (player + 1) % players;
  }
  return placements;
}

/** The place of the first tile: that of a legal move, else the middle. */
export function startOf({ legal }) {
  const anchor = legal.length && legal[0] < 4 * ANCHORS ? legal[0] % ANCHORS : (ANCHORS + STRIDE) / 2;
  return [Math.floor(anchor / STRIDE), anchor % STRIDE];
}

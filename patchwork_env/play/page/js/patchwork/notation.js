/**
 * The notation of Patchwork: `+` advances; `12/3@d5` buys patch 12 and places it in orientation 3 with the
 * top-left corner of its bounding box in column d, row 5; `*d5` places a special patch.
 */

import { buyAction, cellName, parseWord, placementOf } from "./actions.js";

export const FORMAT = "patchwork/1";
export const FIELDS = ["variant", "first", "circle"];

/**
 * The word of a legal action.
 * @param {number} action
 * @param {number[]} offered the patches that may be bought
 * @param {{advance: number, buy: number, special: number}} encoding
 */
export function moveText(action, offered, encoding) {
  if (action === encoding.advance) return "+";
  if (action >= encoding.special) return `*${cellName(action - encoding.special)}`;
  const { slot, orientation, anchor } = placementOf(action, encoding);
  return `${offered[slot]}/${orientation}@${cellName(anchor)}`;
}

/** The action of a word, legal or not; null if the word is invalid or buys a patch that is not offered. */
export function parseMove(text, offered, encoding) {
  if (text === "+") return encoding.advance;
  const { kind, patch, orientation, anchor } = parseWord(text);
  if (kind === "special") return encoding.special + anchor;
  const slot = kind === "buy" ? offered.indexOf(patch) : -1;
  return slot < 0 ? null : buyAction(encoding, slot, orientation, anchor);
}

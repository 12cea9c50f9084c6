/** Keyboard control of the table. */

import { anchorAt } from "../pointing.js";
import { STRIDE } from "./actions.js";
import { placeText } from "./hand_panel.js";

const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

/**
 * @param {import("./table.js").Table} table
 * @param {KeyboardEvent} event
 * @returns {boolean} whether the key was used
 */
export function handleKey(table, event) {
  if (event.key in ARROWS) return arrow(table, event);
  if (/^\d$/.test(event.key) && table.hand.digits.size) return (table.choose(Number(event.key)), true);
  return !table.hand.isEmpty && withTile(table, event);
}

function withTile(table, event) {
  const { hand } = table;
  switch (event.key) {
    case "r":
    case "R":
      hand.turn(event.shiftKey ? -1 : 1);
      break;
    case ".":
      hand.step(1);
      break;
    case ",":
      hand.step(-1);
      break;
    case "Escape":
      hand.aim(null);
      return true;
    case "Enter":
    case " ":
      if (event.target.closest("button, a") || hand.anchor === null) return false;
      table.place();
      return true;
    default:
      return false;
  }
  focusGhost(table);
  return true;
}

function arrow(table, event) {
  const [rows, columns] = ARROWS[event.key];
  const { hand } = table;
  const from = hand.isEmpty ? anchorAt(event.target, STRIDE) : hand.anchor;
  if (hand.isEmpty && from === null) return false;
  const board = hand.isEmpty ? table.boards[Number(event.target.dataset.player)] : table.board;
  const target = from === null ? (hand.best[0] ?? board.middle) : from + rows * STRIDE + columns;
  if (!board.cell(target)) return true;
  if (!hand.isEmpty) hand.aim(target);
  focusCell(board, target, hand.isEmpty ? "" : placeText(hand));
  return true;
}

/** Focuses the ghost, so that a screen reader announces its place and whether it fits. */
function focusGhost({ hand, board }) {
  if (hand.anchor !== null) focusCell(board, hand.anchor, placeText(hand));
}

function focusCell(board, anchor, note) {
  board.point(anchor, note);
  board.cell(anchor)?.focus({ preventScroll: true });
}

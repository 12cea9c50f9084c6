/** Keyboard control of the table. */

import { ARROWS, focusCell } from "../game_table.js";
import { anchorAt } from "../pointing.js";
import { STRIDE } from "./actions.js";

/**
 * @param {import("./table.js").Table} table
 * @param {{key: string, shiftKey: boolean, target: Element}} event
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
      if (event.target.closest("button, a, summary") || hand.anchor === null) return false;
      table.place();
      return true;
    default:
      return false;
  }
  table.focusGhost();
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
  focusCell(board, target, hand.isEmpty ? "" : table.placeText());
  return true;
}

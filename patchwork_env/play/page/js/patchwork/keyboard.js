/** Keyboard control of the table. */

import { ARROWS, focusCell } from "../game_table.js";
import { SIZE } from "./actions.js";

/**
 * @param {import("./table.js").Table} table
 * @param {{key: string, shiftKey: boolean, target: Element}} event
 * @returns {boolean} whether the key was used
 */
export function handleKey(table, event) {
  const { hand } = table;
  if (event.key in ARROWS) return arrow(table, event);
  if (/^[1-3]$/.test(event.key)) return take(table, Number(event.key) - 1);
  if (hand.isEmpty) return event.key === "a" && (table.advance(), true);
  return withPiece(table, event);
}

function withPiece(table, event) {
  const { hand } = table;
  const onControl = event.target.closest("button, a, summary") && !event.target.closest('[data-role="offer"]');
  switch (event.key) {
    case "r":
    case "R":
      hand.turn(event.shiftKey ? -1 : 1);
      break;
    case "f":
      hand.flip();
      break;
    case "Escape":
      hand.putBack();
      return true;
    case "a":
      table.advance();
      return true;
    case "Enter":
    case " ":
      if (onControl || hand.anchor === null) return false;
      table.place();
      return true;
    default:
      return false;
  }
  table.focusGhost();
  return true;
}

function take(table, slot) {
  const card = table.offers.cards.children[slot];
  if (!card) return false;
  if (table.hand.slot === slot || !table.hand.canTake(slot)) card.click();
  else if (table.hand.take(slot)) {
    table.hand.aim(table.hand.firstFit());
    table.focusGhost();
  }
  return true;
}

function arrow(table, event) {
  const [rows, columns] = ARROWS[event.key];
  if (!table.hand.isEmpty) {
    table.hand.nudge(rows, columns);
    table.focusGhost();
    return true;
  }
  const cell = event.target.closest?.('[data-role="cell"]');
  if (!cell) return false;
  const [row, column] = [Number(cell.dataset.row) + rows, Number(cell.dataset.column) + columns];
  if (row >= 0 && column >= 0 && row < SIZE && column < SIZE)
    focusCell(table.boards[Number(cell.dataset.player)], row * SIZE + column, "");
  return true;
}

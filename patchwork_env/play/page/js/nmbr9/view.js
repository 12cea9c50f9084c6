/** The view of NMBR 9. */

import { viewOf } from "../table_view.js";
import { Table } from "./table.js";
import * as words from "./words.js";

const ORDERS = ["unknown", "known", "free"];
const PLAYERS = ["1", "2", "3", "4"];

/** @type {import("../view.js").View} */
export const view = {
  numPlayers: ({ players = "1" }) => Number(players),
  setUp: [
    {
      name: "players",
      label: "nmbr9.setUp.players",
      initial: "1",
      options: PLAYERS.map((value) => ({ value, label: `nmbr9.setUp.tables.${value}` })),
      parse: Number,
    },
    {
      name: "order",
      label: "nmbr9.setUp.order",
      initial: "unknown",
      options: ORDERS.map((value) => ({ value, label: `nmbr9.setUp.orders.${value}` })),
    },
    { name: "deck", label: "nmbr9.setUp.deck", parse: (text) => text.split(/[\s,]+/).map(Number) },
  ],
  keys: [
    { key: "← ↑ ↓ →", text: "keys.move" },
    { key: ". ,", text: "nmbr9.keys.step" },
    { key: "r", text: "keys.turn" },
    { key: "Enter", text: "keys.place" },
    { key: "Esc", text: "keys.back" },
    { key: "0 … 9", text: "nmbr9.keys.choose" },
  ],
  ...viewOf(Table, words),
};

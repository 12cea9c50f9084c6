/** The view of Patchwork. */

import { viewOf } from "../table_view.js";
import { Table } from "./table.js";
import * as words from "./words.js";

/** @type {import("../view.js").View} */
export const view = {
  numPlayers: () => 2,
  setUp: [
    {
      name: "variant",
      label: "patchwork.setUp.variant",
      initial: "revised",
      options: [
        { value: "revised", label: "patchwork.setUp.revised" },
        { value: "2014", label: "patchwork.setUp.print2014" },
      ],
    },
    { name: "circle", label: "patchwork.setUp.circle", parse: (text) => text.split(/[\s,]+/).map(Number) },
  ],
  keys: [
    { key: "1 2 3", text: "keys.offer" },
    { key: "← ↑ ↓ →", text: "keys.move" },
    { key: "r", text: "keys.turn" },
    { key: "f", text: "keys.flip" },
    { key: "Enter", text: "keys.place" },
    { key: "Esc", text: "keys.back" },
    { key: "a", text: "keys.advance" },
  ],
  ...viewOf(Table, words),
};

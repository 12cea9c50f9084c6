/** The table of Patchwork: both quilts, the track with the circle of patches, the offers and the hand. */

import { Table } from "./table.js";
import { describe, moveLabel } from "./words.js";

let app = null;
let table = null;

/** @type {import("../view.js").View} */
export const view = {
  name: "patchwork",
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
  mount(root, page) {
    app = page;
    table = new Table(root, page);
  },
  unmount() {
    table.close();
    table = null;
  },
  show: (position, options) => table.show(position, options),
  preview: (words) => table.preview(words),
  key: (event) => table.key(event),
  describe: (position) => describe(app.session, position),
  moveLabel,
  picture: () => table.picture(),
};

/** The quilts, offers, track and hand of Patchwork. */

import { t } from "../language.js";

let root = null;

/** @type {import("../view.js").View} */
export const view = {
  name: "patchwork",
  setUp: [],
  keys: [],
  mount(element) {
    root = element;
  },
  unmount() {
    root.replaceChildren();
  },
  async show(position) {
    root.textContent = JSON.stringify(position.state);
  },
  preview() {},
  key: () => false,
  describe: (position) => position.word,
  moveLabel: (position) => position.word,
  playerName: (position) => view.nameOf(position.player),
  nameOf: (player) => t("players.number", { number: player + 1 }),
  picture: () => document.createElementNS("http://www.w3.org/2000/svg", "svg"),
};

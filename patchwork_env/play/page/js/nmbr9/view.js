/** The boards, tiles and hand of NMBR 9. */

let root = null;

/** @type {import("../view.js").View} */
export const view = {
  name: "nmbr9",
  setUp: [
    { name: "players", label: "nmbr9.players", initial: "1", parse: Number },
    { name: "order", label: "nmbr9.order", initial: "unknown" },
    { name: "deck", label: "nmbr9.deck", parse: (text) => text.split(/[\s,]+/).map(Number) },
  ],
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
  picture: () => document.createElementNS("http://www.w3.org/2000/svg", "svg"),
};

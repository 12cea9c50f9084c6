/** The time track, drawn as a spiral. */

import { element, svg } from "../elements.js";
import { number, t } from "../language.js";
import { pieceOfCloth, sewingButton } from "./fabric.js";
import { SPECIAL } from "./pieces.js";
import { SPECIAL_PATCH } from "./actions.js";
import { centreOf, spacePath } from "./spiral.js";

const TOKEN = 6.6;

export class Track {
  #components;
  #spaces = svg("g", { class: "spaces" });
  #specials = svg("g", { class: "specials" });
  #tokens = [0, 1].map((player) => token(player));
  #shown = [0, 0];

  constructor(components) {
    this.#components = components;
    this.drawing = svg(
      "svg",
      { class: "track-drawing", role: "img", viewBox: "-105 -105 210 210" },
      this.#spaces,
      this.#specials,
      [...this.#tokens].reverse(),
    );
    this.element = element("div", { class: "track", dir: "ltr" }, this.drawing);
    this.#drawSpaces();
  }

  #drawSpaces() {
    const { length, income_spaces: incomes } = this.#components.track;
    for (let space = 0; space <= length; space += 1) {
      const marks = incomes.includes(space);
      this.#spaces.append(
        svg("path", { d: spacePath(space), class: `space tone-${space % 2}${marks ? " income" : ""}` }),
      );
      if (!marks) continue;
      const [x, y] = centreOf(space);
      this.#spaces.append(sewingButton(x, y, space === length ? 9 : 5));
    }
  }

  /**
   * @param {object} position
   * @param {string[]} names of the players
   */
  show({ state, player }, names) {
    const listed = (spaces) => spaces.map((space) => number(space)).join(", ") || "–";
    this.drawing.setAttribute(
      "aria-label",
      t("patchwork.track", {
        first: names[0],
        firstSpace: state.positions[0],
        second: names[1],
        secondSpace: state.positions[1],
        incomes: listed(this.#components.track.income_spaces),
        specials: listed(state.special_spaces),
      }),
    );
    this.#specials.replaceChildren(...state.special_spaces.map((space) => specialAt(space)));
    this.#tokens.forEach((_, index) => this.place(index, state.positions[index]));
    this.#tokens[player]?.parentNode.append(this.#tokens[player]);
  }

  /** Puts a token on a space; two tokens on one space are side by side. */
  place(player, space) {
    this.#shown[player] = space;
    this.#tokens.forEach((drawn, index) => {
      const [x, y, angle] = centreOf(this.#shown[index]);
      const together = this.#shown[0] === this.#shown[1];
      const aside = together ? (index === 0 ? -1 : 1) * TOKEN * 0.75 : 0;
      drawn.setAttribute(
        "transform",
        `translate(${x + Math.cos(angle) * aside} ${y + Math.sin(angle) * aside})`,
      );
    });
  }
}

function token(player) {
  return svg(
    "g",
    { class: `token player-${player}` },
    svg("circle", { class: "token-shadow", cy: 1, r: TOKEN }),
    svg("circle", { class: "token-face", r: TOKEN }),
    player === 0
      ? svg("path", { class: "token-sign", d: "M-2.6 0h5.2M0-2.6v5.2" })
      : svg("circle", { class: "token-sign", r: 2.3 }),
  );
}

function specialAt(space) {
  const [x, y] = centreOf(space);
  const cloth = pieceOfCloth(SPECIAL_PATCH, { ...SPECIAL, buttons: [] });
  cloth.setAttribute("transform", `translate(${x} ${y}) scale(.95) translate(-5 -5)`);
  return cloth;
}

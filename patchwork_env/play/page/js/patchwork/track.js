/** The time track as a spiral of ribbon, with the circle of patches around it. */

import { element, svg } from "../elements.js";
import { t } from "../language.js";
import { pieceOfCloth, sewingButton, CELL } from "./fabric.js";
import { oriented, SPECIAL } from "./pieces.js";
import { SPECIAL_PATCH } from "./actions.js";
import { centreOf, spacePath } from "./spiral.js";

const RING = 120;
const RING_SCALE = 0.46;
const TOKEN = 6.6;
/** The view box of spiral and circle. */
export const WHOLE = "-138 -138 276 276";
const OFFERED = 3;
/** On phones the spiral stands alone, since the circle lies in a row below it. */
const PHONE = matchMedia("(max-width: 47.99rem)");

export class Track {
  #components;
  #spaces = svg("g", { class: "spaces" });
  #specials = svg("g", { class: "specials" });
  #ring = svg("g", { class: "ring" });
  #pawn = pawn();
  #tokens = [0, 1].map((player) => token(player));
  #shown = [0, 0];
  #circle = "";

  constructor(components) {
    this.#components = components;
    this.drawing = svg(
      "svg",
      { class: "track-drawing", role: "img" },
      this.#ring,
      this.#pawn,
      this.#spaces,
      this.#specials,
      [...this.#tokens].reverse(),
    );
    this.element = element("div", { class: "track", dir: "ltr" }, this.drawing);
    this.#drawSpaces();
    this.#crop();
    PHONE.onchange = () => this.#crop();
  }

  #crop() {
    this.drawing.setAttribute("viewBox", PHONE.matches ? "-105 -105 210 210" : WHOLE);
    for (const part of [this.#ring, this.#pawn]) part.style.display = PHONE.matches ? "none" : "";
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
   * @param {{names: string[], starting: number[]}} context `starting`: the circle at the start of the game
   */
  show({ state, player }, { names, starting }) {
    this.drawing.setAttribute(
      "aria-label",
      t("patchwork.track", {
        first: names[0],
        firstSpace: state.positions[0],
        second: names[1],
        secondSpace: state.positions[1],
      }),
    );
    this.#specials.replaceChildren(...state.special_spaces.map((space) => specialAt(space)));
    this.#drawRing(state, starting);
    this.#tokens.forEach((_, index) => this.place(index, state.positions[index]));
    this.#tokens[player]?.parentNode.append(this.#tokens[player]);
  }

  /** Puts a token on a space; two on the same space lie beside each other. */
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

  #drawRing({ circle, offered }, starting) {
    const now = String(circle);
    if (now === this.#circle) return;
    this.#circle = now;
    const angleOf = (index) => (2 * Math.PI * (index + 0.5)) / starting.length - Math.PI / 2;
    const places = new Map(starting.map((patch, index) => [patch, angleOf(index)]));
    this.#ring.replaceChildren(
      svg("circle", { class: "ring-line", r: RING }),
      ...circle.map((patch) =>
        this.#ringPatch(patch, places.get(patch) ?? 0, offered.slice(0, OFFERED).includes(patch)),
      ),
    );
    const first = circle.length ? starting.indexOf(circle[0]) : 0;
    const before = angleOf(first - 0.5);
    this.#pawn.setAttribute(
      "transform",
      `translate(${Math.cos(before) * (RING - 13)} ${Math.sin(before) * (RING - 13)})`,
    );
  }

  #ringPatch(patch, angle, offered) {
    const shape = oriented(this.#components.patches[patch], 0);
    const scale = RING_SCALE * (offered ? 1.15 : 1);
    const [x, y] = [Math.cos(angle) * RING, Math.sin(angle) * RING];
    const cloth = pieceOfCloth(patch, shape);
    const upright = (angle * 180) / Math.PI + 90;
    const middle = `translate(${(-shape.width * CELL) / 2} ${(-shape.height * CELL) / 2})`;
    cloth.setAttribute("transform", `rotate(${upright}) scale(${scale}) ${middle}`);
    return svg(
      "g",
      { class: `ring-patch${offered ? " offered" : ""}`, transform: `translate(${x} ${y})` },
      offered && svg("circle", { class: "ring-spot", r: 14 }),
      cloth,
    );
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

/** The neutral token: a spool of thread. */
function pawn() {
  return svg(
    "g",
    { class: "pawn" },
    svg("path", { class: "pawn-wood", d: "M-4.5-5h9v2h-1.5v6h1.5v2h-9v-2h1.5v-6h-1.5z" }),
    svg("path", { class: "pawn-thread", d: "M-3-2.5h6M-3-.8h6M-3 .9h6M-3 2.5h6" }),
  );
}

function specialAt(space) {
  const [x, y] = centreOf(space);
  const cloth = pieceOfCloth(SPECIAL_PATCH, { ...SPECIAL, buttons: [] });
  cloth.setAttribute("transform", `translate(${x} ${y}) scale(.95) translate(-5 -5)`);
  return cloth;
}

/** The plate of a player: name, score, buttons, income and the bonus tile. */

import { element, setAttribute, svg } from "../elements.js";
import { number, t } from "../language.js";
import { clock, sewingButton } from "./fabric.js";
import { sign } from "./offers.js";

export class Plate {
  constructor(player) {
    this.player = player;
    this.name = element("strong", { class: "plate-name", dir: "auto" });
    this.score = element("span", {
      class: "plate-score",
      "data-role": "score",
      "data-player": player,
      role: "img",
      dir: "ltr",
    });
    this.buttons = element("b");
    this.income = element("b");
    this.time = element("b");
    this.bonus = element("span", { class: "plate-bonus" }, `7×7`);
    this.element = element(
      "div",
      { class: `plate player-${player}` },
      element(
        "span",
        { class: "plate-head" },
        element("span", { class: "plate-token", "aria-hidden": "true" }),
        this.name,
        this.bonus,
        this.score,
      ),
      element(
        "span",
        { class: "plate-facts", dir: "ltr" },
        element("span", { "data-fact": "buttons", role: "img" }, sign(sewingButton(0, 0, 9)), this.buttons),
        element("span", { "data-fact": "income", role: "img" }, sign(incomeSign()), this.income),
        element("span", { "data-fact": "time", role: "img" }, sign(clock(0, 0, 9)), this.time),
      ),
    );
  }

  /**
   * @param {{name: string, track: number, bonus: number}} context the player's name, the last space of the track and the
   *   points of the bonus
   */
  show({ state, scores, player, over, winners }, { name, track, bonus }) {
    const mine = this.player;
    this.name.textContent = name;
    this.score.dataset.value = scores[mine];
    const hasBegun = over || state.quilts[mine].some((cell) => cell >= 0);
    this.score.textContent = hasBegun ? number(scores[mine]) : "–";
    this.score.title = t("patchwork.score");
    this.score.setAttribute("aria-label", t("patchwork.scoreOf", { player: name, score: scores[mine] }));
    this.#fact(
      "buttons",
      this.buttons,
      number(state.buttons[mine]),
      t("patchwork.has.buttons", { count: state.buttons[mine] }),
    );
    this.#fact(
      "income",
      this.income,
      `+${number(state.incomes[mine])}`,
      t("patchwork.has.income", { count: state.incomes[mine] }),
    );
    this.#fact(
      "time",
      this.time,
      number(track - state.positions[mine]),
      t("patchwork.has.time", { count: track - state.positions[mine] }),
    );
    this.bonus.hidden = state.bonus_owner !== mine;
    this.bonus.title = t("patchwork.bonus", { points: bonus });
    setAttribute(this.element, "data-to-move", !over && player === mine);
    setAttribute(this.element, "data-winner", over && winners.includes(mine));
  }

  /** Shows a number of buttons during an animation. */
  countButtons(buttons) {
    this.buttons.textContent = number(buttons);
  }

  #fact(name, value, text, title) {
    value.textContent = text;
    const fact = this.element.querySelector(`[data-fact="${name}"]`);
    fact.title = title;
    fact.setAttribute("aria-label", title);
  }
}

/** A button on a small piece of cloth, the sign for income. */
const incomeSign = () =>
  svg(
    "g",
    {},
    svg("rect", { class: "income-cloth", x: -9, y: -9, width: 18, height: 18, rx: 3 }),
    sewingButton(0, 0, 5.5),
  );

/** The plate of a player: name, score, and the points of each level. */

import { element, setAttribute } from "../elements.js";
import { number, t } from "../language.js";

export class Plate {
  constructor(player) {
    this.player = player;
    this.name = element("strong", { class: "plate-name", dir: "auto" });
    this.score = element("span", { class: "plate-score", "data-role": "score", "data-player": player });
    this.levels = element("span", { class: "plate-facts" });
    this.element = element(
      "div",
      { class: `plate player-${player}` },
      element(
        "span",
        { class: "plate-head" },
        element("span", { class: "plate-token", "aria-hidden": "true" }),
        this.name,
        this.score,
      ),
      this.levels,
    );
  }

  /** @param {{name: string}} context */
  show({ state, scores, player, over, winners }, { name }) {
    const score = scores[this.player];
    this.name.textContent = name;
    this.score.dataset.value = score;
    this.score.textContent = number(score);
    this.score.setAttribute("role", "img");
    this.score.setAttribute(
      "aria-label",
      t("nmbr9.scoreOf", { player: name, points: t("nmbr9.points", { count: score }) }),
    );
    this.levels.replaceChildren(...pointsByLevel(state.tables[this.player]).map(levelFact));
    setAttribute(this.element, "data-to-move", !over && player === this.player);
    setAttribute(
      this.element,
      "data-winner",
      over && winners.length < scores.length && winners.includes(this.player),
    );
  }
}

/** The points of each level, from level 1 up. */
function pointsByLevel(tiles) {
  const points = [];
  for (const { digit, level } of tiles)
    if (level > 0) points[level - 1] = (points[level - 1] ?? 0) + digit * level;
  return points;
}

function levelFact(points, index) {
  const level = index + 1;
  const text = t("nmbr9.levelPoints", { level, points: t("nmbr9.points", { count: points }) });
  return element(
    "span",
    { class: "plate-level", role: "img", title: text, "aria-label": text },
    element("span", { class: "level-sign" }, `×${number(level)}`),
    element("b", {}, number(points)),
  );
}

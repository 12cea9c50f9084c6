/** The evaluation bar: the win probability of each player. */

import { element } from "../elements.js";
import { t } from "../language.js";
import { evaluationOf } from "./review.js";
import { evaluationText, viewpoint } from "./wording.js";

export class Bar {
  /** @param {import("../view.js").App} app */
  constructor(app) {
    this.app = app;
    this.fill = element("span", { class: "evaluation-fill" });
    this.track = element(
      "div",
      { class: "evaluation-track", "aria-hidden": "true" },
      this.fill,
      element("span", { class: "evaluation-half" }),
    );
    this.text = element("strong", { class: "evaluation-text" });
    this.depth = element("span", { class: "evaluation-depth" });
    this.element = element(
      "div",
      { class: "evaluation", "data-role": "evaluation" },
      this.track,
      element("p", { class: "evaluation-words" }, this.text, this.depth),
    );
  }

  /**
   * @param {?import("../backend.js").Analysis} analysis of the position that is shown
   * @param {import("./search.js").Search} search
   */
  show(analysis, search) {
    const { session } = this.app;
    const evaluation = evaluationOf(session.position, analysis);
    const win = evaluation?.win ?? null;
    const { dataset } = this.element;
    if (win === null) delete dataset.win;
    else dataset.win = String(win);
    dataset.depth = String(evaluation?.depth ?? 0);
    dataset.searching = String(search.running);
    this.track.hidden = session.numPlayers === 1 || (win === null && evaluation !== null);
    this.element.classList.toggle("unknown", win === null);
    this.#fill(win);
    this.text.textContent = evaluationText(session, evaluation);
    this.depth.textContent = session.position.over ? "" : depthText(evaluation, search);
  }

  #fill(win) {
    const player = viewpoint(this.app.session);
    const share = win === null ? 0.5 : player === 0 ? win : 1 - win;
    this.track.className = `evaluation-track player-${player}`;
    this.track.dataset.other = String(1 - player);
    this.fill.style.inlineSize = `${(100 * share).toFixed(2)}%`;
  }
}

function depthText(evaluation, search) {
  if (search.message) return search.message;
  if (!evaluation) return search.running ? t("analysis.searching") : "";
  return evaluation.exact ? t("analysis.exact") : t("analysis.depth", { count: evaluation.depth });
}

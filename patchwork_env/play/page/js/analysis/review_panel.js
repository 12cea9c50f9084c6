/** The review of a game: accuracy and counts of the players, and the worst moves. */

import { button, element, keepingFocus, table } from "../elements.js";
import { errorText } from "../errors.js";
import { language, number, percent, t } from "../language.js";
import { moveDrawing } from "../moves.js";
import { nameOf } from "../players.js";
import { notPlayed } from "./lines.js";
import { NAMES, worst } from "./review.js";
import { MOVE_COLUMNS, SIGNS, columns, evaluationText, lossFigure, lossText } from "./wording.js";

const MOST_LISTED = 10;

/**
 * @typedef {object} Actions The actions of the buttons.
 * @property {(verdict: import("./review.js").Verdict) => void} show shows the position of a move, and draws
 *   the better move
 * @property {(verdict: import("./review.js").Verdict) => void} retry continues from there
 * @property {() => void} saveHtml
 * @property {() => void} saveText
 * @property {() => void} stop
 */

export class ReviewPanel {
  #app;
  #actions;
  #drawn = "";

  /**
   * @param {import("../view.js").App} app
   * @param {Actions} actions
   */
  constructor(app, actions) {
    this.#app = app;
    this.#actions = actions;
    this.progress = element("progress", { max: 1, value: 0 });
    this.waiting = element("div", { class: "review-progress" });
    this.body = element("div", { class: "review-body" });
    this.element = element(
      "section",
      { class: "review panel", "data-role": "review-result", hidden: true },
      this.waiting,
      this.body,
    );
  }

  /**
   * @param {ReturnType<typeof import("./review.js").review>} reviewed
   * @param {import("./reviewing.js").Reviewing} reviewing
   */
  show(reviewed, reviewing) {
    const { session } = this.#app;
    this.element.dataset.done = String(!reviewing.running && reviewing.error === null);
    this.#wait(reviewing);
    const now = JSON.stringify([
      language(),
      session.seats,
      session.mainNotation,
      reviewing.running,
      reviewed,
    ]);
    if (now === this.#drawn) return;
    this.#drawn = now;
    keepingFocus(this.body, () => this.#draw(reviewed, reviewing));
  }

  #draw(reviewed, reviewing) {
    const open = this.body.querySelector("details")?.open ?? false;
    this.body.replaceChildren(
      this.#players(reviewed),
      this.#list(reviewed, reviewing),
      this.#table(reviewed, open),
      this.#tools(reviewing),
    );
  }

  #wait({ running, done, total, error }) {
    this.waiting.hidden = !running && !error;
    if (this.waiting.hidden) return;
    this.progress.max = Math.max(1, total);
    this.progress.value = done;
    const text = error ? errorText(error) : t("review.progress", { done, total });
    this.progress.setAttribute("aria-label", text);
    const stop = running && button({ class: "quiet", onclick: () => this.#actions.stop() }, t("review.stop"));
    this.waiting.replaceChildren(
      ...[element("span", {}, text), running && this.progress, stop].filter(Boolean),
    );
  }

  #players({ players }) {
    const { session } = this.#app;
    return element(
      "div",
      { class: "review-players" },
      players.map((side, player) =>
        element(
          "div",
          {
            class: `review-player player-${player}`,
            "data-player": player,
            "data-role": "accuracy",
            "data-value": side.accuracy?.toFixed(2),
          },
          element("span", { class: "review-name" }, nameOf(session, player, 1)),
          this.#mark(side),
          side.accuracy !== null &&
            element(
              "ul",
              { class: "review-counts" },
              Object.keys(NAMES).map((name) =>
                element(
                  "li",
                  { "data-name": name, "data-count": side.counts[name] },
                  element("span", { class: "sign", "aria-hidden": "true" }, SIGNS[name]),
                  t(`review.counts.${name}`, { count: side.counts[name] }),
                ),
              ),
            ),
        ),
      ),
    );
  }

  #mark({ accuracy, loss }) {
    if (accuracy !== null)
      return element(
        "strong",
        { class: "review-accuracy", title: t("review.accuracyHelp") },
        percent(accuracy / 100),
        element("small", {}, t("review.accuracy")),
      );
    if (loss !== null)
      return element(
        "strong",
        { class: "review-accuracy" },
        number(loss, { maximumFractionDigits: 2 }),
        element("small", {}, t("review.meanLoss")),
      );
    return element("strong", { class: "review-accuracy" }, "–");
  }

  #list(reviewed, reviewing) {
    const found = worst(reviewed).slice(0, MOST_LISTED);
    if (!found.length)
      return element("p", { class: "hint-text" }, reviewing.running ? "" : t("review.nothing"));
    return element(
      "ol",
      { class: "review-list", "data-role": "worst", "aria-label": t("review.worst") },
      found.map((verdict) => this.#item(verdict)),
    );
  }

  #item(verdict) {
    const { session, view } = this.#app;
    const { ply, player, name } = verdict;
    const move = (word) => moveDrawing(view, notPlayed(session.main[ply - 1], word, player));
    const told = [name && t(`review.names.${name}`), lossText(verdict)].filter(Boolean).join(", ");
    return element(
      "li",
      { class: `review-item player-${player}`, "data-name": name, "data-ply": ply },
      button(
        { class: "review-show", title: told, onclick: () => this.#actions.show(verdict) },
        element("span", { class: "sign", "aria-hidden": "true" }, name && SIGNS[name]),
        element(
          "span",
          { class: "review-played" },
          element("span", { class: "ply" }, number(ply)),
          " ",
          move(verdict.word),
        ),
        element("span", { class: "review-loss", "aria-label": told }, lossFigure(verdict)),
        element("span", { class: "review-better" }, t("review.better"), " ", move(verdict.best)),
      ),
      this.#canRetry(verdict) &&
        button(
          { class: "quiet review-retry", "data-role": "retry", onclick: () => this.#actions.retry(verdict) },
          t("review.retry"),
        ),
    );
  }

  /** Whether a move can be tried again: an agent would only repeat its move against a person. */
  #canRetry({ player }) {
    const { seats } = this.#app.session;
    return seats[player]?.kind === "person" || seats.every(({ kind }) => kind === "agent");
  }

  /** All moves with their figures, an accessible form of the graph. */
  #table({ evaluations, verdicts }, open) {
    const { session, view } = this.#app;
    const rows = verdicts.map((verdict) => [
      number(verdict.ply),
      nameOf(session, verdict.player, verdict.ply),
      moveDrawing(view, session.main[verdict.ply]),
      evaluationText(session, evaluations[verdict.ply]),
      verdict.name ? t(`review.names.${verdict.name}`) : "",
    ]);
    return element(
      "details",
      { class: "review-all", open },
      element("summary", {}, t("review.all")),
      element(
        "div",
        { class: "review-scroll", tabindex: "0", role: "region", "aria-label": t("review.all") },
        table(columns(MOVE_COLUMNS), rows),
      ),
    );
  }

  #tools({ running }) {
    if (running) return "";
    const saveButton = (key) =>
      button({ "data-role": key, onclick: () => this.#actions[key]() }, t(`review.${key}`));
    return element("div", { class: "review-tools" }, saveButton("saveHtml"), saveButton("saveText"));
  }
}

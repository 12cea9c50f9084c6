/** The analysis panel: bar, graph, lines, variations and review, all from the same analyses. */

import { button, element, setAttribute } from "../elements.js";
import { keptGame } from "../games.js";
import { t } from "../language.js";
import { isAlone } from "../players.js";
import { save } from "../share.js";
import { recall, remember } from "../storage.js";
import { Bar } from "./bar.js";
import { Graph } from "./graph.js";
import { KeptAnalyses } from "./kept.js";
import { Lines, notPlayed } from "./lines.js";
import { reportHtml, reportText } from "./report.js";
import { review } from "./review.js";
import { ReviewPanel } from "./review_panel.js";
import { Reviewing } from "./reviewing.js";
import { isAnalysed, Search } from "./search.js";
import { Variations } from "./variations.js";

const FIRST_SETTINGS = { evaluation: true, lines: false };
/** At the start of a game of a single person, and of games that cannot be analysed. */
const NO_HELP = { evaluation: false, lines: false };

/**
 * Builds the panel in `root`; it also handles the review button of the toolbar.
 * @param {HTMLElement} root
 * @param {import("../view.js").App} app
 */
export function mountAnalysis(root, app) {
  return new Panel(root, app);
}

class Panel {
  #app;
  #root;
  #kept;
  #afterwards = { ...FIRST_SETTINGS, ...recall("analysis") };
  #whilePlaying = { ...NO_HELP };
  #settings = this.#afterwards;
  #isReviewing = false;
  #drawing = 0;

  constructor(root, app) {
    this.#app = app;
    this.#root = root;
    this.#kept = app.analyses = new KeptAnalyses();
    app.review = () => this.#review(true);
    this.search = new Search(app, this.#kept);
    this.reviewing = new Reviewing(app, this.#kept);
    this.bar = new Bar(app);
    this.graph = new Graph(app);
    this.lines = new Lines(app, (word) => this.#explore(word));
    this.variations = new Variations(app);
    this.result = new ReviewPanel(app, {
      show: (verdict) => this.#lookAt(verdict),
      retry: (verdict) => this.#retry(verdict),
      saveHtml: () => this.#save(reportHtml, "html", "text/html"),
      saveText: () => this.#save(reportText, "txt", "text/plain"),
      stop: () => this.reviewing.stop(),
    });
    this.#build();
    this.#listen();
    this.#apply();
  }

  #build() {
    const toggle = (name) =>
      button(
        {
          class: "toggle",
          "data-role": `show-${name}`,
          "data-t": `analysis.show.${name}`,
          onclick: () => this.#toggle(name),
        },
        t(`analysis.show.${name}`),
      );
    this.toggles = { evaluation: toggle("evaluation"), lines: toggle("lines") };
    this.exploreButton = button(
      {
        class: "quiet",
        "data-role": "explore",
        "data-t": "analysis.explore",
        onclick: () => this.#app.session.explore(),
      },
      t("analysis.explore"),
    );
    this.reviewButton = document.querySelector('[data-role="review"]');
    this.#root.classList.add("panel", "analysis");
    this.#root.append(
      element(
        "header",
        { class: "analysis-head" },
        element("h2", { "data-t": "page.analysis" }, t("page.analysis")),
        element("div", { class: "toggles" }, Object.values(this.toggles)),
      ),
      this.bar.element,
      this.graph.element,
      this.lines.element,
      element("div", { class: "analysis-tools" }, this.exploreButton),
      this.variations.element,
    );
    this.#root.after(this.result.element);
  }

  #listen() {
    const { session } = this.#app;
    for (const source of [this.#kept, this.search, this.reviewing])
      source.addEventListener("change", () => this.#draw());
    this.#app.addEventListener("shown", () => {
      this.#choose();
      this.#draw();
      if (this.#isReviewing && !this.reviewing.running && this.reviewing.isBehind) this.reviewing.run();
    });
    session.addEventListener("open", () => {
      Object.assign(this.#whilePlaying, NO_HELP);
      this.#review(false);
    });
    this.reviewing.addEventListener("change", () => this.search.hold(this.reviewing.running));
    this.reviewButton.addEventListener("click", () => this.#review(!this.#isReviewing));
  }

  #toggle(name) {
    this.#settings[name] = !this.#settings[name];
    remember("analysis", this.#afterwards);
    this.#apply();
  }

  /** Chooses the settings: those of a single person during a game hold for this game only. */
  #choose() {
    const { session, choices } = this.#app;
    const isPlaying = isAlone(session) && !session.main.at(-1).over;
    const settings = !isAnalysed(choices) ? NO_HELP : isPlaying ? this.#whilePlaying : this.#afterwards;
    if (settings === this.#settings) return;
    this.#settings = settings;
    this.#apply();
  }

  #apply() {
    const { evaluation, lines } = this.#settings;
    this.#app.session.analysing = lines || this.#isReviewing;
    setAttribute(this.#root, "data-looking", lines || this.#isReviewing);
    for (const [name, button] of Object.entries(this.toggles)) {
      button.hidden = this.#settings === NO_HELP;
      button.setAttribute("aria-pressed", String(this.#settings[name]));
    }
    this.search.set(lines ? "deep" : evaluation || this.#isReviewing ? "quick" : "none");
    this.#draw();
  }

  async #review(wanted) {
    this.#isReviewing = wanted;
    this.#apply();
    if (!wanted) return this.reviewing.stop();
    this.result.element.scrollIntoView({ block: "nearest", behavior: "smooth" });
    if (await this.reviewing.run()) this.#app.announce(t("review.done"));
    return undefined;
  }

  /** The review of the game, from the analyses so far. */
  get #reviewed() {
    const { session } = this.#app;
    return review(
      session.main,
      session.main.map(({ ply }) => this.#kept.of(session.mainNotationAt(ply))),
    );
  }

  /** Draws once per frame. */
  #draw() {
    if (!this.#drawing) this.#drawing = requestAnimationFrame(() => this.#drawNow());
  }

  #drawNow() {
    this.#drawing = 0;
    const { session, view, choices } = this.#app;
    if (!session.position || !view) return;
    const { evaluation, lines } = this.#settings;
    const analysis = this.#kept.of(session.notation);
    const reviewed = this.#reviewed;
    this.bar.element.hidden = !evaluation && !lines && !this.#isReviewing;
    this.bar.show(analysis, this.search);
    this.graph.show(reviewed, this.#mainPly);
    if (this.bar.element.hidden) this.graph.element.hidden = true;
    this.lines.show(lines ? analysis : null);
    this.exploreButton.hidden = (!lines && !this.#isReviewing) || session.exploring || session.position.over;
    this.variations.show();
    this.result.element.hidden = !this.#isReviewing;
    if (this.#isReviewing) this.result.show(reviewed, this.reviewing);
    setAttribute(this.reviewButton, "aria-pressed", String(this.#isReviewing));
    this.reviewButton.disabled = session.main.length < 2 || !isAnalysed(choices);
    this.#markMoves(reviewed);
  }

  /** The position of the game that is shown, or at which a variation left it. */
  get #mainPly() {
    const { session } = this.#app;
    const left = session.line.findIndex(({ word }, ply) => word !== session.main[ply]?.word);
    return left < 0 ? session.ply : Math.min(session.ply, left - 1);
  }

  /** Marks the bad moves in the list of moves. */
  #markMoves({ verdicts }) {
    const { session } = this.#app;
    for (const item of document.querySelectorAll('[data-role="moves"] [data-ply]')) {
      const ply = Number(item.dataset.ply);
      const isOfGame = this.#isReviewing && session.line[ply]?.word === session.main[ply]?.word;
      setAttribute(item, "data-name", isOfGame ? verdicts[ply - 1]?.name : null);
    }
  }

  async #explore(word) {
    const { session } = this.#app;
    session.explore();
    await this.#app.play(word);
  }

  async #lookAt(verdict) {
    const { session, view } = this.#app;
    if (session.exploring) session.leave(verdict.ply - 1);
    else session.goto(verdict.ply - 1);
    await this.#app.atRest();
    document
      .querySelector(`.player-${verdict.player} [data-role="cell"]`)
      ?.scrollIntoView({ block: "nearest", behavior: "smooth" });
    view.preview([verdict.best]);
    const move = view.moveLabel(notPlayed(session.main[verdict.ply - 1], verdict.best, verdict.player));
    this.#app.announce(t("review.betterMove", { move }));
  }

  /**
   * Puts the position before a move on the table, to continue against the same opponent. A notice leads back
   * to the old game.
   */
  async #retry({ ply }) {
    const app = this.#app;
    const { session, id, choices } = app;
    const { foreign } = session;
    try {
      await app.open(choices, { lines: [session.mainNotationAt(ply - 1)], foreign });
    } catch (error) {
      app.fail(error);
      return;
    }
    const goBack = async () => {
      await app.openKept({ ...keptGame(id), ply });
      this.#review(true);
    };
    const text = t(isAlone(session) ? "review.retrying" : "review.playingOn");
    const run = () => goBack().catch((error) => app.fail(error));
    app.notify({ text, action: { text: t("review.oldGame"), run } });
  }

  #save(report, ending, type) {
    const { session } = this.#app;
    save(
      new Blob([report(this.#app, this.#reviewed)], { type: `${type};charset=utf-8` }),
      `${session.game}-review.${ending}`,
    );
  }
}

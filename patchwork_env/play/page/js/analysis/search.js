/**
 * Searches the position on the screen: briefly for the bar, or continuously for the lines. It stops when another
 * position is shown, when the page is hidden, and during a review.
 */

import { isAbort } from "../backend.js";
import { errorText } from "../errors.js";
import { plays } from "../players.js";
import { progressText } from "../turns.js";

/** The agents of brief searches, whose figures are reproducible. */
export const QUICK = Object.freeze({ patchwork: "champion:fast", nmbr9: "nmbr9_champion:fast" });
/** Whether positions of a game with these choices can be analysed. */
export const isAnalysed = ({ game, order }) => plays(QUICK[game], order);
/** The number of lines to request; in NMBR 9 enough to include most moves that are played. */
export const LINES = Object.freeze({ patchwork: 5, nmbr9: 50 });
/** The delay before a search, so that browsing does not start one for every position. */
const DELAY_MILLISECONDS = 120;
const DELAY_WHILE_AGENTS_THINK = 900;

export class Search extends EventTarget {
  #app;
  #kept;
  #running = null;
  #timer = 0;
  #finished = new Set();

  /**
   * @param {import("../view.js").App} app
   * @param {import("./kept.js").KeptAnalyses} kept
   */
  constructor(app, kept) {
    super();
    this.#app = app;
    this.#kept = kept;
    /** "none", "quick" or "deep". */
    this.mode = "none";
    this.held = false;
    /** The reason for a wait or a failure; else empty. */
    this.message = "";
    app.addEventListener("shown", () => this.follow());
    document.addEventListener("visibilitychange", () => this.follow());
  }

  get running() {
    return this.#running !== null;
  }

  /** @param {"none"|"quick"|"deep"} mode */
  set(mode) {
    this.mode = mode;
    this.#stop();
    this.follow();
  }

  /** Pauses while a review needs the processor. @param {boolean} held */
  hold(held) {
    this.held = held;
    this.follow();
  }

  /** Searches the position that is shown, if wanted and not done yet. */
  follow() {
    const { session } = this.#app;
    const notation = session.position ? session.notation : null;
    if (this.#running?.notation === notation && this.#isWanted(notation)) return;
    this.#stop();
    this.message = "";
    if (this.#isWanted(notation)) {
      const delay = session.agentToMove ? DELAY_WHILE_AGENTS_THINK : DELAY_MILLISECONDS;
      this.#timer = setTimeout(() => this.#search(notation), delay);
    }
    this.#tell();
  }

  #isWanted(notation) {
    if (this.mode === "none" || this.held || document.hidden || !notation || this.#app.session.position.over)
      return false;
    return this.mode === "deep" ? !this.#finished.has(notation) : !this.#kept.of(notation)?.done;
  }

  #stop() {
    clearTimeout(this.#timer);
    this.#running?.stopping.abort();
    this.#running = null;
  }

  async #search(notation) {
    const stopping = new AbortController();
    const { signal } = stopping;
    const running = (this.#running = { notation, stopping });
    const isQuick = this.mode === "quick";
    const { session, backend } = this.#app;
    const onanalysis = (analysis) => {
      if (signal.aborted) return;
      this.message = "";
      this.#kept.keep(notation, analysis);
      this.#tell();
    };
    const onprogress = (progress) => this.#say(progressText(progress), signal);
    try {
      await this.#app.atRest();
      this.#tell();
      await backend.analyse(notation, {
        agent: isQuick ? QUICK[session.game] : undefined,
        lines: LINES[session.game],
        signal,
        onanalysis,
        onprogress,
      });
      if (!signal.aborted && !isQuick) this.#finished.add(notation);
    } catch (error) {
      if (!isAbort(error)) this.#say(errorText(error), signal);
    }
    if (this.#running === running) this.#running = null;
    this.#tell();
  }

  #say(message, signal) {
    if (signal.aborted) return;
    this.message = message;
    this.#tell();
  }

  #tell() {
    this.dispatchEvent(new Event("change"));
  }
}

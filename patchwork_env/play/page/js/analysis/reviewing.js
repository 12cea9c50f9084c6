/** Analyses all positions of a game for a review. */

import { isAbort } from "../backend.js";
import { LINES, QUICK } from "./search.js";

/** Fires "change" at every step: `done` of `total` positions, and `error` after a failure. */
export class Reviewing extends EventTarget {
  #app;
  #kept;
  #stopping = null;
  #notation = "";

  /**
   * @param {import("../view.js").App} app
   * @param {import("./kept.js").KeptAnalyses} kept
   */
  constructor(app, kept) {
    super();
    this.#app = app;
    this.#kept = kept;
    this.done = 0;
    this.total = 0;
    this.error = null;
    app.session.addEventListener("open", () => this.stop());
  }

  get running() {
    return this.#stopping !== null;
  }

  /** Whether the game has other moves than in the last run. */
  get isBehind() {
    return this.error === null && this.#app.session.mainNotation !== this.#notation;
  }

  stop() {
    this.#stopping?.abort();
    this.#stopping = null;
    this.#tell();
  }

  /** Analyses the positions without an analysis. @returns {Promise<boolean>} whether all have one now */
  async run() {
    this.stop();
    const { session } = this.#app;
    const { signal } = (this.#stopping = new AbortController());
    this.#notation = session.mainNotation;
    const plies = session.main.filter(({ over }) => !over).map(({ ply }) => ply);
    Object.assign(this, { done: 0, total: plies.length, error: null });
    try {
      for (const ply of plies) {
        this.#tell();
        await this.#analyse(session.mainNotationAt(ply), signal);
        if (signal.aborted) return false;
        this.done += 1;
      }
    } catch (error) {
      if (signal.aborted || isAbort(error)) return false;
      this.error = error;
    }
    this.#stopping = null;
    this.#tell();
    return this.error === null;
  }

  async #analyse(notation, signal) {
    const { backend, session } = this.#app;
    if (this.#kept.of(notation)?.done) return;
    const analysis = await backend.analyse(notation, {
      agent: QUICK[session.game],
      lines: LINES[session.game],
      signal,
    });
    if (!signal.aborted) this.#kept.keep(notation, analysis);
  }

  #tell() {
    this.dispatchEvent(new Event("change"));
  }
}

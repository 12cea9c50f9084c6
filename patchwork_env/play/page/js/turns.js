/** Asks agents for their moves, and shows their progress. */

import { isAbort } from "./backend.js";
import { reducedMotion } from "./elements.js";
import { hasText, t } from "./language.js";

/** The wait before another request to a server that does not answer. */
export const RETRY_MILLISECONDS = 2000;
const WATCHING_PAUSE = { slow: 1600, medium: 700, fast: 0 };

export class Turns extends EventTarget {
  #app;
  #asking = null;
  #notice = null;

  /** @param {import("./view.js").App} app */
  constructor(app) {
    super();
    this.#app = app;
    /** The speed of two agents who play each other: "slow", "medium" or "fast". */
    this.speed = "medium";
    this.paused = false;
    app.session.addEventListener("open", () => this.pause(false));
    app.session.addEventListener("change", () => this.next());
  }

  /** Whether an agent is being asked. */
  get thinking() {
    return this.#asking !== null;
  }

  /** Cancels the present request, and asks the agent to move, if any. */
  next() {
    this.#asking?.abort();
    this.#asking = null;
    this.#notice?.close();
    this.#notice = null;
    const spec = this.paused ? null : this.#app.session.agentToMove;
    if (spec) this.#ask(spec);
    this.dispatchEvent(new Event("change"));
  }

  pause(paused) {
    this.paused = paused;
    this.next();
  }

  async #ask(spec) {
    const asking = (this.#asking = new AbortController());
    const { session, backend } = this.#app;
    const { signal } = asking;
    try {
      await this.#app.atRest();
      if (this.#watching) await pause(reducedMotion() ? 0 : WATCHING_PAUSE[this.speed]);
      if (signal.aborted) return;
      const onprogress = (progress) => this.#progress(progress, signal);
      const choice = await backend.choose(session.notation, spec, {
        seed: session.choiceSeed,
        signal,
        onprogress,
      });
      if (signal.aborted) return;
      this.#asking = null;
      await session.play(choice.action);
    } catch (error) {
      if (!isAbort(error) && !signal.aborted) this.#failed(error);
    }
  }

  get #watching() {
    return this.#app.session.seats.every((seat) => seat.kind === "agent");
  }

  #progress(progress, signal) {
    if (signal.aborted) return;
    const text = progressText(progress);
    if (this.#notice) this.#notice.write(text);
    else if (text) this.#notice = this.#app.notify({ text, kind: "wait" });
  }

  #failed(error) {
    this.#asking = null;
    this.#notice?.close();
    if (error.lost) setTimeout(() => this.#asking === null && this.next(), RETRY_MILLISECONDS);
    this.#notice = this.#app.fail(error, { text: t("errors.retry"), run: () => this.next() });
    this.dispatchEvent(new Event("change"));
  }
}

/** The progress as a text; empty if the agent is only thinking. */
export function progressText({ progress, key }) {
  if (key === "thinking") return "";
  if (!hasText(`progress.${key}`)) return progress;
  return t(`progress.${key}`);
}

export const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** The backend without a server: rules and agents as WebAssembly, in workers beside the page. */

import { BackendError } from "./backend.js";

const MOST_ANALYSTS = 3;

/** @returns {import("./backend.js").Backend} */
export function connect() {
  const [rules, analysts] = [new Caller(), []]; // moves and hints do not wait for a search
  return {
    open: (setup) => rules.ask("open", [setup]).finally(keepForLater),
    play: (notation, move) => rules.ask("play", [notation, move]),
    agents: (game, agent) => rules.ask("agents", [game, agent]),
    choose: (notation, agent, { seed, ...listeners } = {}) =>
      rules.ask("choose", [notation, agent, { seed }], listeners),
    analyse: (notation, { agent, lines, ...listeners } = {}) =>
      idle(analysts).ask("analyse", [notation, { agent, lines }], listeners),
  };
}

/** An idle worker, a new one, or the first if there are too many. */
function idle(callers) {
  const found = callers.find((caller) => caller.open.size === 0);
  if (found || callers.length === MOST_ANALYSTS) return found ?? callers[0];
  callers.push(new Caller());
  return callers.at(-1);
}

/** Stores all files of the site in the browser, so that the page works without a network. */
function keepForLater() {
  navigator.serviceWorker?.register("service_worker.js").catch(() => {}); // optional: the page works without it
}

/** A worker and its pending requests. */
class Caller {
  constructor() {
    this.open = new Map();
    this.next = 0;
  }

  /** The worker, started by the first request. */
  get worker() {
    if (!this.running) {
      this.running = new Worker("js/wasm_worker.js", { type: "module" });
      this.running.onmessage = ({ data }) => this.hear(data);
      this.running.onerror = (event) => this.fail(event.message);
    }
    return this.running;
  }

  /** Sends a request; rejects when the signal is aborted. */
  ask(method, parameters, { signal, onprogress, onanalysis } = {}) {
    signal?.throwIfAborted();
    const id = this.next++;
    return new Promise((resolve, reject) => {
      this.open.set(id, { resolve, reject, onprogress, onanalysis });
      signal?.addEventListener("abort", () => this.cancel(id, signal.reason), { once: true });
      this.worker.postMessage({ id, method, parameters });
    });
  }

  cancel(id, reason) {
    if (!this.open.has(id)) return;
    this.worker.postMessage({ id, cancel: true });
    this.take(id).reject(reason);
  }

  hear({ id, progress, analysis, error, lost, result }) {
    const question = this.open.get(id);
    if (!question) return;
    if (progress) question.onprogress?.(progress);
    else if (analysis) question.onanalysis?.(analysis);
    else if (error) this.take(id).reject(new BackendError(error, { lost }));
    else this.take(id).resolve(result);
  }

  take(id) {
    const question = this.open.get(id);
    this.open.delete(id);
    return question;
  }

  /** Rejects all requests after the worker failed; the next request starts a new worker. */
  fail(message) {
    this.running?.terminate();
    this.running = null;
    const error = new BackendError(message || "The worker of this page did not start.", { lost: true });
    for (const id of [...this.open.keys()]) this.take(id).reject(error);
  }
}

/**
 * The deepest analysis of each position so far, by notation. Bar, graph, lines and review read the same
 * analyses here. Fires "change" for a new one.
 */

const MOST_KEPT = 2000;

export class KeptAnalyses extends EventTarget {
  #kept = new Map();

  /** @param {string} notation @returns {?import("../backend.js").Analysis} */
  of(notation) {
    return this.#kept.get(notation) ?? null;
  }

  /** Stores an analysis, unless a better one is stored. */
  keep(notation, analysis) {
    const before = this.of(notation);
    if (!analysis.lines.length || (before && !isBetter(analysis, before))) return;
    this.#kept.delete(notation);
    this.#kept.set(notation, analysis);
    if (this.#kept.size > MOST_KEPT) this.#kept.delete(this.#kept.keys().next().value);
    this.dispatchEvent(new CustomEvent("change", { detail: { notation } }));
  }
}

function isBetter(analysis, before) {
  const sure = Boolean(analysis.lines[0].exact);
  const wasSure = Boolean(before.lines[0]?.exact);
  if (sure !== wasSure) return sure;
  return analysis.depth >= before.depth;
}

/**
 * The analyses of the positions that were looked at: for each the deepest so far, found by its notation. Bar,
 * graph, lines and review all read them here, so that they tell the same. Tells of a better one by the event
 * "change".
 */

const MOST_KEPT = 2000;

export class KeptAnalyses extends EventTarget {
  #kept = new Map();

  /** @param {string} notation @returns {?import("../backend.js").Analysis} */
  of(notation) {
    return this.#kept.get(notation) ?? null;
  }

  /** Keeps an analysis, unless a better one of the position is there. */
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

/** Errors in the language of the page. What only the program itself can say about one follows as its detail. */

import { element } from "./elements.js";
import { t } from "./language.js";
import { agentName } from "./players.js";

/** An error of the page's own, by the name of its text. */
export class PageError extends Error {
  constructor(kind, values = {}) {
    super("");
    Object.assign(this, { kind, values });
  }
}

/** What went wrong, as a sentence. */
export function errorText({ lost, kind = "page", values = {}, agent }) {
  return t(`errors.${lost ? "lost" : kind}`, agent ? { ...values, agent: agentName(agent) } : values);
}

/** The same with its detail, in English, as backends and agents tell it. */
export function errorNodes(error) {
  const detail = element("small", { class: "error-detail", lang: "en", dir: "ltr" }, error.message);
  return error.lost || !error.message ? [errorText(error)] : [errorText(error), detail];
}

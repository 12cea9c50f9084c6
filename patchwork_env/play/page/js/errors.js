/** Errors in the language of the page, followed by their English details. */

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

/** An error as a sentence. */
export function errorText({ lost, kind = "page", values = {}, agent }) {
  return t(`errors.${lost ? "lost" : kind}`, agent ? { ...values, agent: agentName(agent) } : values);
}

/** The same with its English detail from the backend or the agent. */
export function errorNodes(error) {
  const detail = element("small", { class: "error-detail", lang: "en", dir: "ltr" }, error.message);
  return error.lost || !error.message ? [errorText(error)] : [errorText(error), detail];
}

/** Errors in the language of the page, with their English details. */

import { element } from "./elements.js";
import { t } from "./language.js";
import { agentName } from "./players.js";

/** An error that the page finds itself; `kind` names its text. */
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

/** An error as a sentence, followed by the English message of the backend or the agent. */
export function errorNodes(error) {
  const detail = element("small", { class: "error-detail", lang: "en", dir: "ltr" }, error.message);
  return error.lost || !error.message ? [errorText(error)] : [errorText(error), detail];
}

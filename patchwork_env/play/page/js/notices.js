/** Notices below the turn, and announcements to screen readers. */

import { button, element } from "./elements.js";
import { errorNodes } from "./errors.js";
import { t } from "./language.js";

const SHOWN_MILLISECONDS = 4000;
const OFFERED_MILLISECONDS = 15000;

/**
 * Shows a notice; it replaces one with the same text. Only notices of the kind "info" close by themselves.
 * @param {{text: string|(string|Node)[], picture?: SVGElement, kind?: "info"|"hint"|"error"|"wait", lost?: boolean,
 *   action?: {text: string, run: () => void}}} notice `lost`: the server does not answer
 * @returns {{close: () => void, write: (text: string) => void}}
 */
export function notify({ text, picture = null, kind = "info", lost = false, action = null }) {
  const close = () => box.remove();
  const box = element(
    "div",
    { class: `notice ${kind}`, role: kind === "error" ? "alert" : "status", "data-role": "notice", "data-lost": lost },
    kind === "wait" && element("span", { class: "spinner", "aria-hidden": "true" }),
    picture && element("span", { class: "move-picture" }, picture),
    element("span", { class: "notice-text", dir: "auto" }, text),
    action && button({ class: "quiet", onclick: () => (close(), action.run()) }, action.text),
    kind !== "wait" && button({ class: "quiet close", "aria-label": t("dialogs.close"), onclick: close }, "×"),
  );
  const place = document.querySelector("#notices");
  const said = (notice) => notice.querySelector(".notice-text").textContent;
  for (const notice of [...place.children]) if (said(notice) === said(box)) notice.remove();
  place.append(box);
  if (kind === "info") setTimeout(close, action ? OFFERED_MILLISECONDS : SHOWN_MILLISECONDS);
  return {
    close,
    write: (now) => {
      box.querySelector(".notice-text").textContent = now;
    },
  };
}

export const notifyError = (error, action = null) =>
  notify({ text: errorNodes(error), kind: "error", lost: error.lost, action });

/** Closes the notices about a lost server, after it has answered. */
export function closeLost() {
  for (const notice of document.querySelectorAll(".notice[data-lost]")) notice.remove();
}

/** Announces a text to screen readers. */
export function announce(text) {
  const region = document.querySelector("#announcements");
  region.textContent = "";
  requestAnimationFrame(() => {
    region.textContent = text;
  });
}

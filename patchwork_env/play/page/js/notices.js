/** Calm notices below the header, and what is said to screen readers. */

import { element } from "./elements.js";
import { t } from "./language.js";

const SHOWN_MILLISECONDS = 4000;
const OFFERED_MILLISECONDS = 15000;

/**
 * Shows a notice. Errors and what one waits for stay until they are closed; others leave by themselves.
 * @param {{text: string|(string|Node)[], picture?: SVGElement, kind?: "info"|"error"|"wait", action?: {text:
 *   string, run: () => void}}} notice
 * @returns {{close: () => void, write: (text: string) => void}}
 */
export function notify({ text, picture = null, kind = "info", action = null }) {
  const close = () => box.remove();
  const box = element(
    "div",
    { class: `notice ${kind}`, role: kind === "error" ? "alert" : "status", "data-role": "notice" },
    kind === "wait" && element("span", { class: "spinner", "aria-hidden": "true" }),
    picture && element("span", { class: "move-picture" }, picture),
    element("span", { class: "notice-text", dir: "auto" }, text),
    action &&
      element(
        "button",
        {
          class: "quiet",
          type: "button",
          onclick: () => {
            close();
            action.run();
          },
        },
        action.text,
      ),
    kind !== "wait" &&
      element(
        "button",
        { class: "quiet close", type: "button", "aria-label": t("dialogs.close"), onclick: close },
        "×",
      ),
  );
  document.querySelector("#notices").append(box);
  if (kind === "info") setTimeout(close, action ? OFFERED_MILLISECONDS : SHOWN_MILLISECONDS);
  return {
    close,
    write: (now) => {
      box.querySelector(".notice-text").textContent = now;
    },
  };
}

/** Says something to screen readers, after what is being said. */
export function announce(text) {
  const region = document.querySelector("#announcements");
  region.textContent = "";
  requestAnimationFrame(() => {
    region.textContent = text;
  });
}

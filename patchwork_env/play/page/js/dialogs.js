/** Native dialogs: they hold the focus and close with Escape. */

import { button, element } from "./elements.js";
import { t, translate } from "./language.js";

/**
 * Opens a dialog and removes it when it closes.
 * @param {string} title the name of its text
 * @param {(Node|string)[]} content
 * @param {{className?: string}} options
 * @returns {HTMLDialogElement}
 */
export function openDialog(title, content, { className = "" } = {}) {
  const dialog = element(
    "dialog",
    { class: `dialog ${className}`, closedby: "any", "aria-labelledby": "dialog-title" },
    element(
      "header",
      { class: "dialog-head" },
      element("h2", { id: "dialog-title" }, t(title)),
      button({ class: "quiet close", "aria-label": t("dialogs.close"), onclick: () => dialog.close() }, "×"),
    ),
    content,
  );
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  translate(dialog);
  dialog.showModal();
  return dialog;
}

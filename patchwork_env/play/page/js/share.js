/** The share dialog: notation, link and pictures of the game, and a field to open another one. */

import { addressOf } from "./address.js";
import { openDialog } from "./dialogs.js";
import { button, element } from "./elements.js";
import { errorNodes } from "./errors.js";
import { language, t } from "./language.js";

const PICTURE_WIDTH = 1600;

/**
 * @param {import("./view.js").App} app
 * @returns {() => void} opens the dialog
 */
export function mountShare(app) {
  const open = () => showShare(app);
  document.querySelector('[data-role="share"]').addEventListener("click", open);
  return open;
}

function showShare(app) {
  const { session } = app;
  const notation = session.notationAt(session.line.length - 1);
  const field = element("textarea", {
    rows: 5,
    dir: "ltr",
    spellcheck: "false",
    "data-role": "notation",
    "aria-label": t("share.notation"),
  });
  field.value = notation;
  const name = `${session.game}-${session.ply}`;
  const action = (key, run) => button({ "data-role": key, onclick: run }, t(`share.${key}`));
  const address = () => addressOf({ game: session.game, lang: language() }, notation);
  openDialog("share.title", [
    element("p", { class: "hint-text" }, t("share.help")),
    field,
    element("p", { class: "field-error", role: "alert" }),
    element(
      "div",
      { class: "dialog-actions" },
      action("copyNotation", () => copy(app, field.value)),
      action("copyAddress", () => copy(app, address())),
      action("openGame", (event) => openGame(app, field.value, event.target.closest("dialog"))),
    ),
    element(
      "div",
      { class: "dialog-actions" },
      action("saveText", () => save(new Blob([notation], { type: "text/plain" }), `${name}.txt`)),
      action("saveSvg", () => save(svgBlob(app.view.picture()), `${name}.svg`)),
      action("savePng", async () => save(await pngBlob(app.view.picture()), `${name}.png`)),
    ),
  ]);
}

async function copy(app, text) {
  try {
    await navigator.clipboard.writeText(text);
    app.notify({ text: t("share.copied") });
  } catch {
    app.notify({ text: t("share.notCopied"), kind: "error" });
  }
}

async function openGame(app, text, dialog) {
  try {
    await app.openText(text);
    dialog.close();
  } catch (error) {
    dialog.querySelector(".field-error").replaceChildren(...errorNodes(error));
  }
}

/** @param {SVGSVGElement} picture */
const svgBlob = (picture) =>
  new Blob([new XMLSerializer().serializeToString(picture)], { type: "image/svg+xml" });

/** @param {SVGSVGElement} picture */
async function pngBlob(picture) {
  const url = URL.createObjectURL(svgBlob(picture));
  try {
    const image = new Image();
    image.src = url;
    await image.decode();
    const { width, height } = picture.viewBox.baseVal;
    const canvas = element("canvas", {
      width: PICTURE_WIDTH,
      height: Math.round((PICTURE_WIDTH * height) / width),
    });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
  } finally {
    URL.revokeObjectURL(url);
  }
}

export function save(blob, name) {
  const url = URL.createObjectURL(blob);
  element("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

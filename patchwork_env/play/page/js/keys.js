/** Keyboard shortcuts of the page; those of a game are in its view. */

import { openDialog } from "./dialogs.js";
import { element } from "./elements.js";
import { t } from "./language.js";
import { recall, remember } from "./storage.js";

/**
 * @param {import("./view.js").App} app
 * @param {{newGame: () => void, share: () => void}} open
 */
export function mountKeys(app, { newGame, share }) {
  const actions = {
    u: () => app.session.undo(),
    y: () => app.session.redo(),
    h: () => document.querySelector('[data-role="hint"]').click(),
    n: newGame,
    s: share,
    "?": () => showKeys(app),
  };
  document.querySelector('[data-role="keys"]').addEventListener("click", () => showKeys(app));
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isWriting(event.target))
      return;
    const { target, shiftKey } = event;
    const key = latin(event);
    if (key.length === 1 && key !== " " && !areCharactersKeys()) return;
    const run = actions[key];
    if (run) run();
    else if (!app.view?.key({ key, shiftKey, target }) && !browse(app.session, key)) return;
    event.preventDefault();
  });
}

const SIGNS = { Period: ".", Comma: ",", BracketLeft: "[", BracketRight: "]", Slash: "?" };

/** A key by its place on an English keyboard, if the present one writes another script. */
function latin({ key, code }) {
  if (key <= "~") return key;
  return SIGNS[code] ?? /^(?:Key|Digit)(.)$/.exec(code)?.[1].toLowerCase() ?? key;
}

/** Goes to another move; with arrows only if no piece is in hand. @returns {boolean} whether the key was used */
function browse(session, key) {
  const { ply, line } = session;
  const to = { "[": ply - 1, "]": ply + 1, ArrowLeft: ply - 1, ArrowRight: ply + 1, Home: 0, End: line.length - 1 }[key];
  if (to === undefined) return false;
  session.goto(to);
  return true;
}

const isWriting = (target) => target.closest?.("dialog, input, select, textarea, [contenteditable]") !== null;

/** Whether single characters are shortcuts; users of speech input may turn them off. */
const areCharactersKeys = () => recall("characterKeys") ?? true;

const PAGE_KEYS = [
  ["[ ] ← →", "browse"],
  ["Home End", "ends"],
  ["u", "undo"],
  ["y", "redo"],
  ["h", "hint"],
  ["n", "newGame"],
  ["s", "share"],
  ["?", "help"],
];

function showKeys(app) {
  const rows = [
    ...app.view.keys.map(({ key, text }) => [key, text]),
    ...PAGE_KEYS.map(([key, name]) => [key, `keys.${name}`]),
  ];
  const list = element(
    "dl",
    { class: "keys" },
    rows.map(([key, text]) => [
      element(
        "dt",
        {},
        key.split(" ").map((part) => element("kbd", {}, part)),
      ),
      element("dd", {}, t(text)),
    ]),
  );
  const choice = element("input", {
    type: "checkbox",
    "data-role": "character-keys",
    checked: areCharactersKeys(),
    onchange: () => remember("characterKeys", choice.checked),
  });
  const label = element("label", { class: "check" }, choice, element("span", {}, t("keys.characters")));
  openDialog("keys.title", [list, label], { className: "narrow" });
}

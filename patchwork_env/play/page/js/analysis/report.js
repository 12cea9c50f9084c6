/** The review as a file: a self-contained page or plain text, with the contents of the panel. */

import { element, table } from "../elements.js";
import { language, number, percent, t } from "../language.js";
import { nameOf } from "../players.js";
import { resultText } from "../status.js";
import { drawingOf } from "./graph.js";
import { notPlayed } from "./lines.js";
import { NAMES, worst } from "./review.js";
import { MOVE_COLUMNS, columns, evaluationText, lossText } from "./wording.js";

const STYLE = `
:root {
  color-scheme: light dark; --paper: light-dark(#fffbf3, #1d1a17); --ink: light-dark(#2b2620, #f1e9dc);
  --line: light-dark(#dfd4c2, #433c34);
}
body {
  max-width: 52rem; margin: auto; padding: 1.5rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, sans-serif;
}
svg { display: block; width: 100%; height: 12rem; margin-block: 1rem; }
.player-0 { --player: light-dark(#35618e, #79aadb); }
.player-1 { --player: light-dark(#b4533f, #e58f79); }
.player-2 { --player: light-dark(#5c7f46, #9cc083); }
.player-3 { --player: light-dark(#8a5a94, #c79ad0); }
.graph-area { fill: var(--player); fill-opacity: .3; }
.graph-line { fill: none; stroke: var(--ink); stroke-width: 1.5; vector-effect: non-scaling-stroke; }
.graph-half, .graph-guide { stroke: var(--line); vector-effect: non-scaling-stroke; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding-block: .25rem; padding-inline-end: .6rem; text-align: start; }
td { border-bottom: 1px solid var(--line); }
pre { white-space: pre-wrap; overflow-wrap: anywhere; }`;

/** The contents of a report, in the language of the page. */
function contents(app, reviewed) {
  const { session, view } = app;
  const move = (word, { ply, player }) => view.moveLabel(notPlayed(session.main[ply - 1], word, player));
  return {
    title: `${t(`games.${session.game}`)}: ${t("review.title")}`,
    result: session.main.at(-1).over
      ? resultText({ seats: session.seats, foreign: session.foreign, position: session.main.at(-1) })
      : "",
    players: reviewed.players.map((side, player) => sideText(nameOf(session, player, 1), side)),
    worst: worst(reviewed).map((verdict) => [
      number(verdict.ply),
      nameOf(session, verdict.player, verdict.ply),
      move(verdict.word, verdict),
      verdict.name ? t(`review.names.${verdict.name}`) : "",
      lossText(verdict),
      move(verdict.best, verdict),
    ]),
    moves: reviewed.verdicts.map((verdict) => [
      number(verdict.ply),
      nameOf(session, verdict.player, verdict.ply),
      move(verdict.word, verdict),
      evaluationText(session, reviewed.evaluations[verdict.ply]),
      verdict.name ? t(`review.names.${verdict.name}`) : "",
    ]),
    notation: session.mainNotation,
  };
}

function sideText(name, { accuracy, counts, loss }) {
  const told = Object.keys(NAMES).map((one) => t(`review.counts.${one}`, { count: counts[one] }));
  if (accuracy !== null)
    return `${name}: ${percent(accuracy / 100)} ${t("review.accuracy")}, ${told.join(", ")}`;
  return loss === null
    ? name
    : `${name}: ${number(loss, { maximumFractionDigits: 2 })} ${t("review.meanLoss")}`;
}

const WORST_COLUMNS = ["ply", "player", "played", "name", "lost", "best"];

/** @returns {string} */
export function reportText(app, reviewed) {
  const { title, result, players, worst: found, moves, notation } = contents(app, reviewed);
  const parts = [
    title,
    result,
    players.join("\n"),
    t("review.worst"),
    aligned([columns(WORST_COLUMNS), ...found]),
    t("review.all"),
    aligned([columns(MOVE_COLUMNS), ...moves]),
    notation,
  ];
  return `${parts.filter(Boolean).join("\n\n")}\n`;
}

function aligned(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

/** @returns {string} */
export function reportHtml(app, reviewed) {
  const { title, result, players, worst: found, moves, notation } = contents(app, reviewed);
  const head = element(
    "head",
    {},
    element("meta", { charset: "utf-8" }),
    element("meta", { name: "viewport", content: "width=device-width, initial-scale=1" }),
    element("title", {}, title),
    element("style", {}, STYLE),
  );
  const body = element(
    "body",
    {},
    element("h1", {}, title),
    result && element("p", {}, result),
    element("ul", {}, players.map((text) => element("li", {}, text))),
    drawingOf(app.session, reviewed),
    element("h2", {}, t("review.worst")),
    element("p", {}, t("review.reportHelp")),
    table(columns(WORST_COLUMNS), found),
    element("h2", {}, t("review.all")),
    table(columns(MOVE_COLUMNS), moves),
    element("pre", { dir: "ltr" }, notation),
  );
  const page = element("html", { lang: language(), dir: document.documentElement.dir }, head, body);
  return `<!doctype html>\n${page.outerHTML}\n`;
}

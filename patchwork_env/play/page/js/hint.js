/** A hint: the best move of a quick search, as a ghost on the board, with its evaluation. */

import { notPlayed } from "./analysis/lines.js";
import { QUICK } from "./analysis/search.js";
import { isAbort } from "./backend.js";
import { percent, t } from "./language.js";
import { progressText } from "./turns.js";

let asking = null;

/** @param {import("./view.js").App} app */
export async function askHint(app) {
  asking?.abort();
  const { session, backend, view } = app;
  const { signal } = (asking = new AbortController());
  const { notation, position } = session;
  const wait = app.notify({ text: t("hint.looking"), kind: "wait" });
  app.addEventListener("shown", () => asking?.abort(), { signal });
  try {
    const analysis = await backend.analyse(notation, {
      agent: QUICK[session.game],
      lines: 1,
      signal,
      onprogress: (progress) => wait.write(progressText(progress) || t("hint.looking")),
    });
    const [best] = analysis.lines;
    if (signal.aborted || session.notation !== notation || !best) return;
    view.preview([best.word]);
    const [picture] = view.drawMove(notPlayed(position, best.word, position.player));
    const hint = app.notify({ text: hintText(view, position, best), picture, kind: "hint" });
    app.addEventListener("shown", hint.close, { once: true });
  } catch (error) {
    if (!isAbort(error) && !signal.aborted) app.fail(error);
  } finally {
    wait.close();
  }
}

function hintText(view, position, best) {
  const move = view.moveLabel(notPlayed(position, best.word, position.player));
  if (best.win === null || best.win === undefined) return t("hint.best", { move });
  const win = percent(position.player === 0 ? best.win : 1 - best.win);
  return t("hint.withChance", { move, win });
}

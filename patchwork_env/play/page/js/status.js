/** The line with the player to move and the last move. */

import { language, number, t } from "./language.js";
import { isAlone, nameOf } from "./players.js";

/** @param {import("./view.js").App} app */
export function mountStatus(app) {
  const line = document.querySelector('[data-role="status"]');
  const write = () => {
    const { session, turns, view } = app;
    const { position } = session;
    if (!position || !view) return;
    line.dataset.currentPlayer = position.player ?? "";
    line.dataset.over = document.documentElement.dataset.over = position.over;
    line.dataset.thinking = document.documentElement.dataset.thinking = turns.thinking;
    const said = [position.word && view.describe(position), turnText(app)].filter(Boolean).join(" ");
    line.querySelector(".status-turn").textContent = turnText(app);
    line.querySelector(".status-last").textContent = position.word ? view.describe(position) : "";
    if (line.dataset.said !== said) app.announce((line.dataset.said = said));
  };
  app.addEventListener("shown", write);
  app.turns.addEventListener("change", write);
}

function turnText({ session, turns }) {
  const { position } = session;
  if (position.over) return resultText(session);
  const player = nameOf(session, position.player);
  if (session.exploring) return t("status.exploring", { player });
  if (turns.thinking) return t("status.thinking", { player });
  const isEarlier = session.ply < session.line.length - 1;
  if (isEarlier && (session.analysing || !session.mayMove)) return t("status.lookingBack", { player, ply: session.ply });
  const isYours = isAlone(session) && session.seatOf(position).kind === "person";
  return isYours ? t("status.yourTurn") : t("status.turn", { player });
}

export function resultText(session) {
  const { winners, scores, ply } = session.position;
  if (scores.length === 1) return t("status.finished", { count: scores[0] });
  const score = scores.map((each) => number(each)).join(" : ");
  if (winners.length === scores.length) return t("status.shared", { score });
  if (winners.length > 1) {
    const names = winners.map((winner) => nameOf(session, winner, ply));
    return t("status.winTogether", { players: new Intl.ListFormat(language()).format(names), score });
  }
  const [winner] = winners;
  if (isAlone(session) && ply > session.foreign)
    return t(session.seats[winner].kind === "person" ? "status.youWin" : "status.youLose", { score });
  return t("status.wins", { player: nameOf(session, winner, ply), score });
}

/** Evaluations and losses in words. */

import { number, percent, t } from "../language.js";
import { isAlone, isYou, nameOf } from "../players.js";
import { winFor } from "./review.js";

/** The largest probability shown for an evaluation that is not exact. */
const NEARLY_SURE = 0.99;

/** The player whose figures are shown: the only person at the screen, else player 0. */
export const viewpoint = (session) =>
  isAlone(session) ? session.seats.findIndex(({ kind }) => kind === "person") : 0;

/**
 * An evaluation as a phrase: "about 63% for you", or points if there is no probability.
 * @param {import("../session.js").Session} session
 * @param {?import("./review.js").Evaluation} evaluation
 */
export function evaluationText(session, evaluation) {
  if (!evaluation) return t("analysis.unknown");
  if (evaluation.win === null) return scoresText(session, evaluation);
  const player = isAlone(session) ? viewpoint(session) : Number(evaluation.win < 0.5);
  const win = winFor(player, evaluation);
  const who = isYou(session, player) ? "you" : "player";
  return t(`analysis.chance.${who}`, {
    chance: chanceText(win, evaluation.exact),
    player: nameOf(session, player),
  });
}

/** A probability as a text; 0% and 100% only if it is exact. */
function chanceText(win, exact) {
  if (exact) return percent(win);
  if (win > NEARLY_SURE) return t("analysis.over", { chance: percent(NEARLY_SURE) });
  if (win < 1 - NEARLY_SURE) return t("analysis.under", { chance: percent(1 - NEARLY_SURE) });
  return t("analysis.about", { chance: percent(win) });
}

function shortWin(win, exact) {
  if (!exact && win > NEARLY_SURE) return `>${percent(NEARLY_SURE)}`;
  if (!exact && win < 1 - NEARLY_SURE) return `<${percent(1 - NEARLY_SURE)}`;
  return percent(win);
}

function scoresText(session, { scores }) {
  if (!scores) return t("analysis.unknown");
  const points = scores.map((score) => number(Math.round(score)));
  if (scores.length === 1) return t("analysis.expected", { points: points[0] });
  return scores
    .map((_, player) => t("analysis.expectedOf", { player: nameOf(session, player), points: points[player] }))
    .join(" · ");
}

/** The evaluation of a line for a player as a short figure; empty if the line has too few visits. */
export function figureText(player, { win, scores, exact }) {
  if (win !== null && win !== undefined) return shortWin(player === 0 ? win : 1 - win, exact);
  return scores ? number(scores[player], { minimumFractionDigits: 1, maximumFractionDigits: 1 }) : "";
}

/** The loss of a move in words: of win probability or of points. */
export function lossText({ winLoss, scoreLoss }) {
  if (winLoss !== null)
    return t("review.lostChance", {
      points: number(Math.max(0, 100 * winLoss), { maximumFractionDigits: 0 }),
    });
  return t("review.lostScore", { points: number(scoreLoss ?? 0, { maximumFractionDigits: 1 }) });
}

/** The loss of a move as a short figure: "−78%" or "−3.5". */
export function lossFigure({ winLoss, scoreLoss }) {
  if (winLoss !== null) return percent(-Math.max(0, winLoss));
  return number(-(scoreLoss ?? 0), { minimumFractionDigits: 1, maximumFractionDigits: 1 });
}

/** The columns of a table of all moves. */
export const MOVE_COLUMNS = ["ply", "player", "played", "then", "name"];

/** The headings of columns. */
export const columns = (names) => names.map((name) => t(`review.columns.${name}`));

/** The chess signs of bad moves. */
export const SIGNS = Object.freeze({ inaccuracy: "?!", mistake: "?", blunder: "??" });

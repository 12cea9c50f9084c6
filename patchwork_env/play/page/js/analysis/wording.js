/** Figures in words: whose chance it is, and how much a move lost. */

import { number, percent, t } from "../language.js";
import { isAlone, isYou, nameOf } from "../players.js";
import { winFor } from "./review.js";

/** Beyond this, a search that is not sure says "more than". */
const NEARLY_SURE = 0.99;

/** The viewpoint of figures: the only person at the screen, else player 0. */
export const viewpoint = (session) =>
  isAlone(session) ? session.seats.findIndex(({ kind }) => kind === "person") : 0;

/**
 * An evaluation in a phrase: "about 63% for you", or in points where there is no probability.
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

/** A probability as a text: never 0% or 100% unless it is exact. */
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

/** The evaluation of a line for a player as a short figure; empty if the line has too few visits for one. */
export function figureText(player, { win, scores, exact }) {
  if (win !== null && win !== undefined) return shortWin(player === 0 ? win : 1 - win, exact);
  return scores ? number(scores[player], { minimumFractionDigits: 1, maximumFractionDigits: 1 }) : "";
}

/** What a move lost: points of probability, or of the score. */
export function lossText({ winLoss, scoreLoss }) {
  if (winLoss !== null)
    return t("review.lostChance", {
      points: number(Math.max(0, 100 * winLoss), { maximumFractionDigits: 0 }),
    });
  return t("review.lostScore", { points: number(scoreLoss ?? 0, { maximumFractionDigits: 1 }) });
}

/** The same as a short figure: "−78%", or "−3.5". */
export function lossFigure({ winLoss, scoreLoss }) {
  if (winLoss !== null) return percent(-Math.max(0, winLoss));
  return number(-(scoreLoss ?? 0), { minimumFractionDigits: 1, maximumFractionDigits: 1 });
}

/** The sign of chess that stands for a name. */
export const SIGNS = Object.freeze({ inaccuracy: "?!", mistake: "?", blunder: "??" });

/**
 * The figures of a review, from the analyses of the positions of a game.
 *
 * `patchwork-env review` computes the same figures in Python (learning/reports/review/); a test compares both.
 * The loss of a move is the difference of its player's evaluation before and after it. The best move of the
 * analysis loses nothing. In NMBR 9, where the next card is random, losses are points: against the best move
 * of the same analysis, or against the player's expectation at its next turn.
 */

/** The names of bad moves, by the least win probability that they lose. */
export const NAMES = Object.freeze({ inaccuracy: 0.05, mistake: 0.1, blunder: 0.2 });

/** The least accuracy of a move in the harmonic mean, which a single 0 would make 0. */
const LEAST_ACCURACY = 1;

/**
 * @typedef {object} Evaluation The expected result of a position, from the view of player 0.
 * @property {?number} win the probability that player 0 wins
 * @property {?number} margin of player 0, in points
 * @property {?number[]} scores the final scores, if the analysis has them
 * @property {boolean} exact whether it is proved
 * @property {number} depth the number of visits
 */

/**
 * @typedef {object} Verdict The judgement of a move.
 * @property {number} ply the ply that the move led to, from 1
 * @property {number} player who made it
 * @property {string} word the move
 * @property {string} best the best move of the analysis; `word` if that leads to an equivalent position
 * @property {?number} winLoss the loss of win probability; negative if the position turned out better
 * @property {?number} marginLoss the loss of expected margin, in points
 * @property {?number} scoreLoss the loss of the player's own score, in points, if there is no probability
 * @property {?("inaccuracy"|"mistake"|"blunder")} name
 * @property {string[]} bestLine the best move and its expected continuation
 */

/** The name of a move by its loss; null if it lost less than an inaccuracy. */
export function nameOfLoss(loss) {
  const reached = Object.keys(NAMES).filter((name) => loss !== null && loss >= NAMES[name]);
  return reached.at(-1) ?? null;
}

/** The accuracy of a move, 0 to 100, by the formula of lichess: https://lichess.org/page/accuracy. */
export function moveAccuracy(loss) {
  if (loss <= 0) return 100;
  return Math.max(0, 103.1668 * Math.exp(-4.354 * loss) - 3.1669);
}

/**
 * The accuracy of a player, 0 to 100: the mean of the arithmetic and the harmonic mean of the moves'
 * accuracies.
 * @param {number[]} losses of all moves of a player
 * @returns {?number} null without any
 */
export function accuracy(losses) {
  if (!losses.length) return null;
  const accuracies = losses.map(moveAccuracy);
  const arithmetic = sum(accuracies) / accuracies.length;
  const harmonic = accuracies.length / sum(accuracies.map((one) => 1 / Math.max(one, LEAST_ACCURACY)));
  return (arithmetic + harmonic) / 2;
}

/** The number of moves of each name. @param {(number|null)[]} losses */
export function counts(losses) {
  const names = losses.map(nameOfLoss);
  return Object.fromEntries(
    Object.keys(NAMES).map((name) => [name, names.filter((one) => one === name).length]),
  );
}

/**
 * The evaluation of a position: from its analysis, or from the result if the game is over.
 * @param {import("../backend.js").Position} position
 * @param {?import("../backend.js").Analysis} analysis
 * @returns {?Evaluation} null if it is unknown
 */
export function evaluationOf(position, analysis) {
  if (position.over) return result(position);
  if (!analysis) return null;
  const { win = null, margin = null, scores = null, depth = 0, lines } = analysis;
  return { win, margin, scores, exact: lines[0]?.exact ?? false, depth };
}

function result({ scores, winners }) {
  const [own, ...others] = scores;
  const alone = others.length === 0;
  const win = alone ? null : winners.includes(0) ? 1 / winners.length : 0;
  return { win, margin: alone ? null : own - Math.max(...others), scores, exact: true, depth: 0 };
}

/**
 * Judges every move of a line of positions.
 * @param {import("../backend.js").Position[]} positions
 * @param {(?import("../backend.js").Analysis)[]} analyses one for each position; null where there is none
 * @returns {{evaluations: (?Evaluation)[], verdicts: Verdict[], players: {accuracy: ?number, loss: ?number,
 *   counts: object}[]}} `players[i].loss`: the mean loss of a move in points, if there are no probabilities
 */
export function review(positions, analyses) {
  const evaluations = positions.map((position, ply) => evaluationOf(position, analyses[ply]));
  const verdicts = positions
    .slice(1)
    .map((after, index) => verdictOf(positions[index], after, analyses[index], evaluations, positions));
  const players = positions[0].scores.map((_, player) =>
    sideOf(verdicts.filter((verdict) => verdict.player === player)),
  );
  return { evaluations, verdicts, players };
}

function verdictOf(before, after, analysis, evaluations, positions) {
  const { player } = before;
  const { word, ply } = after;
  const [was, is] = [evaluations[ply - 1], evaluations[ply]];
  const nothing = {
    ply,
    player,
    word,
    best: word,
    winLoss: null,
    marginLoss: null,
    scoreLoss: null,
    name: null,
    bestLine: [],
  };
  if (!analysis || !was) return nothing;
  const [best] = analysis.lines;
  const bestLine = best.line ?? [best.word];
  if (word === best.word || best.alike?.includes(word)) return { ...nothing, bestLine, ...noLoss(was) };
  const told = { ...nothing, best: best.word, bestLine };
  if (was.win === null) {
    const turn = positions.findIndex((position, at) => at >= ply && (position.over || position.player === player));
    return { ...told, scoreLoss: scoreLoss(analysis, player, word, evaluations[turn]) };
  }
  if (!is) return told;
  const winLoss = winFor(player, was) - winFor(player, is);
  return {
    ...told,
    winLoss,
    marginLoss: marginFor(player, was) - marginFor(player, is),
    name: nameOfLoss(winLoss),
  };
}

const noLoss = (was) => (was.win === null ? { scoreLoss: 0 } : { winLoss: 0, marginLoss: 0 });

/**
 * The points that a move lost, against the best move of the same analysis. If the analysis has no line for the
 * move, the player's expectation at its next turn counts: then all players have had the luck of the next card.
 */
function scoreLoss({ lines }, player, word, next) {
  const played = lines.find((line) => line.word === word || line.alike?.includes(word)) ?? next;
  return played?.scores ? Math.max(0, lines[0].scores[player] - played.scores[player]) : null;
}

/** The win probability of one of two players. */
export const winFor = (player, { win }) => (player === 0 ? win : 1 - win);

const marginFor = (player, { margin }) => (player === 0 ? margin : -margin);

function sideOf(verdicts) {
  const losses = verdicts.map(({ winLoss }) => winLoss).filter((loss) => loss !== null);
  const points = verdicts.map(({ scoreLoss: loss }) => loss).filter((loss) => loss !== null);
  return {
    accuracy: accuracy(losses),
    counts: counts(losses),
    loss: points.length ? sum(points) / points.length : null,
  };
}

/** The least loss of a listed move in points, if there are no probabilities. */
const WORTH_LOOKING = 2;

/** The bad moves, the worst first. */
export function worst({ verdicts }) {
  const weight = ({ winLoss, scoreLoss: points }) => winLoss ?? points;
  const named = verdicts.filter(
    (verdict) => verdict.name !== null || (verdict.scoreLoss ?? 0) >= WORTH_LOOKING,
  );
  return named.sort((one, other) => weight(other) - weight(one));
}

const sum = (values) => values.reduce((total, value) => total + value, 0);

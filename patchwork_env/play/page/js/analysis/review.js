/**
 * The figures of a review, from the analyses of the positions of a game: nothing but numbers, without a page.
 *
 * `patchwork-env review` has the same figures in Python (learning/reports/review/); a test compares both. A
 * move loses what the evaluation of its player falls by, from the position before it to the one after it; a
 * move that the analysis would have played itself loses nothing. In NMBR 9, where the next card is chance, a
 * move is compared in points with the best one of the same analysis, or with what its player expects at its next turn.
 */

/** The names of moves by the least probability to win that they lose, the mildest first. */
export const NAMES = Object.freeze({ inaccuracy: 0.05, mistake: 0.1, blunder: 0.2 });

/** The accuracy that a move has at least in the harmonic mean, which a single 0 would bring to 0. */
const LEAST_ACCURACY = 1;

/**
 * @typedef {object} Evaluation What is to be expected from a position on, from the side of player 0.
 * @property {?number} win the probability that player 0 wins
 * @property {?number} margin the points that player 0 will be ahead
 * @property {?number[]} scores the final scores, where the analysis tells them
 * @property {boolean} exact whether it is sure
 * @property {number} depth how many visits it rests on
 */

/**
 * @typedef {object} Verdict The judgement of a move.
 * @property {number} ply the ply that the move led to, from 1
 * @property {number} player who made it
 * @property {string} word the move
 * @property {string} best what the analysis would have played; `word` itself if that leads to an alike
 *   position
 * @property {?number} winLoss the probability to win that it lost; below 0 where the position turned out
 *   better
 * @property {?number} marginLoss the points of expected margin that it lost
 * @property {?number} scoreLoss the points of its player's own score that it lost, where there is no
 *   probability
 * @property {?("inaccuracy"|"mistake"|"blunder")} name
 * @property {string[]} bestLine how the game goes on after the best move
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

/** How many moves have each name. @param {(number|null)[]} losses */
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
 * @returns {?Evaluation} null where nothing is known
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
 *   counts: object}[]}} `players[i].loss`: the mean of what a move lost, in points, where there are no chances
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
 * The points that a move lost its player: against the best of the same analysis. If that has no line for the move, by
 * what the player expects at its next turn, so that the luck of the next card counts alike for all players.
 */
function scoreLoss({ lines }, player, word, next) {
  const played = lines.find((line) => line.word === word || line.alike?.includes(word)) ?? next;
  return played?.scores ? Math.max(0, lines[0].scores[player] - played.scores[player]) : null;
}

/** The probability that a player wins; of more than two players, only that of player 0 is known. */
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

/** The points that a move must have lost to be worth looking at again, where there are no probabilities. */
const WORTH_LOOKING = 2;

/** The moves worth looking at again, the worst first: all that have a name. */
export function worst({ verdicts }) {
  const weight = ({ winLoss, scoreLoss: points }) => winLoss ?? points;
  const named = verdicts.filter(
    (verdict) => verdict.name !== null || (verdict.scoreLoss ?? 0) >= WORTH_LOOKING,
  );
  return named.sort((one, other) => weight(other) - weight(one));
}

const sum = (values) => values.reduce((total, value) => total + value, 0);

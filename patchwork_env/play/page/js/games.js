/**
 * The user's games, stored in the browser: all lines, the players, and the position that was shown. Each game
 * has its own name in the storage. If two pages continue the same game differently, it becomes two games.
 */

import { forget, recall, remember, remembered } from "./storage.js";

const VERSION = 1;
const MOST_GAMES = 500;
const PREFIX = "games.";

/**
 * @typedef {object} KeptGame
 * @property {string} id
 * @property {string} game
 * @property {string[]} lines the notations of the game and of its variations
 * @property {number} ply the position that was shown
 * @property {number} foreign how many moves were there when the game was opened
 * @property {object} choices the answers of the new-game dialog
 * @property {boolean} over
 * @property {number[]} scores
 * @property {number[]} winners
 * @property {number} changed the time of the last change, as `Date.now()`
 */

/** The games that this page has stored, by name; another page may overwrite one without having seen it. */
const ours = new Map();

/** A unique id for a new game. */
export const newId = () => crypto.getRandomValues(new Uint32Array(3)).join("-");

/** The name in the storage of a game. */
export const nameOfGame = (id) => PREFIX + id;

/** @returns {?KeptGame} null if there is none that this page can read */
export function keptGame(id) {
  const found = recall(nameOfGame(id));
  return isSound(found) && found.id === id ? found : null;
}

/** @returns {KeptGame[]} the latest first */
export function keptGames() {
  return remembered(PREFIX)
    .map((name) => keptGame(name.slice(PREFIX.length)))
    .filter(Boolean)
    .sort((a, b) => b.changed - a.changed);
}

/**
 * Stores a game. It gets a new id if moves would be lost: if another page has continued it differently, or if
 * it was over and continues from an earlier position.
 * @param {Omit<KeptGame, "changed">} game
 * @returns {{id: string, safe: boolean}} its id from now on, and whether it is stored for the next visit
 */
export function keepGame(game) {
  let { id } = game;
  const kept = keptGame(id);
  const isPlayedAgain = kept?.over && !game.over && contains(game.lines, kept.lines);
  if (kept && (isPlayedAgain || !contains(game.lines, kept.lines))) {
    if (contains(kept.lines, game.lines)) return { id, safe: true }; // another page is ahead
    id = newId();
  }
  const safe = remember(nameOfGame(id), { ...game, id, version: VERSION, changed: Date.now() });
  ours.set(nameOfGame(id), { ...game, id });
  if (id !== kept?.id) for (const { id: old } of keptGames().slice(MOST_GAMES)) forget(nameOfGame(old));
  return { id, safe };
}

/** Whether all moves of a game are stored; without this check, two pages would overwrite each other forever. */
export function holds({ id, lines }) {
  const kept = keptGame(id);
  return kept !== null && contains(kept.lines, lines);
}

/** Stores a game again that another page has overwritten. */
export function keepAgain(name) {
  const game = ours.get(name);
  if (game && keptGame(game.id) && !holds(game)) keepGame(game);
}

export const forgetGame = (id) => forget(nameOfGame(id));

/** Restores a deleted game. */
export const bringBack = (kept) => remember(nameOfGame(kept.id), kept);

/** Whether each of `others` is the beginning of one of `lines`. */
const contains = (lines, others) =>
  others.every((other) => lines.some((line) => `${flat(line)} `.startsWith(`${flat(other)} `)));

/** A notation on one line. */
export const flat = (notation) => notation.trim().split(/\s+/).join(" ");

const isText = (value) => typeof value === "string";
const areNumbers = (values) => Array.isArray(values) && values.every(Number.isFinite);

/** Whether a stored value is a valid game of this version. */
function isSound(kept) {
  return (
    kept?.version === VERSION &&
    [kept.id, kept.game].every(isText) &&
    Array.isArray(kept.lines) &&
    kept.lines.length > 0 &&
    kept.lines.every(isText) &&
    [kept.ply, kept.foreign, kept.changed].every(Number.isFinite) &&
    Object.values(kept.choices ?? [null]).every(isText) &&
    areNumbers(kept.scores) &&
    areNumbers(kept.winners)
  );
}

/**
 * The address of the page: `?game=…&opponent=…&seat=…&seed=…&lang=…` is the set-up and `#NOTATION` the game
 * so far. `seat` is the number of the user's seat, "both" or "none"; with "none", `opponent` plays against
 * `second`.
 */

import { PageError } from "./errors.js";
import { LANGUAGES, knownLanguage } from "./language.js";
import { plays } from "./players.js";
import { PERSON, agentSeat } from "./session.js";
import { recallInTab, rememberInTab } from "./storage.js";
import { gameNames, loadView } from "./view.js";

const FIRST_CHOICES = { opponent: "partner:level=1", seat: "0" };

/** The choices of the address. */
export function readAddress() {
  const query = new URLSearchParams(location.search);
  const hash = location.hash.slice(1);
  return { ...Object.fromEntries(query), notation: hash ? unescaped(hash) : null };
}

function unescaped(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * The choices of an address, with defaults. Invalid ones are dropped and listed in `complaints`.
 * @returns {Promise<{choices: object, complaints: Error[]}>}
 */
export async function checkedChoices(app, { lang, ...asked }) {
  const complaints = [];
  const check = (name, value, allowed, isAllowed = allowed.includes(value)) => {
    if (value === undefined || isAllowed) return;
    complaints.push(new PageError("choice", { name, value, allowed: allowed.join(", ") }));
    delete asked[name];
  };
  check("lang", lang, Object.keys(LANGUAGES), knownLanguage(lang) !== undefined);
  check("game", asked.game, gameNames);
  const { game = gameNames[0] } = asked;
  const { setUp, numPlayers } = await loadView(game);
  for (const { name, options } of setUp)
    if (options) check(name, asked[name], options.map(({ value }) => value));
  if (asked.opponent && numPlayers({}) === 1) asked.players ??= "2";
  const seats = Array.from({ length: numPlayers(asked) }, (_, seat) => String(seat));
  check("seat", asked.seat, [...seats, "random", "both", "none"]);
  check("seed", asked.seed, [`0 … ${Number.MAX_SAFE_INTEGER}`], isSeed(asked.seed));
  for (const name of ["opponent", "second"]) {
    try {
      if (asked[name]) await app.checkAgent(game, asked[name]);
    } catch (error) {
      if (error.lost) throw error;
      complaints.push(error);
      delete asked[name];
    }
  }
  return { choices: { ...FIRST_CHOICES, ...asked, game }, complaints };
}

/** Whether a text is an integer that JavaScript represents exactly. */
export const isSeed = (text) => /^[0-9]+$/.test(text) && Number.isSafeInteger(Number(text));

/** The game before a reload: Chromium loses a history state that was set before the page had loaded. */
let idBeforeReload =
  performance.getEntriesByType("navigation")[0]?.type === "reload" ? recallInTab("game") : null;

/** The id of the game of this history entry; null if it has none yet. */
export const idOfEntry = () => history.state?.id ?? idBeforeReload;

/** Browsers limit how often an address may change: Safari to 100 times in 30 seconds. */
const REST_MILLISECONDS = 400;

let timer = 0;
let write = () => {};

/**
 * Writes a game into the address after a short delay. Another game gets its own history entry at once, so
 * that Back leads to the previous game.
 * @param {string} id of the game
 * @param {object} choices the answers of the new-game dialog
 * @param {string} notation
 */
export function writeAddress(id, choices, notation) {
  const before = history.state?.id ?? null;
  idBeforeReload = null;
  rememberInTab("game", id);
  if (before !== null && before !== id) {
    write();
    history.pushState({ id }, "");
  }
  leaveEntry();
  write = () => {
    leaveEntry();
    history.replaceState({ id }, "", addressOf(choices, notation));
  };
  if (before === id) timer = setTimeout(write, REST_MILLISECONDS);
  else write();
}

/** Cancels a pending write, because the browser shows another history entry. */
export function leaveEntry() {
  clearTimeout(timer);
  write = () => {};
}

/** The address of a game, absolute. */
export function addressOf(choices, notation) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(choices))
    if (value !== null && value !== undefined && value !== "") query.set(name, value);
  const address = new URL(location.href);
  address.search = query.toString();
  address.hash = encodeURIComponent(notation.trim());
  return address.href;
}

/**
 * The seats that choices describe; a person instead of an agent that does not play in the order.
 * @param {{opponent?: string, second?: string, seat?: string, order?: string}} choices
 * @returns {(numPlayers: number) => import("./session.js").Seat[]}
 */
export function seatsOf({ opponent, second, seat = "0", order }) {
  return (numPlayers) =>
    numPlayers === 1 && seat !== "none"
      ? [PERSON]
      : Array.from({ length: numPlayers }, (_, player) => {
          if (!opponent || seat === "both" || Number(seat) % numPlayers === player) return PERSON;
          const agent = seat === "none" && player % 2 === 1 ? second || opponent : opponent;
          return plays(agent, order) ? agentSeat(agent) : PERSON;
        });
}

/**
 * The address of the page holds everything that is needed to come back:
 * `?game=…&opponent=…&seat=…&seed=…&lang=…` the set-up, `#NOTATION` the game so far. `seat` is the number
 * of the person's seat, or "both" or "none"; with "none", `opponent` plays against `second`.
 */

import { PERSON, agentSeat } from "./session.js";

/** What the address asks for. */
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

/** Browsers refuse to write addresses more often: Safari after 100 within 30 seconds. */
const REST_MILLISECONDS = 400;

let timer = 0;

/**
 * Writes the game into the address without a new entry of the history, as soon as it rests for a moment.
 * @param {object} choices the answers of the new-game dialog
 * @param {string} notation
 */
export function writeAddress(choices, notation) {
  clearTimeout(timer);
  timer = setTimeout(() => history.replaceState(null, "", addressOf(choices, notation)), REST_MILLISECONDS);
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
 * The seats that choices describe.
 * @param {{opponent?: string, second?: string, seat?: string}} choices
 * @returns {(numPlayers: number) => import("./session.js").Seat[]}
 */
export function seatsOf({ opponent, second, seat = "0" }) {
  return (numPlayers) =>
    numPlayers === 1 && seat !== "none"
      ? [PERSON]
      : Array.from({ length: numPlayers }, (_, player) => {
          if (!opponent || seat === "both" || seat === String(player)) return PERSON;
          return agentSeat(seat === "none" && player % 2 === 1 ? second || opponent : opponent);
        });
}

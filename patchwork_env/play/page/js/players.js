/** The names of players: "You", the name of an agent's level, or a colour. */

import { hasText, t } from "./language.js";

const LEVELS = [
  [/^partner:level=(\d+)$/, "agents.partners"],
  [/^(?:nmbr9_)?champion:(\w+)$/, "agents.champions"],
];

/** The name of an agent's level, or its spec. */
export function agentName(spec) {
  for (const [pattern, names] of LEVELS) {
    const key = `${names}.${pattern.exec(spec)?.[1]}`;
    if (hasText(key)) return t(key);
  }
  return spec;
}

/** Whether an agent can play in an order of NMBR 9; the champion and its levels do not choose digits. */
export const plays = (spec, order) => order !== "free" || !/^(partner|nmbr9_champion)\b/.test(spec);

/** Whether exactly one person plays. */
export const isAlone = (session) => session.seats.filter((seat) => seat.kind === "person").length === 1;

/** Whether a player, or the maker of its move that led to a ply, is the only person at the screen. */
export const isYou = (session, player, ply = Infinity) =>
  ply > session.foreign && isAlone(session) && session.seats[player]?.kind === "person";

/**
 * The name of a player. With a ply, the name of the maker of the move that led there: a colour for moves
 * that were there when the game was opened.
 * @param {import("./session.js").Session} session
 * @param {number} player
 * @param {number} ply
 */
export function nameOf(session, player, ply = Infinity) {
  const seat = session.seats[player];
  if (isYou(session, player, ply)) return t("players.you");
  const agents = session.seats.filter(({ kind, spec }) => kind === "agent" && spec === seat?.spec);
  if (ply > session.foreign && seat?.kind === "agent" && agents.length === 1) return agentName(seat.spec);
  return t(`players.colours.${player}`);
}

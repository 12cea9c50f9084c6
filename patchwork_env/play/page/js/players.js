/** The names of players: "You" against an agent, the name of the agent's level, or colours. */

import { hasText, t } from "./language.js";

const LEVELS = [
  [/^partner:level=(\d+)$/, "agents.partners"],
  [/^(?:nmbr9_)?champion:(\w+)$/, "agents.champions"],
];

/** The name of an agent for people: that of its level, or its spec. */
export function agentName(spec) {
  for (const [pattern, names] of LEVELS) {
    const key = `${names}.${pattern.exec(spec)?.[1]}`;
    if (hasText(key)) return t(key);
  }
  return spec;
}

/** Whether exactly one person plays, who is called "you". */
export const isAlone = (session) => session.seats.filter((seat) => seat.kind === "person").length === 1;

/** Whether a player, or whoever made that player's move which led to a ply, is the one person at the screen. */
export const isYou = (session, player, ply = Infinity) =>
  ply > session.foreign && isAlone(session) && session.seats[player]?.kind === "person";

/**
 * The name of a player, or of whoever made that player's move which led to a ply: of moves that were there
 * when the game was opened, only the colour is known.
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

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

/** Whether exactly one person plays, who can be spoken to as "you". */
export const isAlone = (session) => session.seats.filter((seat) => seat.kind === "person").length === 1;

/** Whether a player is the one person at the screen. */
export const isYou = (session, player) => isAlone(session) && session.seats[player]?.kind === "person";

/**
 * @param {import("./session.js").Session} session
 * @param {number} player
 */
export function nameOf(session, player) {
  const seat = session.seats[player];
  if (isYou(session, player)) return t("players.you");
  const agents = session.seats.filter(({ kind, spec }) => kind === "agent" && spec === seat?.spec);
  if (seat?.kind === "agent" && agents.length === 1) return agentName(seat.spec);
  return t(`players.colours.${player}`);
}

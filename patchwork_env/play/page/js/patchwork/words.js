/** Moves of Patchwork in words, for the status, the list of moves and screen readers. */

import { t } from "../language.js";
import { isYou, nameOf } from "../players.js";
import { cellName, parseWord } from "./actions.js";

/**
 * What the move that led to a position was.
 * @param {import("../backend.js").Position} position
 * @param {import("../view.js").App} app
 */
export function describe(position, { session }) {
  const move = parseWord(position.word);
  const before = session.line[position.ply - 1];
  const person = isYou(session, position.mover, position.ply) ? "you" : "other";
  const values = { player: nameOf(session, position.mover, position.ply) };
  if (move.kind === "advance") {
    const spaces = before
      ? position.state.positions[position.mover] - before.state.positions[position.mover]
      : 0;
    return t(`patchwork.did.${person}.advance`, {
      ...values,
      spaces: t("patchwork.spaces", { count: spaces }),
    });
  }
  return t(`patchwork.did.${person}.${move.kind}`, {
    ...values,
    patch: move.patch,
    cell: cellName(move.anchor),
  });
}

/** The move that led to a position, as short as it can be said. */
export function moveLabel(position) {
  const move = parseWord(position.word);
  if (move.kind === "advance") return t("patchwork.advance");
  return move.kind === "special" ? `▪ ${cellName(move.anchor)}` : `${move.patch} ${cellName(move.anchor)}`;
}

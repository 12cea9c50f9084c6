/** Moves of Patchwork in words and small pictures. */

import { icon } from "../elements.js";
import { number, product, t } from "../language.js";
import { isYou, nameOf } from "../players.js";
import { cellName, parseWord, SPECIAL_PATCH } from "./actions.js";
import { patchDrawing } from "./offers.js";
import { oriented, SPECIAL } from "./pieces.js";

/**
 * The last move of a position in words.
 * @param {import("../backend.js").Position} position
 * @param {import("../view.js").App} app
 */
export function describe(position, { session, components }) {
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
  return t(`patchwork.did.${person}.${move.kind}`, { ...values, ...termsOf(move, components) });
}

/** The price of the patch of a move, and its place. */
function termsOf({ patch, anchor }, { patches }) {
  const { buttons, time } = patches[patch] ?? {};
  return {
    buttons: t("patchwork.buttons", { count: buttons }),
    time: t("patchwork.spaces", { count: time }),
    cell: cellName(anchor),
  };
}

/** A move in words, without the player. */
export function moveLabel({ word }, { components }) {
  const move = parseWord(word);
  if (move.kind === "advance") return t("patchwork.advance");
  return t(`patchwork.move.${move.kind}`, termsOf(move, components));
}

/** The patch of a move in its orientation, and the cell of its top-left corner. */
export function drawMove({ word }, { components }) {
  const { kind, patch = SPECIAL_PATCH, orientation = 0, anchor } = parseWord(word);
  if (kind === "advance") return [icon("advance"), t("patchwork.advance")];
  const shape = oriented(components.patches[patch] ?? SPECIAL, orientation);
  return [patchDrawing(patch, shape, 0.5), cellName(anchor)];
}

/** The parts of the scores. */
export function scoreParts({ state, scores }, { components }) {
  const players = scores.map((_, player) => player);
  const { points } = components.bonus;
  const empty = (player) => state.quilts[player].filter((cell) => cell < 0).length;
  const costs = (player) => product(empty(player), -components.penalty);
  return [
    { label: t("patchwork.parts.buttons"), values: state.buttons.map((buttons) => number(buttons)) },
    {
      label: t("patchwork.parts.bonus"),
      values: players.map((player) => number(player === state.bonus_owner ? points : 0)),
    },
    { label: t("patchwork.parts.empty"), values: players.map(costs) },
  ];
}

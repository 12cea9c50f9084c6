/** Moves of NMBR 9 in words and small pictures. */

import { number, product, t } from "../language.js";
import { isYou, nameOf } from "../players.js";
import { parseWord, placementsOf } from "./actions.js";
import { groundOf, movedTo, shapeOf, surfaceOf, tilePicture } from "./tiles.js";

/**
 * The last move of a position in words.
 * @param {import("../backend.js").Position} position
 * @param {import("../view.js").App} app
 */
export function describe(position, { session, components }) {
  const move = parseWord(position.word);
  const person = isYou(session, position.mover, position.ply) ? "you" : "other";
  const values = { player: nameOf(session, position.mover, position.ply), digit: move.digit };
  if (move.kind === "choose") return t(`nmbr9.did.${person}.choose`, values);
  const level = levelOf(position, components);
  if (level === 0) return t(`nmbr9.did.${person}.lay`, values);
  return t(`nmbr9.did.${person}.place`, {
    ...values,
    level,
    points: t("nmbr9.points", { count: level * move.digit }),
  });
}

/** A move in words, without the player; row and column count from the first tile. */
export function moveLabel(position, { components }) {
  const { kind, ...move } = parseWord(position.word);
  if (kind === "choose") return t("nmbr9.tile", move);
  return t("nmbr9.cell.tile", { ...move, level: levelOf(position, components) });
}

/** The tile of a move in its orientation, its level, and before it is played also its row and column. */
export function drawMove(position, { components }) {
  const { kind, digit, orientation = 0, row, column } = parseWord(position.word);
  const picture = tilePicture(components, digit, orientation);
  if (kind === "choose") return [picture, `= ${number(digit)}`];
  const level = levelOf(position, components);
  const label = level ? `${number(digit)}×${number(level)}` : number(digit);
  return [picture, isPlayed(position) ? label : `${label} (${number(row)}, ${number(column)})`];
}

/** The level of the tile of a move, in the position after or before it. */
function levelOf(position, components) {
  const tiles = position.state.tables[position.mover];
  if (isPlayed(position)) return tiles.at(-1).level;
  const move = parseWord(position.word);
  const [{ row, column }] = placementsOf({ ...position, player: position.mover }, [position.word]);
  return groundOf(
    surfaceOf(tiles),
    movedTo(shapeOf(components, move.digit, move.orientation).cells, row, column),
  ).level;
}

/** Whether the move of a position has been played in it. */
function isPlayed({ word, mover, state }) {
  const tiles = state.tables[mover];
  return tiles.length > 0 && wordOf(tiles.at(-1), tiles[0]) === word;
}

const wordOf = ({ digit, orientation, row, column }, first) =>
  `${digit}/${orientation}@${row - first.row},${column - first.column}`;

/** The parts of the scores: the digits of each level. */
export function scoreParts({ state }) {
  const top = Math.max(...state.tables.flat().map(({ level }) => level));
  const sum = (tiles, level) => tiles.reduce((total, tile) => total + (tile.level === level ? tile.digit : 0), 0);
  return Array.from({ length: top }, (_, index) => index + 1).map((level) => ({
    label: t("nmbr9.level", { level }),
    values: state.tables.map((tiles) => product(sum(tiles, level), level)),
  }));
}

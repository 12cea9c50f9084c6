/** The game of Patchwork in a module: set-ups, moves, words and positions. */

import { Deepening } from "./patchwork_analysis.js";
import { placementOf, SPECIAL_PATCH } from "../patchwork/actions.js";
import { FIELDS, FORMAT, moveText, parseMove } from "../patchwork/notation.js";
import {
  oneOf,
  parseNumber,
  parseNumbers,
  refuse,
  seedOf,
  shorten,
  wholeNumber,
  wholeNumbers,
} from "./texts.js";

const EMPTY = -1;
const OFFERED = 3;

export class Patchwork {
  /** @param {import("./module.js").Module} module */
  constructor(module) {
    this.module = module;
    this.functions = module.functions;
    this.components = module.facts.components;
    this.format = FORMAT;
    this.fields = FIELDS;
  }

  /** Starts a new game; returns the fields of its set-up. */
  begin({ seed, variant, circle, first_player: first }) {
    const { variants, patches, players } = this.components;
    const print = oneOf(variant ?? variants[0], variants, "variant");
    this.functions.new_game(variants.indexOf(print), wholeNumber(first ?? 0, 0, players - 1, "first_player"));
    if (circle !== undefined && circle !== null) {
      if (seed !== undefined && seed !== null) refuse("give a seed or a circle, not both");
      this.module.write("circle", checkCircle(circle, patches.length));
    } else {
      this.module.seed(seedOf(seed));
      this.functions.shuffle();
    }
    this.quilts = Array.from({ length: players }, () => new Array(this.components.size ** 2).fill(EMPTY));
    return { variant: print, first: String(this.player()), circle: this.circle().join(",") };
  }

  /** Starts the game of a set-up; returns its fields in canonical form. */
  beginWith({ variant, first, circle }) {
    return this.begin({ variant, first_player: parseNumber(first), circle: parseNumbers(circle) });
  }

  /** The remaining patches, clockwise from the token. */
  circle() {
    return this.module.field("circle").slice(0, this.module.field("num_patches"));
  }

  offered() {
    return this.circle().slice(0, OFFERED);
  }

  /** The word of a legal action. */
  word(action) {
    return moveText(action, this.offered(), this.components.encoding);
  }

  /** The action of a word. */
  parse(word) {
    const action = parseMove(word, this.offered(), this.components.encoding);
    const offered = this.offered().join(", ");
    return action ?? refuse(`${shorten(word)} is not a move here; the offered patches are ${offered}`);
  }

  /** Plays an action; returns the player. */
  play(action) {
    const [player, offered] = [this.player(), this.offered()];
    if (!this.functions.play(action)) refuse(`${shorten(action)} is not legal for player ${player} now`);
    this.cover(this.quilts[player], offered, action);
    return player;
  }

  /** Records the patch of an action on the cells of a quilt. */
  cover(quilt, offered, action) {
    const { patch, cells } = this.covered(action, offered);
    for (const cell of cells) quilt[cell] = patch;
  }

  /** The patch of an action, and the cells that it covers. */
  covered(action, offered = this.offered()) {
    const { encoding, patches, size } = this.components;
    if (action >= encoding.special) return { patch: SPECIAL_PATCH, cells: [action - encoding.special] };
    if (action === encoding.advance) return { patch: EMPTY, cells: [] };
    const { slot, orientation, anchor } = placementOf(action, encoding);
    const { cells } = patches[offered[slot]].orientations[orientation];
    return { patch: offered[slot], cells: cells.map(([row, column]) => anchor + row * size + column) };
  }

  isOver() {
    return this.functions.is_over() !== 0;
  }

  player() {
    return this.module.field("current_player");
  }

  scores() {
    return [this.functions.score(0), this.functions.score(1)];
  }

  winners() {
    return this.isOver() ? [this.functions.winner()] : [];
  }

  /** The `state` of the position. */
  table() {
    const { variants, track } = this.components;
    const [variant, positions] = [variants[this.module.field("variant")], this.module.field("position")];
    return {
      variant,
      positions,
      buttons: this.module.field("buttons"),
      incomes: this.module.field("income"),
      circle: this.circle(),
      offered: this.offered(),
      bonus_owner: this.owner("bonus_owner"),
      first_finisher: this.owner("first_finisher"),
      pending_special: this.module.field("pending_special") !== 0,
      special_spaces: track.special_spaces[variant].filter((space) => space > Math.max(...positions)),
      quilts: this.quilts.map((quilt) => [...quilt]),
    };
  }

  /** The player in a field; null if there is none. */
  owner(field) {
    const player = this.module.field(field);
    return player < this.components.players ? player : null;
  }

  /** Analyses of increasing depth with a budget; the last one is marked as done. */
  analyses(budget, most) {
    return new Deepening(this, budget).analyses(most);
  }

  /** The words of other legal actions that lead to an equivalent position: a turned or flipped quilt. */
  alike(action) {
    const quilt = this.quilts[this.player()].map((patch) => patch !== EMPTY);
    const turns = symmetries(this.components.size).filter((turn) =>
      turn.every((after, cell) => quilt[after] === quilt[cell]),
    );
    if (turns.length === 1) return [];
    const offered = this.offered();
    const images = (other, turned) => {
      const { patch, cells } = this.covered(other, offered);
      return turned.map((turn) => `${patch}: ${cells.map((cell) => turn[cell]).sort()}`);
    };
    const own = new Set(images(action, turns));
    const legal = this.module.first("actions", this.functions.legal_actions());
    const isAlike = (other) => other !== action && own.has(images(other, [turns[0]])[0]);
    return legal.filter(isAlike).map((other) => this.word(other));
  }

  /** The words of a line of play; the game does not change. */
  words(actions) {
    const state = this.module.state();
    const words = actions.map((action) => {
      const word = this.word(action);
      this.functions.play(action);
      return word;
    });
    this.module.restore(state);
    return words;
  }
}

/** The turns and flips of a square: for each cell its new cell. The first is the identity. */
function symmetries(size) {
  const last = size - 1;
  const turn = (cells) => cells.map((_, cell) => cells[(cell % size) * size + last - Math.floor(cell / size)]);
  const flip = (cells) => cells.map((_, cell) => cells[cell + last - 2 * (cell % size)]);
  const turned = [Array.from({ length: size * size }, (_, cell) => cell)];
  while (turned.length < 4) turned.push(turn(turned.at(-1)));
  return [...turned, ...turned.map(flip)];
}

/** Validates a circle: each patch once, and the 1x2 patch last. */
function checkCircle(circle, count) {
  const patches = wholeNumbers(circle, 0, count - 1, "a patch in the circle");
  if (patches.length !== count || new Set(patches).size !== count) {
    refuse(`the circle has ${patches.length} patches; it must hold each of 0 to ${count - 1} once`);
  }
  const last = patches.at(-1);
  return last === 0 ? patches : refuse(`the circle ends in patch ${last}; it must end in patch 0`);
}

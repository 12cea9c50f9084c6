/**
 * The game on the table: all positions, the position that is shown (`ply`), and the players.
 *
 * A game is a line of positions. Undo, redo and clicks on a move only change `ply`. Another move from an
 * earlier position begins a new line, which becomes the game; the old line becomes one of the `variations`.
 * While the user explores, it is the other way round: the new line is a variation, and `leave()` returns to
 * the game. `adopt()` makes the line that is shown the game. No move is ever lost.
 *
 * Events, fired after the state has changed:
 * - `open`: another game is on the table.
 * - `change`: another position is shown. `detail` is `{animate, before, left}`. With `animate`, one move led
 *   here from the position `before`. `left` is the line that was the game until this move.
 */

import { compose, hash, headerOf } from "./notation.js";

/** @typedef {{kind: "person"}|{kind: "agent", spec: string}} Seat */

export const PERSON = Object.freeze({ kind: "person" });

/** @param {string} spec */
export const agentSeat = (spec) => Object.freeze({ kind: "agent", spec });

export class Session extends EventTarget {
  #backend;
  #main = [];
  #left = 0;
  #beside = [];
  #busy = false;
  #analysing = false;

  /** @param {import("./backend.js").Backend} backend */
  constructor(backend) {
    super();
    this.#backend = backend;
    this.header = "";
    /**
     * @type {import("./backend.js").Position[]} the line that is shown: the start and one position per move
     */
    this.line = [];
    this.ply = 0;
    /** @type {Seat[]} one for each player */
    this.seats = [];
    /** The seed of the game; null if it came from a notation. */
    this.seed = null;
    /** The number of moves that the game had when it was opened. */
    this.foreign = 0;
    this.exploring = false;
  }

  /** Whether analysis is on: the user may then move in an earlier position, which starts a variation. */
  get analysing() {
    return this.#analysing;
  }

  set analysing(analysing) {
    if (analysing === this.#analysing) return;
    this.#analysing = analysing;
    if (this.ply < this.line.length - 1) this.#tell("change");
  }

  /** The position that is shown. */
  get position() {
    return this.line[this.ply];
  }

  /** The positions of the game, also while a variation is shown. */
  get main() {
    return this.#main;
  }

  get game() {
    return this.position?.game;
  }

  get numPlayers() {
    return this.position?.scores.length ?? 0;
  }

  /** The game up to the position that is shown. */
  get notation() {
    return this.notationAt(this.ply);
  }

  /** The line that is shown, up to a ply. */
  notationAt(ply) {
    return compose(this.header, wordsOf(this.line.slice(0, ply + 1)));
  }

  /** The whole game, whatever position is shown. */
  get mainNotation() {
    return compose(this.header, wordsOf(this.#main));
  }

  /** The notations of the game and of its variations. */
  get lines() {
    return [this.#main, ...this.#beside].map((line) => compose(this.header, wordsOf(line)));
  }

  /** The game itself up to a ply. */
  mainNotationAt(ply) {
    return compose(this.header, wordsOf(this.#main.slice(0, ply + 1)));
  }

  /** The seed of an agent's choice in the position that is shown; the same game always gives the same seed. */
  get choiceSeed() {
    return (this.seed ?? hash(this.header)) + this.ply;
  }

  /**
   * Puts a game on the table.
   * @param {{notation: string, positions: import("./backend.js").Position[]}} opened
   * @param {object} options
   * @param {import("./backend.js").Position[][]} [options.beside] variations
   * @param {(numPlayers: number) => Seat[]} [options.seats]
   * @param {?number} [options.seed]
   * @param {number} [options.ply] the position to show; by default the last
   * @param {number} [options.foreign] how many moves others have made; by default all
   */
  put(
    { notation, positions },
    { beside = [], seats = () => [], seed = null, ply = Infinity, foreign = Infinity },
  ) {
    this.header = headerOf(notation);
    this.line = this.#main = positions;
    this.#beside = [];
    this.#keepBeside(...beside);
    this.ply = Math.min(ply, positions.length - 1);
    this.seed = seed;
    this.foreign = Math.min(foreign, positions.length - 1);
    this.exploring = false;
    this.seats = seats(this.numPlayers);
    while (this.seats.length < this.numPlayers) this.seats.push(PERSON);
    this.#tell("open");
  }

  /**
   * Plays a move in the position that is shown. Other moves after that position become a variation.
   * @param {number|string} move an action or a word
   * @returns {Promise<boolean>} false if another position was shown before the answer came
   */
  async play(move) {
    if (this.#busy) return false;
    this.#busy = true;
    try {
      if (this.#leaves(move)) this.explore();
      const before = this.notation;
      const { position } = await this.#backend.play(before, move);
      if (this.notation !== before) return false;
      this.#append(position);
      return true;
    } finally {
      this.#busy = false;
    }
  }

  #append(position) {
    const before = this.position;
    let left = null;
    if (this.line[this.ply + 1]?.word !== position.word) {
      const extended = [...this.line.slice(0, this.ply + 1), position];
      if (this.exploring) {
        this.line = this.#beside.find((line) => beginsWith(line, extended)) ?? extended;
        this.#keepBeside(extended);
      } else {
        if (this.ply < this.#main.length - 1) left = this.#main;
        this.#become(extended);
      }
    }
    this.ply += 1;
    this.#tell("change", { animate: true, before, left });
  }

  /** Makes a line the game; the previous line becomes a variation. */
  #become(line) {
    const left = this.#main;
    const same = line.findIndex(({ word }, ply) => word !== left[ply]?.word);
    if (same > 0) this.foreign = Math.min(this.foreign, same - 1);
    this.line = this.#main = line;
    this.#keepBeside(left);
  }

  /** Adds variations, and drops those that are only the beginning of another line. */
  #keepBeside(...lines) {
    const all = [...this.#beside, ...lines];
    const isContained = (line, at) =>
      beginsWith(this.#main, line) ||
      all.some((other, k) => k !== at && beginsWith(other, line) && (other.length > line.length || k > at));
    this.#beside = all.filter((line, at) => !isContained(line, at));
  }

  /** Whether a move now starts a variation. */
  #leaves(move) {
    const next = this.line[this.ply + 1];
    return (
      this.analysing && !this.exploring && next !== undefined && next.word !== move && next.action !== move
    );
  }

  /** Shows another position of the line; a step of one move forward is animated. */
  goto(ply) {
    const target = Math.max(0, Math.min(ply, this.line.length - 1));
    if (target === this.ply) return;
    const before = this.position;
    const animate = target === this.ply + 1;
    this.ply = target;
    this.#tell("change", { animate, before: animate ? before : null });
  }

  /** The ply that undo goes to: the last decision of a person, or the move before; null if there is none. */
  get undoPly() {
    return this.#decision(-1);
  }

  /** The ply that redo goes to; null if there is none. */
  get redoPly() {
    return this.#decision(1) ?? (this.ply < this.line.length - 1 ? this.line.length - 1 : null);
  }

  undo() {
    if (this.undoPly !== null) this.goto(this.undoPly);
  }

  redo() {
    if (this.redoPly !== null) this.goto(this.redoPly);
  }

  #decision(step) {
    const everyMove = this.exploring || !this.seats.some((seat) => seat.kind === "person");
    for (let ply = this.ply + step; ply >= 0 && ply < this.line.length; ply += step) {
      if (everyMove || this.seatOf(this.line[ply]).kind === "person") return ply;
    }
    return null;
  }

  /** @returns {Seat} the seat to move in a position */
  seatOf(position) {
    return this.seats[position.player] ?? PERSON;
  }

  /** Whether the user may move in the position that is shown. */
  get mayMove() {
    const isLookingBack = this.analysing && this.ply < this.line.length - 1;
    return (
      !this.position.over && (this.exploring || isLookingBack || this.seatOf(this.position).kind === "person")
    );
  }

  /** The spec of the agent to move; null on a person's turn or while another position is shown. */
  get agentToMove() {
    const waiting = !this.exploring && this.ply === this.line.length - 1 && !this.position.over;
    const seat = waiting ? this.seatOf(this.position) : PERSON;
    return seat.kind === "agent" ? seat.spec : null;
  }

  /** Starts exploring: moves make variations, and agents wait until `leave()`. */
  explore() {
    if (this.exploring) return;
    this.exploring = true;
    this.#left = this.ply;
    this.#tell("change", { animate: false, before: null });
  }

  /** Stops exploring, and returns to the game at a ply, by default where it was left. */
  leave(ply = this.#left) {
    if (!this.exploring) return;
    this.exploring = false;
    this.line = this.#main;
    this.ply = Math.min(ply, this.line.length - 1);
    this.#tell("change", { animate: false, before: null });
  }

  /** The variations, each with `from`, the first ply that differs from the game. */
  get variations() {
    return this.#beside
      .map((line) => ({ line, from: line.findIndex(({ word }, ply) => word !== this.#main[ply]?.word) }))
      .filter(({ from }) => from > 0);
  }

  /** Makes a line the game, and shows its end; by default the line and the position that are shown. */
  adopt(line = this.line, ply = line === this.line ? this.ply : line.length - 1) {
    this.exploring = false;
    this.#become(line);
    this.ply = ply;
    this.#tell("change", { animate: false, before: null });
  }

  /** Shows a variation at a ply. */
  revisit({ line }, ply) {
    if (!this.exploring) this.#left = this.ply;
    this.exploring = true;
    this.line = line;
    this.ply = Math.min(ply, line.length - 1);
    this.#tell("change", { animate: false, before: null });
  }

  #tell(type, detail = {}) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}

/** Whether a line starts with the moves of another. */
const beginsWith = (line, beginning) => beginning.every((position, ply) => position.word === line[ply]?.word);

const wordsOf = (positions) => positions.slice(1).map((position) => position.word);

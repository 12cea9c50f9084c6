/**
 * The game on the table: every position so far, where the page looks, and who sits at which seat.
 *
 * A game is a line of positions. Undo, redo and clicks on a move only change the position shown (`ply`).
 * Another move played there begins a new line, which is the game from then on; the old one stays beside it,
 * among the `variations`. While one explores, the new line is the one that stays beside the game, which comes
 * back with `leave()`. `adopt()` makes a line the game, so that no move is ever lost.
 *
 * Events: `open` (another game is on the table; its view may have to change), and `change` (another
 * position is shown; `detail` is `{animate, before, left}`: with `animate`, one move led here from the
 * position `before`; `left` is the line that was the game until now, if this move left it). Both tell of a
 * state that is already complete.
 */

import { compose, hash, headerOf } from "./notation.js";

/** The most variations of a game; older ones are dropped. */
const MOST_VARIATIONS = 15;

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

  /** @param {import("./backend.js").Backend} backend */
  constructor(backend) {
    super();
    this.#backend = backend;
    this.header = "";
    /**
     * @type {import("./backend.js").Position[]} the line that is shown: the start, then one after each move
     */
    this.line = [];
    this.ply = 0;
    /** @type {Seat[]} who plays, one for each player */
    this.seats = [];
    /** The seed that was chosen for the game; null if it came from a notation. */
    this.seed = null;
    /** The number of moves that the game had when it was opened. */
    this.foreign = 0;
    this.exploring = false;
    /**
     * Whether analysis is on: then moves from an earlier position are explored instead of changing the game.
     */
    this.analysing = false;
  }

  /** The position that is shown. */
  get position() {
    return this.line[this.ply];
  }

  /** The last position of the line. */
  get tip() {
    return this.line.at(-1);
  }

  /** The positions of the game itself, also while another line is explored. */
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

  /** Every line as a notation: first the game, then those beside it. */
  get lines() {
    return [this.#main, ...this.#beside].map((line) => compose(this.header, wordsOf(line)));
  }

  /** The game itself up to a ply. */
  mainNotationAt(ply) {
    return compose(this.header, wordsOf(this.#main.slice(0, ply + 1)));
  }

  /**
   * The seed of an agent's choice in the position that is shown: the same game is always played the same
   * way.
   */
  get choiceSeed() {
    return (this.seed ?? hash(this.header)) + this.ply;
  }

  /**
   * Puts a game on the table.
   * @param {{notation: string, positions: import("./backend.js").Position[]}} opened
   * @param {object} options
   * @param {import("./backend.js").Position[][]} [options.beside] other lines of the game
   * @param {(numPlayers: number) => Seat[]} [options.seats]
   * @param {?number} [options.seed] the one that the game was made with
   * @param {number} [options.ply] where to look; the end if left out
   * @param {number} [options.foreign] how many moves others have made; all if left out
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
   * Plays a move where the page looks. What came after stays beside it, unless it began with the same move.
   * @param {number|string} move an action or a word
   * @returns {Promise<boolean>} false if the page looked elsewhere before the answer came
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

  /** Makes a line the game; the one before stays beside it. */
  #become(line) {
    const left = this.#main;
    const same = line.findIndex(({ word }, ply) => word !== left[ply]?.word);
    if (same > 0) this.foreign = Math.min(this.foreign, same - 1);
    this.line = this.#main = line;
    this.#keepBeside(left);
  }

  /** Keeps lines beside the game, without those that are only the beginning of another one. */
  #keepBeside(...lines) {
    const all = [...this.#beside, ...lines];
    const isContained = (line, at) =>
      beginsWith(this.#main, line) ||
      all.some((other, k) => k !== at && beginsWith(other, line) && (other.length > line.length || k > at));
    this.#beside = all.filter((line, at) => !isContained(line, at)).slice(-MOST_VARIATIONS);
  }

  /** Whether a move now starts a variation, because an earlier position is shown. */
  #leaves(move) {
    const next = this.line[this.ply + 1];
    return (
      this.analysing && !this.exploring && next !== undefined && next.word !== move && next.action !== move
    );
  }

  /** Shows another position of the line; one move ahead is animated. */
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

  /** Who is to move in a position. @returns {Seat} */
  seatOf(position) {
    return this.seats[position.player] ?? PERSON;
  }

  /** Whether the person at the screen may move where the page looks. */
  get mayMove() {
    const isLookingBack = this.analysing && this.ply < this.line.length - 1;
    return (
      !this.position.over && (this.exploring || isLookingBack || this.seatOf(this.position).kind === "person")
    );
  }

  /** The spec of the agent that is to move now; null if it is a person's turn or the page looks elsewhere. */
  get agentToMove() {
    const waiting = !this.exploring && this.ply === this.line.length - 1 && !this.position.over;
    const seat = waiting ? this.seatOf(this.position) : PERSON;
    return seat.kind === "agent" ? seat.spec : null;
  }

  /** Lets moves leave the game from here on; agents rest until `leave()`. */
  explore() {
    if (this.exploring) return;
    this.exploring = true;
    this.#left = this.ply;
    this.#tell("change", { animate: false, before: null });
  }

  /** Comes back to the game, to a ply or to where it was left. */
  leave(ply = this.#left) {
    if (!this.exploring) return;
    this.exploring = false;
    this.line = this.#main;
    this.ply = Math.min(ply, this.line.length - 1);
    this.#tell("change", { animate: false, before: null });
  }

  /** The lines beside the game, each with the first ply at which it is not the game. */
  get variations() {
    return this.#beside
      .map((line) => ({ line, from: line.findIndex(({ word }, ply) => word !== this.#main[ply]?.word) }))
      .filter(({ from }) => from > 0);
  }

  /** Makes a line the game, which goes on at its end; without one, that which is explored, where one looks. */
  adopt(line = this.line, ply = line === this.line ? this.ply : line.length - 1) {
    this.exploring = false;
    this.#become(line);
    this.ply = ply;
    this.#tell("change", { animate: false, before: null });
  }

  /** Goes to a line beside the game. */
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

/** Whether a line is the beginning of another one. */
const beginsWith = (line, beginning) => beginning.every((position, ply) => position.word === line[ply]?.word);

const wordsOf = (positions) => positions.slice(1).map((position) => position.word);

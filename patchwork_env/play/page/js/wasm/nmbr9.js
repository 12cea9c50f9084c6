/** The game of NMBR 9 in a module: set-ups, moves, words and positions. */

import { Deepening } from "./nmbr9_analysis.js";
import { FIELDS, FORMAT, moveText, parseMove } from "../nmbr9/notation.js";
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

const NO_DIGIT = 10;
const FREE = "free";
const TURNS = 4;

export class Nmbr9 {
  /** @param {import("./module.js").Module} module */
  constructor(module) {
    this.module = module;
    this.functions = module.functions;
    this.components = module.facts.components;
    this.format = FORMAT;
    this.fields = FIELDS;
  }

  /** Starts a new game; returns the fields of its set-up. */
  begin({ seed, players, order, deck, rounds }) {
    const { numbers, components } = this.module.facts;
    const number = wholeNumber(players ?? 1, 1, components.players, "players");
    const known = oneOf(order ?? components.orders[0], components.orders, "order");
    const cards = deck === undefined || deck === null ? null : checkDeck(deck, numbers.max_cards);
    if (cards && seed !== undefined && seed !== null) refuse("give a seed or a deck, not both");
    const [highest, copies] = cards ? [0, cards.length] : [numbers.max_digit, numbers.copies];
    const size = copies * (highest + 1);
    const length = wholeNumber(rounds ?? size, 1, size, "deck_size");
    this.functions.new_game(number, components.orders.indexOf(known), highest, copies, length);
    if (cards) this.module.write("deck", known === FREE ? [...cards].sort() : cards);
    else if (known !== FREE) {
      this.module.seed(seedOf(seed));
      this.functions.shuffle();
    }
    const dealt = this.deck().join(",");
    return { players: String(number), order: known, rounds: String(length), deck: dealt };
  }

  /** Starts the game of a set-up; returns its fields in canonical form. */
  beginWith({ players, order, rounds, deck }) {
    const [number, length] = [parseNumber(players), parseNumber(rounds)];
    return this.begin({ players: number, order, rounds: length, deck: parseNumbers(deck) });
  }

  /** The word of a legal action. */
  word(action) {
    return moveText(action, this.digit(), this.corner(), this.components.encoding);
  }

  /** The action of a word. */
  parse(word) {
    const digit = this.digit();
    const middle = (orientation) => this.module.facts.numbers.middles[TURNS * digit + orientation];
    const action = parseMove(word, digit, this.corner(), this.components.encoding, middle);
    return action ?? refuse(`${shorten(word)} is not a move here; moves look like '7/3@-2,5' or '=7'`);
  }

  /** Plays an action; returns the player. */
  play(action) {
    const player = this.player();
    if (!this.functions.play(action)) refuse(`${shorten(action)} is not legal for player ${player} now`);
    return player;
  }

  isOver() {
    return this.functions.is_over() !== 0;
  }

  player() {
    return this.module.field("current_player");
  }

  scores() {
    const length = this.module.field("num_players");
    return Array.from({ length }, (_, player) => this.functions.score(player));
  }

  /** The players with the highest score, who share the win. */
  winners() {
    const scores = this.scores();
    const best = Math.max(...scores);
    return this.isOver() ? [...scores.keys()].filter((player) => scores[player] === best) : [];
  }

  /** The `state` of the position. */
  table() {
    const [players, digit, order] = [this.module.field("num_players"), this.digit(), this.order()];
    return {
      players,
      order,
      rounds: this.module.field("num_rounds"),
      round: this.module.field("round"),
      digit,
      choices: digit === null ? this.choices() : [],
      chosen: this.module.field("chosen").slice(0, players).map(digitOrNull),
      left: this.left(order),
      deck: this.knownDeck(order),
      tables: Array.from({ length: players }, (_, player) => this.tiles(player)),
    };
  }

  order() {
    return this.components.orders[this.module.field("order")];
  }

  /** The digit of the tile to place; null if a tile must be chosen or the game is over. */
  digit() {
    return digitOrNull(this.isOver() ? NO_DIGIT : this.functions.digit_to_place());
  }

  /** Analyses of increasing depth with a budget; the last one is marked as done. */
  analyses(budget, most) {
    return new Deepening(this, budget).analyses(most);
  }

  /** The digits to choose from. */
  choices() {
    const legal = this.module.first("actions", this.functions.legal_actions());
    return legal.map((action) => action - this.components.encoding.choose);
  }

  /** The number of remaining tiles of each digit. */
  left(order) {
    if (order === FREE) {
      this.functions.count_supply(this.isOver() ? 0 : this.player());
      return this.module.first("supply", NO_DIGIT);
    }
    const counts = new Array(NO_DIGIT).fill(0);
    for (const digit of this.deck().slice(this.knownDeck("unknown").length)) counts[digit] += 1;
    return counts;
  }

  deck() {
    return this.module.field("deck").slice(0, this.module.field("num_cards"));
  }

  /** The cards that players know, in order; in free order all tiles, ascending. */
  knownDeck(order) {
    const [round, rounds] = [this.module.field("round"), this.module.field("num_rounds")];
    const known = { free: Infinity, known: rounds, unknown: Math.min(round + 1, rounds) };
    return this.deck().slice(0, known[order]);
  }

  /** The top-left corner of the current player's first tile; null before it. */
  corner() {
    const player = this.player();
    if (!this.functions.num_placed(player)) return null;
    return [this.of("row", player)[0], this.of("column", player)[0]];
  }

  /** A field of the tiles on a player's table, in the order of placement. */
  of(field, player) {
    const start = player * this.module.facts.numbers.max_cards;
    return this.module.field(field).slice(start, start + this.functions.num_placed(player));
  }

  /** The tiles on a player's table. */
  tiles(player) {
    const [levels, rows, columns] = ["level", "row", "column"].map((field) => this.of(field, player));
    return this.of("piece", player).map((piece, tile) => {
      const digit = Math.floor(piece / TURNS);
      const { canonical, cells } = this.components.tiles[digit].orientations[piece % TURNS];
      const [row, column] = [rows[tile], columns[tile]];
      const covered = cells.map(([r, c]) => [row + r, column + c]);
      return { digit, level: levels[tile], orientation: canonical, row, column, cells: covered };
    });
  }
}

const digitOrNull = (digit) => (digit === NO_DIGIT ? null : digit);

function checkDeck(deck, most) {
  const digits = wholeNumbers(deck, 0, NO_DIGIT - 1, "a card of the deck");
  if (digits.length >= 1 && digits.length <= most) return digits;
  return refuse(`the deck has ${digits.length} cards; allowed are 1 to ${most}`);
}

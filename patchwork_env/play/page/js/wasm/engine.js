/** The rules and agents of both games in WebAssembly, with the functions of `Backend`. */

import { Module } from "./module.js";
import { Nmbr9 } from "./nmbr9.js";
import { Patchwork } from "./patchwork.js";
import { gameText, oneOf, parseGame, refuse, seedOf, shorten, wholeNumber, wordsOf } from "./texts.js";

const GAMES = { patchwork: Patchwork, nmbr9: Nmbr9 };
const DEFAULT_LINES = 5;
const MOST_ACTION = 2 ** 16;

export class Engine {
  /** @param {(name: string) => Promise<ArrayBuffer>} read reads a file of the modules */
  constructor(read) {
    this.read = read;
    this.games = {};
  }

  /** A game by its name; its module is loaded once. */
  load(name) {
    oneOf(name, Object.keys(GAMES), "game");
    this.games[name] ??= Module.load(name, this.read).then((module) => new GAMES[name](module));
    this.games[name].catch(() => delete this.games[name]); // the next call loads it again
    return this.games[name];
  }

  async agents(name, spec) {
    const game = await this.load(name);
    const { module } = game;
    if (spec) agentOf(game, spec);
    return module.facts.agents.map(({ spec, kind, level }) =>
      level === null ? { spec, kind } : { spec, kind, level },
    );
  }

  async open({ game: name, notation, ...options }) {
    if (notation === undefined || notation === null) {
      const game = await this.load(name);
      const fields = game.begin(options);
      return { notation: gameText(game.format, fields, []), positions: [positionOf(name, game, 0)] };
    }
    const found = nameOf(notation);
    if (name && name !== found) refuse(`the notation is that of a game of ${found}, not of ${name}`);
    const game = await this.load(found);
    const positions = [];
    const text = replay(game, notation, (ply, step) => positions.push(positionOf(found, game, ply, step)));
    return { notation: text, positions };
  }

  async play(notation, move) {
    const name = nameOf(notation);
    const game = await this.load(name);
    const text = replay(game, notation);
    const { fields, words } = parseGame(game.format, game.fields, text);
    const step = playMove(game, move);
    const position = positionOf(name, game, words.length + 1, step);
    return { notation: gameText(game.format, fields, [...words, step.word]), position };
  }

  async choose(notation, spec, { seed } = {}) {
    const game = await this.at(notation);
    const { call } = agentOf(game, spec);
    if (call.places && game.order() === "free") refuse(`agent ${shorten(spec)} does not choose digits`);
    if (call.draws) game.module.seed(seedOf(seed));
    const action = game.functions[call.name](...call.arguments);
    return { action, word: game.word(action) };
  }

  /** Deeper and deeper analyses; no other function may be called in between. */
  async *analyse(notation, { agent, lines = DEFAULT_LINES } = {}) {
    const game = await this.at(notation);
    const budget = agent ? agentOf(game, agent).analysis : game.module.facts.analysis;
    if (!budget) refuse(`agent ${shorten(agent)} cannot analyse`);
    yield* game.analyses(budget, lines);
  }

  /** The game after the moves of a notation; throws if it is over. */
  async at(notation) {
    const game = await this.load(nameOf(notation));
    await game.module.weighed();
    replay(game, notation);
    return game.isOver() ? refuse("the game is over") : game;
  }
}

function nameOf(notation) {
  if (typeof notation !== "string") refuse(`a game is written as text, not as ${shorten(notation)}`);
  return oneOf((wordsOf(notation)[0] ?? "").split("/", 1)[0], Object.keys(GAMES), "game");
}

/**
 * Plays the moves of a notation; calls `tell` for the start and after every move. Returns the canonical
 * notation.
 * @param {(ply: number, step?: {action: number, word: string, mover: number}) => void} tell
 */
function replay(game, notation, tell = () => {}) {
  const { fields, words } = parseGame(game.format, game.fields, notation);
  const begun = game.beginWith(fields);
  tell(0);
  const steps = words.map((word, k) => {
    const step = inMove(k + 1, () => playMove(game, word));
    tell(k + 1, step);
    return step;
  });
  return gameText(
    game.format,
    begun,
    steps.map((step) => step.word),
  );
}

/** Adds the number of the move to the message of an error. */
function inMove(number, playIt) {
  try {
    return playIt();
  } catch (error) {
    error.message = `move ${number}: ${error.message}`;
    throw error;
  }
}

function playMove(game, move) {
  if (game.isOver()) refuse(`${shorten(move)} comes after the end of the game`);
  const action = typeof move === "string" ? game.parse(move) : wholeNumber(move, 0, MOST_ACTION, "the move");
  const word = game.word(action);
  return { action, word, mover: game.play(action) };
}

function agentOf(game, spec) {
  const { agents } = game.module.facts;
  const agent = agents.find((known) => known.spec === spec || known.aliases.includes(spec));
  const specs = agents.map((known) => known.spec).join(", ");
  return agent ?? refuse(`this page has no agent ${shorten(spec)}; it has ${specs}`);
}

function positionOf(name, game, ply, step = null) {
  const over = game.isOver();
  return {
    game: name,
    ply,
    player: over ? null : game.player(),
    over,
    scores: game.scores(),
    winners: game.winners(),
    legal: game.module.first("actions", game.functions.legal_actions()),
    action: step?.action ?? null,
    word: step?.word ?? null,
    mover: step?.mover ?? null,
    state: game.table(),
  };
}

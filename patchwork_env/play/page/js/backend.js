/**
 * The interface of the page to the rules and agents: a server (server_backend.js) or WebAssembly
 * (wasm_backend.js).
 *
 * A backend is stateless: the page sends the game as a notation with every request. So nothing is lost by a
 * reload, a restart of the server, or two pages at once. All functions return promises and reject with a
 * `BackendError`. Its message is English; its `kind` names a text of the page in the chosen language.
 */

/**
 * @typedef {object} Position One moment of a game.
 * @property {"patchwork"|"nmbr9"} game
 * @property {number} ply how many moves led here
 * @property {number} player whose turn it is
 * @property {boolean} over
 * @property {number[]} scores
 * @property {number[]} winners empty until the game is over
 * @property {number[]} legal the legal actions, ascending
 * @property {?number} action the move that led here, as a number; null at the start
 * @property {?string} word the same as a word of the notation
 * @property {?number} mover the player who made it
 * @property {object} state the table; its fields depend on the game
 */

/**
 * @typedef {object} Analysis The analysis of a position by an agent, from the side of player 0.
 * @property {number} player
 * @property {?number} win the probability that player 0 wins, 0 to 1; null for one player alone
 * @property {number} margin the points that player 0 is expected to be ahead
 * @property {number[]} [scores] expected scores, in NMBR 9
 * @property {number} depth visits so far
 * @property {boolean} done
 * @property {{action: number, word: string, win: ?number, margin: number, visits: number, exact: boolean,
 *   line: string[], movers?: number[], alike?: string[]}[]} lines the best moves first, each with how the
 *   game goes on, the player of each of those moves, and other words for the first that lead to the same
 *   position
 */

/**
 * @typedef {object} Backend
 * @property {(setup: object) => Promise<{notation: string, positions: Position[]}>} open
 *   `setup` is `{game, seed?, variant?, circle?, first_player?, players?, order?, deck?}` or `{notation}`;
 *   the positions are the start, then one after each move
 * @property {(notation: string, move: string|number) => Promise<{notation: string, position: Position}>} play
 *   a word of the notation or an action; rejects illegal ones
 * @property {(notation: string, agent: string, options: {seed?: number, signal?: AbortSignal,
 *   onprogress?: (progress: {progress: string, key?: string}) => void}) =>
 *   Promise<{action: number, word: string}>} choose an agent's move
 * @property {(notation: string, options: {agent?: string, lines?: number, signal?: AbortSignal,
 *   onprogress?: function, onanalysis?: (analysis: Analysis) => void}) => Promise<Analysis>} analyse
 *   calls `onanalysis` with ever deeper ones until it is done or aborted; resolves to the last
 * @property {(game: string, spec?: string) => Promise<{spec: string, kind: "partner"|"champion"|"other", level?:
 *   (number|string)}[]>} agents what can be chosen as an opponent;
 *   rejects where it cannot load `spec`, which need not be among them, or where that does not play the game
 */

/** An error of a backend or of an agent. */
export class BackendError extends Error {
  /**
   * @param {string} message
   * @param {{lost?: boolean, status?: number}} details `lost` if the backend did not answer at all; `status`
   *   is that of HTTP
   */
  constructor(message, { lost = false, status = 0 } = {}) {
    super(message);
    this.name = "BackendError";
    this.lost = lost;
    this.status = status;
  }
}

/** Whether an error only means that the request was cancelled. */
export const isAbort = (error) => error?.name === "AbortError";

/**
 * A backend whose errors name the failed request.
 * @param {Backend} backend
 * @param {() => void} onanswer is called after every answer
 */
export function tellingKinds(backend, onanswer) {
  const asked = Object.entries(backend);
  return Object.fromEntries(asked.map(([question, ask]) => [question, tellingKind(question, ask, onanswer)]));
}

function tellingKind(question, ask, onanswer) {
  return async (...given) => {
    try {
      const answer = await ask(...given);
      onanswer();
      return answer;
    } catch (error) {
      const kind = error.status >= 500 ? "server" : KINDS[question];
      throw Object.assign(error, typeof kind === "function" ? kind(...given) : { kind });
    }
  };
}

/** The names of the error texts of each function of a backend. */
const KINDS = {
  open: ({ notation }) => ({ kind: notation === undefined ? "setUp" : "text" }),
  play: "move",
  choose: (notation, agent) => ({ kind: "agent", agent }),
  analyse: "analysis",
  agents: (game, agent) => (agent ? { kind: "agent", agent } : { kind: "server" }),
};

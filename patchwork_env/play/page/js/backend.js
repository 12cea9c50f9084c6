/**
 * The interface of the page to the rules and agents: a server (server_backend.js) or WebAssembly
 * (wasm_backend.js).
 *
 * A backend is stateless: the page sends the game as a notation with every request. A reload, a restart of
 * the server or a second page loses nothing. All functions return promises and reject with a `BackendError`,
 * whose message is English and whose `kind` names a text of the page.
 */

/**
 * @typedef {object} Position A position of a game.
 * @property {"patchwork"|"nmbr9"} game
 * @property {number} ply the number of moves before it
 * @property {number} player the player to move
 * @property {boolean} over
 * @property {number[]} scores
 * @property {number[]} winners empty until the game is over
 * @property {number[]} legal the legal actions, ascending
 * @property {?number} action the last action; null at the start
 * @property {?string} word the last action in notation
 * @property {?number} mover the player of the last action
 * @property {object} state the table; its fields depend on the game
 */

/**
 * @typedef {object} Analysis The analysis of a position, from the view of player 0.
 * @property {number} player
 * @property {?number} win the probability that player 0 wins, 0 to 1; null with a single player
 * @property {number} margin the expected margin of player 0, in points
 * @property {number[]} [scores] expected scores, in NMBR 9
 * @property {number} depth visits so far
 * @property {boolean} done
 * @property {{action: number, word: string, win: ?number, margin: number, visits: number, exact: boolean,
 *   line: string[], movers?: number[], alike?: string[]}[]} lines the best moves first. `line`: the expected
 *   continuation, `movers`: its players, `alike`: other words that lead to an equivalent position
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
 *   calls `onanalysis` with deeper and deeper analyses until it is done or aborted; resolves to the last
 * @property {(game: string, spec?: string) => Promise<{spec: string, kind: "partner"|"champion"|"other", level?:
 *   (number|string)}[]>} agents the opponents to choose from; rejects if `spec`, which may be another agent,
 *   cannot be loaded or does not play the game
 */

/** An error of a backend or of an agent. */
export class BackendError extends Error {
  /**
   * @param {string} message
   * @param {{lost?: boolean, status?: number}} details `lost`: the backend did not answer; `status`: of HTTP
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

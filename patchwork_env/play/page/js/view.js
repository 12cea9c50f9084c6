/**
 * The interface of a game's view. Each game has a module `js/GAME/view.js` that exports `view`; main.js
 * mounts it and shows it every position.
 *
 * A view draws boards, offers and the piece in hand. It turns clicks, drags and keys into actions and plays
 * them with `app.play(action)`. It knows no rules: `position.legal` lists the legal actions. It does not use
 * the backend, and its only state is the piece in hand.
 */

/**
 * @typedef {object} View
 * @property {(choices: object) => number} numPlayers the number of players with these choices
 * @property {(root: HTMLElement, app: App) => void} mount builds the elements in the empty `root`, with
 *   the data-roles that docs/play/from_inside.md lists
 * @property {() => void} unmount removes listeners outside `root`
 * @property {(position: Position, options: {animate: boolean, before: ?Position}) => Promise<void>} show
 *   draws a position. With `animate`, it animates the move from `before`, the position one ply earlier, and
 *   resolves at its end; a newer call stops an older one. All texts are written again, because the language
 *   may have changed. `app.mayMove()` tells whether the user may take a piece
 * @property {(words: string[]) => void} preview draws moves from the position shown as ghosts, for hints and
 *   lines of analysis; the first is emphasised, and `[]` removes them
 * @property {(pressed: {key: string, shiftKey: boolean, target: Element}) => boolean} key handles a key outside of text fields; true if it was used
 * @property {(position: Position) => string} describe the last move as a sentence, for the status and for
 *   screen readers ("Blue buys patch 12 and places it at d5.")
 * @property {(position: Position) => string} moveLabel a move without the player. Also for a move that was not
 *   played: `position` is then the one before it, with the `word` and `mover` of the move
 * @property {(position: Position) => [SVGElement, string]} drawMove a small picture of the move's piece, and
 *   its place
 * @property {(position: Position) => {label: string, values: string[]}[]} scoreParts the sources of the
 *   points: a name and a value for each player
 * @property {() => SVGSVGElement} picture the position as one drawing that needs no style sheet
 * @property {SetUpField[]} setUp the questions of the new-game dialog besides opponent and seat
 * @property {{key: string, text: string}[]} keys the keys of this view and the names of their texts
 */

/**
 * @typedef {object} SetUpField One question of the new-game dialog; its answer goes to `backend.open`.
 * @property {string} name of the field in `backend.open`, and in the address: "variant", "order", …
 * @property {string} label the name of its text
 * @property {{value: string, label: string}[]} [options] the values and the names of their texts; without
 *   them, the question is a text field
 * @property {string} [initial]
 * @property {(text: string) => any} [parse] converts the text for `backend.open`
 */

/**
 * @typedef {object} App The page, as views and panels see it.
 * @property {import("./backend.js").Backend} backend
 * @property {import("./session.js").Session} session
 * @property {object} components of the game on the table
 * @property {View} view
 * @property {(move: number|string) => Promise<boolean>} play plays a move of the user in the
 *   position that is shown. It waits for a lost server and shows other errors; true if the move was played
 * @property {() => boolean} mayMove whether the user may move now
 * @property {(player: number) => string} nameOf "You", the name of an agent's level, or a colour
 * @property {() => number} perspective the player whose board is large
 * @property {typeof import("./notices.js").notify} notify
 * @property {typeof import("./notices.js").notifyError} fail
 * @property {() => void} review starts a review of the game
 * @property {(text: string) => void} announce announces a text to screen readers
 */

const GAMES = { patchwork: () => import("./patchwork/view.js"), nmbr9: () => import("./nmbr9/view.js") };

export const gameNames = Object.keys(GAMES);

/**
 * @param {string} game
 * @returns {Promise<View>}
 */
export async function loadView(game) {
  return (await GAMES[game]()).view;
}

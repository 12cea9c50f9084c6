/**
 * What the page asks of the drawing of a game. Each game has a module `js/GAME/view.js` that exports `view`;
 * main.js mounts it for the game that is on the table and tells it every position.
 *
 * A view draws boards, offers and the piece in hand, turns clicks, drags and keys into actions, and sends
 * them with `app.play(action)`. It knows no rules: what is legal stands in `position.legal`. It never asks
 * the backend itself, and keeps no state of the game beyond the piece in hand.
 */

/**
 * @typedef {object} View
 * @property {string} name the game: "patchwork" or "nmbr9"
 * @property {(choices: object) => number} numPlayers how many play, as chosen
 * @property {(root: HTMLElement, app: App) => void} mount builds the elements into the empty `root`.
 *   `app.components` is there. Offers, cells, hand, turn, flip, advance and scores carry the data-roles that
 *   docs/play/from_inside.md lists
 * @property {() => void} unmount forgets listeners on anything outside `root`, which is then emptied
 * @property {(position: Position, options: {animate: boolean, before: ?Position}) => Promise<void>} show
 *   draws a position; with `animate`, moves there from `before` (the position one ply earlier) and resolves
 *   at rest. A newer call may come before the older has ended: then the older one stops. Draws all texts
 *   anew, since the language may have changed. Asks `app.mayMove()` whether the person at the screen may take
 *   something in hand
 * @property {(words: string[]) => void} preview draws moves as ghosts on the boards (the first strongly, its
 *   followers lightly), for hints and lines of analysis; `[]` takes them away. They start from the position
 *   shown
 * @property {(event: KeyboardEvent) => boolean} key handles a key outside of text fields; true if it was used
 * @property {(position: Position) => string} describe what the move that led here was, in words, for the
 *   status and for screen readers ("Blue buys patch 12 and places it at d5.")
 * @property {(position: Position) => string} moveLabel the same without who did it, also of a move that was not
 *   played yet, in the position before it
 * @property {(position: Position) => [SVGElement, string]} drawMove the same for lists: a tiny picture of the
 *   piece as it lies, and where
 * @property {(position: Position) => {label: string, values: string[]}[]} scoreParts what the points are made
 *   of: for each source its name, and a sum for each player
 * @property {() => SVGSVGElement} picture the position as one drawing that needs no style sheet
 * @property {SetUpField[]} setUp what the dialog of a new game asks besides opponent and seat
 * @property {{key: string, text: string}[]} keys the keys of this view, with the names of their texts, for
 *   the help dialog
 */

/**
 * @typedef {object} SetUpField One question of the new-game dialog; its answer goes to `backend.open`.
 * @property {string} name of the field in `backend.open`, and in the address: "variant", "order", …
 * @property {string} label the name of its text
 * @property {{value: string, label: string}[]} [options] what can be chosen, with the names of their texts;
 *   without them, it is a text field
 * @property {string} [initial]
 * @property {(text: string) => any} [parse] from what is written to what `backend.open` gets; undefined
 *   leaves it out
 */

/**
 * @typedef {object} App What main.js hands to views and panels.
 * @property {import("./backend.js").Backend} backend
 * @property {import("./session.js").Session} session
 * @property {object} components of the game on the table
 * @property {View} view
 * @property {(move: number|string) => Promise<boolean>} play plays a move of the person at the screen,
 *   where the page looks just now, and shows what went wrong if it cannot, or waits for a lost server; true
 *   if it was played
 * @property {() => boolean} mayMove whether the person at the screen may move now
 * @property {(player: number) => string} nameOf the name of a player: "You", that of an agent's level, or a
 *   colour
 * @property {() => number} perspective the player whose board is drawn large
 * @property {typeof import("./notices.js").notify} notify
 * @property {typeof import("./notices.js").notifyError} fail
 * @property {() => void} review reviews the game on the table
 * @property {(text: string) => void} announce says something to screen readers
 */

const GAMES = { patchwork: () => import("./patchwork/view.js"), nmbr9: () => import("./nmbr9/view.js") };

/** The names of the games that the page knows. */
export const gameNames = Object.keys(GAMES);

/**
 * @param {string} game
 * @returns {Promise<View>}
 */
export async function loadView(game) {
  return (await GAMES[game]()).view;
}

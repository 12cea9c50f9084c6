/** The part of a table that both games share: the position, the hand, its ghost and its clicks. */

import { t } from "./language.js";
import { isPlaced } from "./pointing.js";

export const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

/**
 * A game derives from this class and has `boards` (one for each player), `draw(position, animate)`,
 * `drawHand()`, `handGhost()`, `placeText()`, `source(position, before)` and
 * `animate(position, before, from, signal)`.
 */
export class GameTable {
  #motion = new AbortController();

  /**
   * @param {HTMLElement} root
   * @param {import("./view.js").App} app
   * @param {EventTarget} hand
   */
  constructor(root, app, hand) {
    Object.assign(this, { root, app, hand });
    this.position = null;
    /** The ghosts of `preview`, each with its `player`. */
    this.previewed = [];
    /** The box on the screen of a piece that was just dropped; null after a click. */
    this.dropped = null;
    hand.addEventListener("change", () => this.position && this.drawHand());
  }

  close() {
    this.#motion.abort();
  }

  get components() {
    return this.app.components;
  }

  /** The board of the player to move. */
  get board() {
    return this.boards[this.position.player ?? 0];
  }

  async show(position, { animate = false, before = null } = {}) {
    this.#motion.abort();
    const { signal } = (this.#motion = new AbortController());
    const from = animate && before ? this.source(position, before) : null;
    this.dropped = null;
    this.previewed = [];
    this.position = position;
    this.draw(position, animate);
    this.hand.begin(position, this.app.mayMove());
    if (animate && before) await this.animate(position, before, from, signal);
  }

  drawGhosts() {
    const { hand, boards } = this;
    const ghosts = boards.map(() => []);
    for (const { player, ...ghost } of this.previewed) ghosts[player].push(ghost);
    if (!hand.isEmpty && hand.anchor !== null) ghosts[this.position.player].push(this.handGhost());
    boards.forEach((board, player) => board.ghosts(ghosts[player]));
  }

  clicked(player, anchor, byTouch) {
    if (this.hand.isEmpty || player !== this.position.player) return;
    if (isPlaced(this.hand, anchor, byTouch)) this.place();
    else if (this.hand.fits(this.hand.anchor)) this.app.notify({ text: t("page.tapAgain") });
  }

  /** Places the piece at its ghost, or says why it does not fit there. */
  place() {
    const { anchor } = this.hand;
    if (anchor === null) return;
    if (this.hand.fits(anchor)) this.drop(anchor, null);
    else this.app.notify({ text: this.placeText() });
  }

  drop(anchor, box) {
    this.dropped = box;
    this.app.play(this.hand.actionAt(anchor));
  }

  /** Focuses the ghost, so that a screen reader announces its place and whether it fits. */
  focusGhost() {
    if (this.hand.anchor !== null) focusCell(this.board, this.hand.anchor, this.placeText());
  }
}

/** Describes and focuses a cell of a board. */
export function focusCell(board, anchor, note) {
  board.point(anchor, note);
  board.cell(anchor)?.focus({ preventScroll: true });
}

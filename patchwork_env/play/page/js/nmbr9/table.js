/** The table of NMBR 9: shows positions, and handles clicks, drags and keys. */

import { draggable } from "../drag.js";
import { element, setAttribute } from "../elements.js";
import { GameTable } from "../game_table.js";
import { number, t } from "../language.js";
import { fly } from "../motion.js";
import { isAlone, nameOf } from "../players.js";
import { followPointer } from "../pointing.js";
import { chooseAction, parseWord, placementsOf, STRIDE } from "./actions.js";
import { Board } from "./board.js";
import { Hand } from "./hand.js";
import { HandPanel, placeText } from "./hand_panel.js";
import { handleKey } from "./keyboard.js";
import { picture } from "./picture.js";
import { Plate } from "./plate.js";
import { Supply } from "./supply.js";
import { groundOf, movedTo, shapeOf, surfaceOf, tilePicture } from "./tiles.js";

export class Table extends GameTable {
  /**
   * @param {HTMLElement} root
   * @param {import("../view.js").App} app
   */
  constructor(root, app) {
    const { components } = app;
    super(root, app, new Hand(components));
    this.panel = new HandPanel(components, this.hand, () => this.#taken());
    this.supply = new Supply(components, (digit) => this.choose(digit));
    this.boards = [];
    this.plates = [];
    this.sides = element("div", { class: "tables" });
    root.append(this.sides, this.panel.element, this.supply.element);
    draggable(this.panel.piece, this.#holder());
    draggable(this.panel.card, this.#holder());
  }

  /** The `table` of `draggable`. */
  #holder() {
    return {
      hand: this.hand,
      area: () => ({ box: this.board.box, stride: STRIDE, ...this.board.area }),
      drawing: () => tilePicture(this.components, this.hand.digit, this.hand.orientation, 0),
      drop: (anchor, box) => this.drop(anchor, box),
      take: () => !this.hand.isEmpty,
    };
  }

  /** Creates a table for each player. */
  #seat(players) {
    this.boards = Array.from(
      { length: players },
      (_, player) => new Board(this.components, player, (...cell) => this.clicked(...cell)),
    );
    this.plates = this.boards.map((board) => new Plate(board.player));
    this.sides.replaceChildren(
      ...this.boards.map((board, player) =>
        element("section", { class: `player player-${player}` }, this.plates[player].element, board.element),
      ),
    );
    this.sides.dataset.players = players;
    for (const board of this.boards)
      followPointer(board.grid, STRIDE, this.hand, () => !this.hand.isEmpty && board === this.board);
  }

  close() {
    super.close();
    this.root.removeAttribute("data-over");
  }

  // --- showing ---

  draw(position, smooth) {
    const { session } = this.app;
    if (this.boards.length !== position.state.players) this.#seat(position.state.players);
    this.boards.forEach((board, player) => {
      const name = nameOf(session, player);
      const mayGrow = !position.over && (session.exploring || session.seats[player]?.kind === "person");
      this.plates[player].show(position, { name });
      board.show(position, { name, mayGrow, smooth });
    });
    const near =
      isAlone(session) && !session.exploring
        ? this.app.perspective()
        : (position.player ?? this.app.perspective());
    this.sides.classList.toggle("even", !isAlone(session));
    [...this.sides.children].forEach((side, player) => {
      side.classList.toggle("near", player === near);
      side.classList.toggle("far", player !== near);
    });
  }

  drawHand() {
    const { position } = this;
    setAttribute(this.root, "data-over", position.over);
    this.panel.element.hidden = this.supply.element.hidden = position.over;
    this.panel.show(position);
    this.supply.show(position, this.hand.digits);
    for (const board of this.boards)
      board.element.classList.toggle("open", !this.hand.isEmpty && board === this.board);
    this.drawGhosts();
  }

  handGhost() {
    const { digit, orientation, anchor } = this.hand;
    const { level } = this.hand.groundAt(anchor);
    const place = { digit, orientation, row: Math.floor(anchor / STRIDE), column: anchor % STRIDE };
    if (!this.hand.fits(anchor)) return { ...place, level: 0, tag: null, tone: "refused" };
    return {
      ...place,
      level,
      tag: level ? number(level * digit, { signDisplay: "always" }) : null,
      tone: "fits",
    };
  }

  /** Draws moves as ghosts. */
  preview(words) {
    const texts = words.map((move) => move.word ?? move);
    this.previewed = placementsOf(this.position, texts).map((ghost, index) => {
      const { cells } = shapeOf(this.components, ghost.digit, ghost.orientation);
      const surface = surfaceOf(this.position.state.tables[ghost.player]);
      const { level } = groundOf(surface, movedTo(cells, ghost.row, ghost.column));
      const tag = texts.length > 1 ? number(index + 1) : null;
      return { ...ghost, level: index ? 0 : level, tag, tone: index ? "later" : "hint" };
    });
    this.drawGhosts();
  }

  // --- moving ---

  /** The box on the screen from which a tile flies: that of the drag, null after a click, else the card. */
  source() {
    if (this.dropped) return this.dropped;
    return this.hand.isEmpty ? this.panel.element.getBoundingClientRect() : null;
  }

  async animate(position, before, from, signal) {
    if (!from || parseWord(position.word).kind === "choose") return;
    const tiles = position.state.tables[position.mover];
    const { row, column, orientation, digit } = tiles.at(-1);
    const board = this.boards[position.mover];
    const corner = board.cell(row * STRIDE + column)?.getBoundingClientRect();
    const tile = board.tile(tiles.length - 1);
    if (!corner || !tile) return;
    const { height, width } = shapeOf(this.components, digit, orientation);
    tile.style.visibility = "hidden";
    const to = new DOMRect(corner.x, corner.y, corner.width * width, corner.height * height);
    await fly(tilePicture(this.components, digit, orientation, 0), from, to, signal);
    tile.style.visibility = "";
  }

  // --- playing ---

  /** Explains why the card gives no tile. */
  #taken() {
    if (this.hand.isEmpty)
      this.app.notify({ text: t(this.position.over ? "nmbr9.reason.over" : "nmbr9.reason.turn") });
  }

  choose(digit) {
    if (this.hand.digits.has(digit)) this.app.play(chooseAction(this.components.encoding, digit));
  }

  placeText() {
    return placeText(this.hand);
  }

  key(event) {
    return handleKey(this, event);
  }

  picture() {
    return picture(this);
  }
}

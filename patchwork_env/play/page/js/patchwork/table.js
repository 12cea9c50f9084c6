/** The table of Patchwork: shows positions, and handles clicks, drags and keys. */

import { draggable } from "../drag.js";
import { element, reducedMotion, svg } from "../elements.js";
import { GameTable } from "../game_table.js";
import { t } from "../language.js";
import { count, fly, walk } from "../motion.js";
import { isAlone, nameOf } from "../players.js";
import { followPointer } from "../pointing.js";
import { parseWord, SIZE, SPECIAL_PATCH } from "./actions.js";
import { definitions } from "./fabric.js";
import { Hand } from "./hand.js";
import { HandPanel } from "./hand_panel.js";
import { handleKey } from "./keyboard.js";
import { Offers, patchDrawing } from "./offers.js";
import { picture } from "./picture.js";
import { oriented, SPECIAL } from "./pieces.js";
import { Plate } from "./plate.js";
import { Quilt } from "./quilt.js";
import { Track } from "./track.js";

const PLAYERS = [0, 1];
const NARROW = matchMedia("(max-width: 63.99rem)");

export class Table extends GameTable {
  #closing = new AbortController();

  /**
   * @param {HTMLElement} root
   * @param {import("../view.js").App} app
   */
  constructor(root, app) {
    const { components } = app;
    super(root, app, new Hand(components));
    this.boards = PLAYERS.map((player) => new Quilt(player, (...cell) => this.clicked(...cell)));
    this.plates = PLAYERS.map((player) => new Plate(player));
    this.track = new Track(components);
    this.offers = new Offers(components, (slot) => this.#taken(slot));
    this.panel = new HandPanel(this.hand, () => this.advance());
    this.sides = PLAYERS.map((player) =>
      element(
        "section",
        { class: `player player-${player}` },
        this.plates[player].element,
        this.boards[player].element,
      ),
    );
    root.append(
      svg("svg", { class: "definitions", width: 0, height: 0, "aria-hidden": "true" }, definitions()),
      ...this.sides,
      this.panel.element,
      this.offers.element,
      this.track.element,
    );
    this.#listen();
  }

  #listen() {
    const { signal } = this.#closing;
    NARROW.addEventListener("change", () => this.position && this.#arrange(), { signal });
    const table = {
      hand: this.hand,
      area: () => ({ box: this.board.box, top: 0, left: 0, rows: SIZE, columns: SIZE, stride: SIZE }),
      drawing: () => patchDrawing(this.hand.patch, this.hand.shape, 0),
      drop: (anchor, box) => this.drop(anchor, box),
      take: (target) => this.#takenUp(target),
    };
    draggable(this.offers.cards, table);
    draggable(this.panel.piece, table);
    for (const quilt of this.boards)
      followPointer(quilt.grid, SIZE, this.hand, () => !this.hand.isEmpty && quilt === this.board);
  }

  close() {
    super.close();
    this.#closing.abort();
  }

  /** The circle of patches at the start of the game. */
  get starting() {
    return this.app.session.line[0].state.circle;
  }

  // --- showing ---

  draw(position) {
    const { components, session } = this.app;
    const { state } = position;
    const names = PLAYERS.map((player) => nameOf(session, player));
    const last = position.word ? parseWord(position.word) : null;
    for (const player of PLAYERS) {
      const [track, bonus] = [components.track.length, components.bonus.points];
      this.plates[player].show(position, { name: names[player], track, bonus });
      this.boards[player].show(state.quilts[player], components, {
        name: names[player],
        bonus: state.bonus_owner === player,
        last:
          last && last.kind !== "advance" && position.mover === player
            ? { patch: last.patch ?? SPECIAL_PATCH, anchor: last.anchor }
            : null,
      });
    }
    this.track.show(position, names);
    this.#arrange();
  }

  /** Places the large quilt: that of the only person, or on narrow windows of the player to move. */
  #arrange() {
    const { session } = this.app;
    const follows = NARROW.matches && (session.exploring || !isAlone(session));
    const { player, mover } = this.position; // player is null when the game is over
    const near = follows ? (player ?? mover) : this.app.perspective();
    this.root.classList.toggle("even", !isAlone(session) || this.position.over);
    this.sides.forEach((side, player) => {
      side.classList.toggle("near", player === near);
      side.classList.toggle("far", player !== near);
    });
  }

  drawHand() {
    const { position } = this;
    this.offers.show(position, this.hand);
    this.panel.show({ gain: this.#gain });
    this.panel.element.hidden = position.over;
    this.root.classList.toggle("holding", !this.hand.isEmpty);
    for (const quilt of this.boards)
      quilt.element.classList.toggle("open", !this.hand.isEmpty && quilt === this.board);
    this.drawGhosts();
  }

  get #gain() {
    const { player, state } = this.position;
    return (
      Math.min(this.components.track.length, state.positions[1 - player] + 1) - state.positions[player]
    );
  }

  handGhost() {
    const { patch, shape, anchor } = this.hand;
    return { patch, shape, anchor, tone: this.hand.fits(anchor) ? "fits" : "refused" };
  }

  /** Draws moves as ghosts. Only the player of the first follows from the position; others come with `player`. */
  preview(words) {
    const moves = words.map((word) =>
      typeof word === "string" ? { word, player: this.position.player } : word,
    );
    this.previewed = moves.flatMap(({ word, player }, index) => {
      const move = parseWord(word);
      if (move.kind === "advance") return [];
      const patch = move.patch ?? SPECIAL_PATCH;
      const piece = move.kind === "buy" ? this.components.patches[patch] : SPECIAL;
      return [
        {
          player,
          patch,
          shape: oriented(piece, move.orientation ?? 0),
          anchor: move.anchor,
          tone: index === 0 ? "hint" : "later",
          number: moves.length > 1 ? index + 1 : null,
        },
      ];
    });
    this.panel.advance.classList.toggle("suggested", moves[0]?.word === "+");
    this.drawGhosts();
  }

  // --- moving ---

  /** The box on the screen from which the piece of a move flies: that of the drag, or its card. */
  source(position, before) {
    const move = parseWord(position.word);
    if (move.kind === "advance") return null;
    if (this.dropped) return this.dropped;
    const own = !this.hand.isEmpty && before?.player === this.position.player;
    if (own) return null;
    const card =
      move.kind === "buy"
        ? this.offers.cards.querySelector(`[data-patch="${move.patch}"] .patch-drawing`)
        : this.track.element;
    return card?.getBoundingClientRect() ?? null;
  }

  async animate(position, before, from, signal) {
    const player = position.mover;
    const [start, end] = [before.state.positions[player], position.state.positions[player]];
    if (end > start) this.track.place(player, start);
    const counted = this.#count(player, before.state.buttons[player], position.state.buttons[player], signal);
    await this.#flight(position, from, signal);
    if (signal.aborted) return;
    if (end > start)
      await walk(start, end, (space) => !signal.aborted && this.track.place(player, space), signal);
    await counted;
  }

  #count(player, from, to, signal) {
    return count(from, to, (buttons) => this.plates[player].countButtons(buttons), signal);
  }

  async #flight(position, from, signal) {
    const move = parseWord(position.word);
    if (!from || move.kind === "advance") return;
    const patch = move.patch ?? SPECIAL_PATCH;
    const piece = this.boards[position.mover].pieceAt({ patch, anchor: move.anchor });
    if (!piece) return;
    const shape = oriented(
      move.kind === "buy" ? this.components.patches[patch] : SPECIAL,
      move.orientation ?? 0,
    );
    const cell = this.boards[position.mover].box.width / 9;
    const box = this.boards[position.mover].cell(move.anchor).getBoundingClientRect();
    const to = new DOMRect(box.x, box.y, cell * shape.width, cell * shape.height);
    piece.style.visibility = "hidden";
    await fly(patchDrawing(patch, shape, 0), from, to, signal);
    piece.style.visibility = "";
  }

  // --- playing ---

  #taken(slot) {
    if (this.hand.slot === slot) return this.hand.putBack();
    if (this.hand.take(slot)) this.#bringIntoView();
    else this.#say(this.offers.reason(slot));
  }

  /** On phones the lower rows of the quilt may lie below the window. */
  #bringIntoView() {
    this.board.element.scrollIntoView({ block: "nearest", behavior: reducedMotion() ? "auto" : "smooth" });
  }

  #takenUp(target) {
    const card = target.closest('[data-role="offer"]');
    const slot = Number(card?.dataset.slot);
    const taken = card ? this.hand.slot === slot || this.hand.take(slot) : !this.hand.isEmpty;
    if (taken) this.#bringIntoView();
    return taken;
  }

  placeText() {
    return t(this.hand.fits(this.hand.anchor) ? "patchwork.fits" : "patchwork.refused");
  }

  advance() {
    if (this.hand.choices?.advance) this.app.play(this.components.encoding.advance);
  }

  #say(text) {
    if (text) this.app.notify({ text });
  }

  key(event) {
    return handleKey(this, event);
  }

  picture() {
    return picture(this);
  }
}

/** The tile in hand, its orientation, and the place of its ghost. */

import { choicesOf, placeAction, STRIDE } from "./actions.js";
import { groundOf, movedTo, shapeOf, surfaceOf } from "./tiles.js";

const TURNS = 4;

/** Fires "change" after every change. */
export class Hand extends EventTarget {
  #components;
  #choices = choicesOf([], {});
  #surface = new Map();

  constructor(components) {
    super();
    this.#components = components;
    this.mayMove = false;
    /** The digit of the tile in hand; null if the hand is empty. */
    this.digit = null;
    this.orientation = 0;
    /** The top-left corner of the ghost, `64 * row + column`; null if there is no ghost. */
    this.anchor = null;
  }

  /** Takes over a new position; the tile to place is in the hand at once. */
  begin(position, mayMove) {
    const { digit, tables } = position.state;
    this.mayMove = mayMove;
    this.#choices = choicesOf(mayMove ? position.legal : [], this.#components.encoding);
    this.#surface = surfaceOf(tables[position.player ?? 0]);
    this.digit = mayMove ? digit : null;
    this.orientation = 0;
    this.anchor = null;
    this.#tell();
  }

  /** The digits to choose from; empty unless the order is free. @returns {Set<number>} */
  get digits() {
    return this.#choices.digits;
  }

  get isEmpty() {
    return this.digit === null;
  }

  /** The tile in hand as `shapeOf` gives it. */
  get shape() {
    return shapeOf(this.#components, this.digit, this.orientation);
  }

  turn(quarters = 1) {
    if (this.isEmpty) return;
    this.orientation = (this.orientation + quarters + TURNS) % TURNS;
    this.#tell();
  }

  /** Moves the ghost to an anchor; null removes it. */
  aim(anchor) {
    if (anchor === this.anchor) return;
    this.anchor = anchor;
    this.#tell();
  }

  get canonical() {
    return this.#components.tiles[this.digit].orientations[this.orientation].canonical;
  }

  /** The anchors at which the tile fits in its orientation. @returns {Set<number>} */
  get anchors() {
    return this.isEmpty ? new Set() : (this.#choices.places.get(this.canonical) ?? new Set());
  }

  fits(anchor) {
    return this.anchors.has(anchor);
  }

  /** The anchors that fit, the highest level first. @returns {number[]} */
  get best() {
    return [...this.anchors].sort((a, b) => this.groundAt(b).level - this.groundAt(a).level || a - b);
  }

  /** Moves the ghost to the next place that fits, or the one before. */
  step(direction) {
    const places = this.best;
    const here = places.indexOf(this.anchor);
    if (places.length) this.aim(places.at(here < 0 ? 0 : (here + direction) % places.length));
  }

  /** The cells that the tile would cover. */
  cellsAt(anchor) {
    return movedTo(this.shape.cells, Math.floor(anchor / STRIDE), anchor % STRIDE);
  }

  /** Whether the ghost covers a cell. */
  covers(cell) {
    return this.anchor !== null && this.cellsAt(this.anchor).some(([row, column]) => row * STRIDE + column === cell);
  }

  /** The ground under the tile at an anchor, as `groundOf` gives it. */
  groundAt(anchor) {
    return groundOf(this.#surface, this.cellsAt(anchor));
  }

  /** Why the tile does not fit: "uneven" if cells hang over, "single" on one tile alone, else "apart"; or "". */
  reasonAt(anchor) {
    if (this.fits(anchor)) return "";
    const { level, even, tiles } = this.groundAt(anchor);
    if (!even) return "uneven";
    return level > 0 && tiles < 2 ? "single" : "apart";
  }

  /** The action that places the tile at an anchor. */
  actionAt(anchor) {
    return placeAction(this.#components.encoding, this.canonical, anchor);
  }

  #tell() {
    this.dispatchEvent(new Event("change"));
  }
}

/** The patch in hand, its orientation, and the place of its ghost. */

import { SIZE, SPECIAL_PATCH, buyAction, choicesOf } from "./actions.js";
import { SPECIAL, oriented } from "./pieces.js";

/** Fires "change" after every change. */
export class Hand extends EventTarget {
  #components;
  #choices = null;

  constructor(components) {
    super();
    this.#components = components;
    this.clear();
  }

  clear() {
    this.slot = null;
    /** The patch in hand, 33 for a special one; null if the hand is empty. */
    this.patch = null;
    this.orientation = 0;
    /** The top-left corner of the ghost, `9 * row + column`; null if there is no ghost. */
    this.anchor = null;
  }

  /** Takes over a new position; a special patch to place is in the hand at once. */
  begin(position, mayMove) {
    this.#choices = mayMove ? choicesOf(position, this.#components.encoding) : null;
    this.offered = position.state.offered;
    this.clear();
    if (mayMove && position.state.pending_special) this.patch = SPECIAL_PATCH;
    this.#tell();
  }

  get choices() {
    return this.#choices;
  }

  get isSpecial() {
    return this.patch === SPECIAL_PATCH;
  }

  get isEmpty() {
    return this.patch === null;
  }

  /** The patch in hand as `oriented` gives it. */
  get shape() {
    return oriented(this.isSpecial ? SPECIAL : this.#components.patches[this.patch], this.orientation);
  }

  /** Whether a patch of the offer can be bought and placed. */
  canTake(slot) {
    return this.#choices !== null && !this.isSpecial && (this.#choices.buys[slot]?.size ?? 0) > 0;
  }

  take(slot) {
    if (!this.canTake(slot)) return false;
    const orientation = this.slot === slot ? this.orientation : this.#firstOrientation(slot);
    Object.assign(this, { slot, patch: this.offered[slot] });
    this.#orient(orientation);
    return true;
  }

  /** The printed orientation if it fits anywhere, else the first that fits. */
  #firstOrientation(slot) {
    const fitting = [...this.#choices.buys[slot].keys()];
    return fitting.includes(0) ? 0 : Math.min(...fitting);
  }

  putBack() {
    if (this.isSpecial || this.isEmpty) return;
    this.clear();
    this.#tell();
  }

  turn(quarters = 1) {
    if (this.isEmpty) return;
    const flipped = this.orientation >= 4 ? 4 : 0;
    this.#orient(flipped + ((this.orientation - flipped + quarters + 4) % 4));
  }

  /** Mirrors the piece left to right. Orientations flip first, so the turns are reversed. */
  flip() {
    if (this.isEmpty) return;
    const quarters = this.orientation % 4;
    this.#orient((this.orientation >= 4 ? 0 : 4) + ((4 - quarters) % 4));
  }

  #orient(orientation) {
    this.orientation = orientation;
    if (this.anchor !== null) this.anchor = this.#inside(...placeOf(this.anchor));
    this.#tell();
  }

  /** Moves the ghost to the nearest anchor on the quilt; null removes it. */
  aim(anchor) {
    const next = anchor === null ? null : this.#inside(...placeOf(anchor));
    if (next === this.anchor) return;
    this.anchor = next;
    this.#tell();
  }

  /** Moves the ghost by rows and columns; without a ghost it starts at the first anchor that fits. */
  nudge(rows, columns) {
    if (this.anchor === null) return this.aim(this.firstFit());
    const [row, column] = placeOf(this.anchor);
    return this.aim(this.#inside(row + rows, column + columns));
  }

  #inside(row, column) {
    const { height, width } = this.shape;
    const within = (value, limit) => Math.max(0, Math.min(limit, value));
    return within(row, SIZE - height) * SIZE + within(column, SIZE - width);
  }

  /** Whether the ghost covers a cell. */
  covers(cell) {
    return this.anchor !== null && this.shape.cells.some(([row, column]) => this.anchor + row * SIZE + column === cell);
  }

  /** The anchors at which the piece fits in its orientation. @returns {Set<number>} */
  get anchors() {
    if (this.isEmpty || this.#choices === null) return new Set();
    if (this.isSpecial) return this.#choices.special;
    return this.#choices.buys[this.slot].get(this.canonical) ?? new Set();
  }

  get canonical() {
    return this.isSpecial ? 0 : this.#components.patches[this.patch].orientations[this.orientation].canonical;
  }

  fits(anchor) {
    return this.anchors.has(anchor);
  }

  /** The first anchor that fits, else the middle of the quilt. */
  firstFit() {
    const [first = this.#inside(4, 4)] = this.anchors;
    return first;
  }

  /** The action that places the piece at an anchor. */
  actionAt(anchor) {
    const { encoding } = this.#components;
    if (this.isSpecial) return encoding.special + anchor;
    return buyAction(encoding, this.slot, this.canonical, anchor);
  }

  #tell() {
    this.dispatchEvent(new Event("change"));
  }
}

const placeOf = (anchor) => [Math.floor(anchor / SIZE), anchor % SIZE];

/** Dragging a piece to a board with mouse, pen or finger. */

import { element } from "./elements.js";

const START_DISTANCE = 7;
const SNAP_CELLS = 0.95;
const FINGER_CLEARANCE = 56;

/**
 * @typedef {object} Area The cells of a board; anchors are `row * stride + column`.
 * @property {DOMRect} box on the screen
 * @property {number} top the row of the first one
 * @property {number} left its column
 * @property {number} rows
 * @property {number} columns
 * @property {number} stride
 */

/**
 * Lets a piece be dragged from an element.
 * @param {HTMLElement} from where the pointer goes down
 * @param {object} table
 * @param {EventTarget} table.hand the piece in hand, as in `patchwork/hand.js`
 * @param {() => Area} table.area the board of the player to move
 * @param {() => SVGSVGElement} table.drawing the piece in hand, filling its box
 * @param {(target: Element) => boolean} table.take takes the piece under the pointer; false if it cannot
 * @param {(anchor: number, box: DOMRect) => void} table.drop places the piece
 */
export function draggable(from, table) {
  from.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || !event.isPrimary) return;
    const target = event.target;
    const start = [event.clientX, event.clientY];
    const moved = (now) => {
      if (
        now.pointerId !== event.pointerId ||
        Math.hypot(now.clientX - start[0], now.clientY - start[1]) < START_DISTANCE
      )
        return;
      stop();
      if (table.take(target)) new Drag(table, now);
    };
    const stop = () => {
      removeEventListener("pointermove", moved);
      removeEventListener("pointerup", stop);
      removeEventListener("pointercancel", stop);
    };
    addEventListener("pointermove", moved);
    addEventListener("pointerup", stop);
    addEventListener("pointercancel", stop);
  });
  from.addEventListener("dragstart", (event) => event.preventDefault());
}

class Drag {
  #table;
  #flying = element("div", { class: "flying", "aria-hidden": "true" });
  #point;
  #listeners = new AbortController();

  constructor(table, event) {
    this.#table = table;
    this.#point = event;
    const { signal } = this.#listeners;
    document.body.append(this.#flying);
    document.documentElement.classList.add("dragging");
    addEventListener("pointermove", (now) => this.#move(now), { signal });
    addEventListener("pointerup", () => this.#end(true), { signal });
    addEventListener("pointercancel", () => this.#end(false), { signal });
    addEventListener("keydown", (key) => key.key === "Escape" && this.#end(false), { signal });
    table.hand.addEventListener("change", () => this.#draw(), { signal });
    this.#draw();
    this.#move(event);
  }

  get #cell() {
    const { box, columns } = this.#table.area();
    return box.width / columns;
  }

  #draw() {
    const { hand } = this.#table;
    if (hand.isEmpty) return this.#end(false);
    const { height, width } = hand.shape;
    this.#flying.style.width = `${width * this.#cell}px`;
    this.#flying.style.height = `${height * this.#cell}px`;
    this.#flying.replaceChildren(this.#table.drawing());
    this.#place();
  }

  #move(event) {
    this.#point = event;
    this.#place();
    const anchor = this.#anchor();
    this.#table.hand.aim(anchor);
    this.#flying.classList.toggle("snapped", anchor !== null && this.#table.hand.fits(anchor));
  }

  /** The top-left corner of the piece on the screen, above the finger on touch screens. */
  get #corner() {
    const { height, width } = this.#table.hand.shape;
    const lift = this.#point.pointerType === "touch" ? FINGER_CLEARANCE : 0;
    return [
      this.#point.clientX - (width * this.#cell) / 2,
      this.#point.clientY - (height * this.#cell) / 2 - lift,
    ];
  }

  #place() {
    const [x, y] = this.#corner;
    this.#flying.style.transform = `translate(${x}px, ${y}px)`;
  }

  /** The nearest anchor that fits, else the one under the piece; null outside of the board. */
  #anchor() {
    const { hand, area } = this.#table;
    const { box, top, left, rows, columns, stride } = area();
    const [x, y] = this.#corner;
    const [column, row] = [(x - box.left) / this.#cell, (y - box.top) / this.#cell];
    const { height, width } = hand.shape;
    if (row < -1 || column < -1 || row + height > rows + 1 || column + width > columns + 1) return null;
    const inside = (value, limit) => Math.max(0, Math.min(limit, Math.round(value)));
    return (
      nearest(hand.anchors, stride, row + top, column + left) ??
      (inside(row, rows - height) + top) * stride + inside(column, columns - width) + left
    );
  }

  #end(dropped) {
    this.#listeners.abort();
    const { hand, drop } = this.#table;
    const box = this.#flying.getBoundingClientRect();
    this.#flying.remove();
    document.documentElement.classList.remove("dragging");
    addEventListener("click", swallow, { capture: true, once: true });
    setTimeout(() => removeEventListener("click", swallow, { capture: true }), 50);
    if (dropped && hand.anchor !== null && hand.fits(hand.anchor)) drop(hand.anchor, box);
    else hand.aim(null);
  }
}

/** The nearest anchor; null if it is too far away. */
function nearest(anchors, stride, row, column) {
  let found = null;
  let least = SNAP_CELLS;
  for (const anchor of anchors) {
    const distance = Math.hypot(Math.floor(anchor / stride) - row, (anchor % stride) - column);
    if (distance < least) [found, least] = [anchor, distance];
  }
  return found;
}

/** Ignores the click that ends a drag. */
const swallow = (event) => event.stopPropagation();

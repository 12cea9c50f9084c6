/** Dragging a patch to the quilt with mouse, pen or finger. */

import { element } from "../elements.js";
import { patchDrawing } from "./offers.js";

const SIZE = 9;
const START_DISTANCE = 7;
const SNAP_CELLS = 0.95;
const FINGER_CLEARANCE = 56;

/**
 * Lets a patch be dragged from an element.
 * @param {HTMLElement} from where the pointer goes down
 * @param {object} table
 * @param {import("./hand.js").Hand} table.hand
 * @param {() => import("./quilt.js").Quilt} table.quilt the quilt of the player to move
 * @param {(target: Element) => boolean} table.take takes what was touched in hand; false if it cannot be taken
 * @param {(anchor: number, box: DOMRect) => void} table.drop places the piece
 */
export function draggable(from, table) {
  from.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || !event.isPrimary) return;
    const target = event.target;
    const start = [event.clientX, event.clientY];
    const moved = (now) => {
      if (now.pointerId !== event.pointerId || Math.hypot(now.clientX - start[0], now.clientY - start[1]) < START_DISTANCE) return;
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
    return this.#table.quilt().box.width / SIZE;
  }

  #draw() {
    const { hand } = this.#table;
    if (hand.isEmpty) return this.#end(false);
    const { height, width } = hand.shape;
    this.#flying.style.width = `${width * this.#cell}px`;
    this.#flying.style.height = `${height * this.#cell}px`;
    this.#flying.replaceChildren(patchDrawing(hand.patch, hand.shape, 0));
    this.#place();
  }

  #move(event) {
    this.#point = event;
    this.#place();
    const anchor = this.#anchor();
    this.#table.hand.aim(anchor);
    this.#flying.classList.toggle("snapped", anchor !== null && this.#table.hand.fits(anchor));
  }

  /** The top-left corner of the piece on the screen; a finger shall not hide it. */
  get #corner() {
    const { height, width } = this.#table.hand.shape;
    const lift = this.#point.pointerType === "touch" ? FINGER_CLEARANCE : 0;
    return [this.#point.clientX - (width * this.#cell) / 2, this.#point.clientY - (height * this.#cell) / 2 - lift];
  }

  #place() {
    const [x, y] = this.#corner;
    this.#flying.style.transform = `translate(${x}px, ${y}px)`;
  }

  /** Where the piece would lie: the nearest place that fits, else the one below it; null outside of the quilt. */
  #anchor() {
    const { hand, quilt } = this.#table;
    const box = quilt().box;
    const [x, y] = this.#corner;
    const [column, row] = [(x - box.left) / this.#cell, (y - box.top) / this.#cell];
    const { height, width } = hand.shape;
    if (row < -1 || column < -1 || row + height > SIZE + 1 || column + width > SIZE + 1) return null;
    let nearest = null;
    let least = SNAP_CELLS;
    for (const anchor of hand.anchors) {
      const distance = Math.hypot(Math.floor(anchor / SIZE) - row, (anchor % SIZE) - column);
      if (distance < least) [nearest, least] = [anchor, distance];
    }
    const inside = (value, extent) => Math.max(0, Math.min(SIZE - extent, Math.round(value)));
    return nearest ?? inside(row, height) * SIZE + inside(column, width);
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

/** The click that ends a drag means nothing. */
const swallow = (event) => event.stopPropagation();

/** Pointer and keyboard on a board, with a piece in hand. */

/**
 * The anchor of the cell under the pointer; null outside of the cells.
 * @param {Element} target
 * @param {number} stride anchors are `row * stride + column`
 */
export function anchorAt(target, stride) {
  const cell = target.closest('[data-role="cell"]');
  return cell ? Number(cell.dataset.row) * stride + Number(cell.dataset.column) : null;
}

/**
 * Calls `run(anchor, byTouch)` for each click on a cell.
 * @param {Element} grid the cells of a board
 * @param {number} stride
 * @param {(anchor: number, byTouch: boolean) => void} run
 */
export function onCellClick(grid, stride, run) {
  let byTouch = false; // not every browser gives the pointer type with the click
  grid.addEventListener("pointerdown", ({ pointerType }) => {
    byTouch = pointerType === "touch";
  });
  grid.addEventListener("click", ({ target }) => {
    const anchor = anchorAt(target, stride);
    if (anchor !== null) run(anchor, byTouch);
  });
}

/**
 * Moves the ghost to a clicked cell. A mouse places the piece at once; a finger places it with a second tap on
 * the ghost.
 * @returns {boolean} whether to place the piece
 */
export function isPlaced(hand, anchor, byTouch) {
  if (byTouch && (hand.anchor === anchor || hand.covers(anchor))) return true;
  hand.aim(anchor);
  return !byTouch;
}

/** The wheel distance for a turn, in pixels: less than one notch of a mouse. */
const TURN_PIXELS = 80;
/** The pixels per unit of `deltaY`, by `deltaMode`: pixels, lines, pages. */
const UNITS = [1, 40, 800];

/**
 * Makes the ghost follow a mouse or pen, and the wheel turn the piece.
 * @param {Element} grid the cells of a board
 * @param {number} stride
 * @param {EventTarget} hand `aim(anchor)` moves the ghost, `turn(by)` turns the piece
 * @param {() => boolean} inHand whether the hand has a piece for this board
 */
export function followPointer(grid, stride, hand, inHand) {
  grid.addEventListener("pointermove", (event) => {
    const anchor = anchorAt(event.target, stride);
    if (event.pointerType !== "touch" && !event.buttons && anchor !== null && inHand()) hand.aim(anchor);
  });
  grid.addEventListener("pointerleave", (event) => event.pointerType !== "touch" && hand.aim(null));
  let distance = 0;
  grid.addEventListener(
    "wheel",
    (event) => {
      if (!inHand() || event.ctrlKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) return;
      event.preventDefault();
      distance += event.deltaY * UNITS[event.deltaMode];
      if (Math.abs(distance) < TURN_PIXELS) return;
      hand.turn(Math.sign(distance));
      distance = 0;
    },
    { passive: false },
  );
}

/** What a pointer over a board does with the piece in hand. */

/**
 * The anchor of the cell under the pointer; null beside the cells.
 * @param {Element} target
 * @param {number} stride anchors are `row * stride + column`
 */
export function anchorAt(target, stride) {
  const cell = target.closest('[data-role="cell"]');
  return cell ? Number(cell.dataset.row) * stride + Number(cell.dataset.column) : null;
}

/**
 * Lets the ghost of the piece follow a mouse or a pen, and the wheel turn the piece.
 * @param {Element} grid the cells of a board
 * @param {number} stride
 * @param {EventTarget} hand what is in hand: `aim(anchor)` moves its ghost, `turn(by)` turns it
 * @param {() => boolean} inHand whether it holds a piece for this board
 */
export function followPointer(grid, stride, hand, inHand) {
  grid.addEventListener("pointermove", (event) => {
    const anchor = anchorAt(event.target, stride);
    if (event.pointerType !== "touch" && !event.buttons && anchor !== null && inHand()) hand.aim(anchor);
  });
  grid.addEventListener("pointerleave", (event) => event.pointerType !== "touch" && hand.aim(null));
  grid.addEventListener(
    "wheel",
    (event) => {
      if (!inHand()) return;
      event.preventDefault();
      hand.turn(event.deltaY > 0 ? 1 : -1);
    },
    { passive: false },
  );
}

/** The quilt of a player: a drawing, and above it an accessible grid of cells. */

import { element, setAttribute, svg } from "../elements.js";
import { t } from "../language.js";
import { onCellClick } from "../pointing.js";
import { cellName, SIZE, SPECIAL_PATCH } from "./actions.js";
import { CELL, pieceOfCloth } from "./fabric.js";
import { piecesOn } from "./pieces.js";

/** The width of the hem, which has the names of columns and rows. */
const MARGIN = 5.5;
const SIDE = SIZE * CELL;

export class Quilt {
  #cells = [];
  #drawn = "";
  #pieces = svg("g", { class: "pieces" });
  #marks = svg("g", { class: "marks" });
  #ghosts = svg("g", { class: "ghosts" });

  /**
   * @param {number} player
   * @param {(player: number, anchor: number, byTouch: boolean) => void} onclick
   */
  constructor(player, onclick) {
    this.player = player;
    this.drawing = svg(
      "svg",
      {
        class: "quilt-drawing",
        viewBox: `${-MARGIN} ${-MARGIN} ${SIDE + 2 * MARGIN} ${SIDE + 2 * MARGIN}`,
        "aria-hidden": "true",
      },
      svg("rect", {
        class: "quilt-border",
        x: -MARGIN,
        y: -MARGIN,
        width: SIDE + 2 * MARGIN,
        height: SIDE + 2 * MARGIN,
        rx: 3.5,
      }),
      svg("rect", {
        class: "quilt-hem",
        x: 0.9 - MARGIN,
        y: 0.9 - MARGIN,
        width: SIDE + 2 * MARGIN - 1.8,
        height: SIDE + 2 * MARGIN - 1.8,
        rx: 2.4,
      }),
      svg("rect", { class: "quilt-ground", width: SIDE, height: SIDE, rx: 1 }),
      svg("path", { class: "quilt-lines", d: gridLines() }),
      coordinates(),
      this.#pieces,
      this.#marks,
      this.#ghosts,
    );
    this.grid = element("div", { class: "quilt-cells", role: "grid", dir: "ltr" }, this.#rows());
    onCellClick(this.grid, SIZE, (...click) => onclick(player, ...click));
    this.element = element("div", { class: `quilt player-${player}`, dir: "ltr" }, this.drawing, this.grid);
  }

  #rows() {
    return Array.from({ length: SIZE }, (_, row) =>
      element(
        "div",
        { role: "row", class: "quilt-row" },
        Array.from({ length: SIZE }, (__, column) => {
          const anchor = row * SIZE + column;
          const cell = element("div", {
            role: "gridcell",
            class: "quilt-cell",
            "data-role": "cell",
            "data-player": this.player,
            "data-row": row,
            "data-column": column,
            tabindex: anchor === 0 ? 0 : -1,
          });
          this.#cells.push(cell);
          return cell;
        }),
      ),
    );
  }

  /** Draws a layout, and marks the last piece. */
  show(layout, components, { name, last = null, bonus = false }) {
    const text = layout.join();
    if (text !== this.#drawn) {
      const pieces = piecesOn(layout, components);
      this.#pieces.replaceChildren(
        ...pieces.map((piece) => {
          const cloth = pieceOfCloth(piece.patch, piece);
          cloth.setAttribute("transform", `translate(${piece.column * CELL} ${piece.row * CELL})`);
          cloth.dataset.anchor = piece.row * SIZE + piece.column;
          return cloth;
        }),
      );
    }
    this.#drawn = text;
    this.grid.setAttribute("aria-label", t("patchwork.quiltOf", { player: name }));
    layout.forEach((patch, cell) => this.#cells[cell].setAttribute("aria-label", cellText(cell, patch)));
    this.#marks.replaceChildren(...[bonus && bonusMark(layout, components.bonus.square)].filter(Boolean));
    for (const piece of this.#pieces.children)
      setAttribute(piece, "data-last", last !== null && isLast(piece, last));
  }

  /** The drawing of a piece; null if it is not on the quilt. */
  pieceAt({ patch, anchor }) {
    return [...this.#pieces.children].find((piece) => isLast(piece, { patch, anchor })) ?? null;
  }

  /**
   * Draws ghosts.
   * @param {{patch: number, shape: object, anchor: number, tone: "fits"|"refused"|"hint"|"later", number?:
   *   number}[]} ghosts
   */
  ghosts(ghosts) {
    this.#ghosts.replaceChildren(
      ...ghosts.map(({ patch, shape, anchor, tone, number = null }) => {
        const cloth = pieceOfCloth(patch, shape);
        cloth.classList.add("ghost", tone);
        if (number !== null) cloth.append(ghostNumber(number, shape));
        cloth.setAttribute(
          "transform",
          `translate(${(anchor % SIZE) * CELL} ${Math.floor(anchor / SIZE) * CELL})`,
        );
        return cloth;
      }),
    );
  }

  /** Describes a cell, and makes it the one that Tab reaches. */
  point(anchor, note = "") {
    this.#cells.forEach((cell, index) => {
      cell.tabIndex = index === anchor ? 0 : -1;
      setAttribute(cell, "aria-description", index === anchor && note);
    });
  }

  cell(anchor) {
    return this.#cells[anchor];
  }

  /** The box of the cells on the screen. */
  get box() {
    return this.grid.getBoundingClientRect();
  }
}

/** The names of columns above the quilt and of rows beside it. */
function coordinates() {
  const steps = Array.from({ length: SIZE }, (_, index) => index);
  const name = (x, y, text) => svg("text", { x, y: y + 1.2, "text-anchor": "middle" }, text);
  return svg(
    "g",
    { class: "coordinates" },
    steps.map((index) => {
      const [column, row] = cellName(index * (SIZE + 1));
      const middle = (index + 0.5) * CELL;
      return [name(middle, -2.3, column), name(-2.3, middle, row)];
    }),
  );
}

function gridLines() {
  const steps = Array.from({ length: SIZE - 1 }, (_, index) => (index + 1) * CELL);
  return steps.map((at) => `M${at} 0v${SIDE}M0 ${at}h${SIDE}`).join("");
}

function cellText(cell, patch) {
  const piece = patch < SPECIAL_PATCH ? "patch" : patch === SPECIAL_PATCH ? "special" : "covered";
  return t(`patchwork.cell.${patch < 0 ? "empty" : piece}`, { cell: cellName(cell), patch });
}

const isLast = (piece, { patch, anchor }) =>
  Number(piece.dataset.anchor) === anchor && (patch === null || Number(piece.dataset.patch) === patch);

/** The mark on the full square that earned the bonus. */
function bonusMark(layout, side) {
  for (let corner = 0; corner < SIZE * SIZE; corner += 1) {
    const [row, column] = [Math.floor(corner / SIZE), corner % SIZE];
    if (row + side > SIZE || column + side > SIZE) continue;
    if (isFull(layout, row, column, side)) {
      const square = {
        x: column * CELL + 0.6,
        y: row * CELL + 0.6,
        width: side * CELL - 1.2,
        height: side * CELL - 1.2,
        rx: 2,
      };
      return svg(
        "g",
        {},
        svg("rect", { class: "bonus-ribbon", ...square }),
        svg("rect", { class: "bonus-stitches", ...square }),
      );
    }
  }
  return null;
}

function isFull(layout, top, left, side) {
  for (let cell = 0; cell < side * side; cell += 1) {
    if (layout[(top + Math.floor(cell / side)) * SIZE + left + (cell % side)] < 0) return false;
  }
  return true;
}

/** The number of a move in a line, on the first cell of its piece. */
function ghostNumber(number, { cells: [[row, column]] }) {
  const x = (column + 0.5) * CELL;
  const y = (row + 0.5) * CELL;
  return svg(
    "g",
    { class: "ghost-number" },
    svg("circle", { cx: x, cy: y, r: 0.36 * CELL }),
    svg("text", { x, y }, number),
  );
}

/** The table of a player: a drawing, and above it an accessible grid of cells. */

import { element, reducedMotion, setAttribute, svg } from "../elements.js";
import { number, t } from "../language.js";
import { onCellClick } from "../pointing.js";
import { STRIDE } from "./actions.js";
import { areaOf } from "./area.js";
import { CELL, middle, movedTo, shapeOf, surfaceOf, tileDrawing } from "./tiles.js";

const ZOOM = { duration: 350, easing: "ease-out" };

export class Board {
  #tiles = svg("g", { class: "tiles" });
  #ghosts = svg("g", { class: "ghosts" });
  #ground = svg("rect", { class: "table-ground", rx: 3 });
  #lines = svg("path", { class: "table-lines" });
  #coordinates = svg("g", { class: "coordinates" });
  #cells = new Map();
  #first = [0, 0];

  /**
   * @param {object} components
   * @param {number} player
   * @param {(player: number, anchor: number, byTouch: boolean) => void} onclick
   */
  constructor(components, player, onclick) {
    this.components = components;
    this.player = player;
    this.area = null;
    this.drawing = svg(
      "svg",
      { class: "table-drawing", "aria-hidden": "true" },
      this.#ground,
      this.#lines,
      this.#coordinates,
      this.#tiles,
      this.#ghosts,
    );
    this.grid = element("div", { class: "table-cells", role: "grid", dir: "ltr" });
    onCellClick(this.grid, STRIDE, (...click) => onclick(player, ...click));
    this.element = element("div", { class: "table", dir: "ltr" }, this.drawing, this.grid);
  }

  /**
   * Draws the tiles of a position.
   * @param {import("../backend.js").Position} position
   * @param {{name: string, mayGrow: boolean, smooth: boolean}} context `smooth`: a change of the
   *   area is animated
   */
  show(position, { name, mayGrow, smooth }) {
    const tiles = position.state.tables[this.player];
    const surface = surfaceOf(tiles);
    const [from, first] = [this.area, this.#first];
    this.area = areaOf(position, this.player, mayGrow);
    this.#first = tiles[0] ? [tiles[0].row, tiles[0].column] : [this.area.top, this.area.left];
    this.#layOut(tiles);
    this.grid.setAttribute("aria-label", t("nmbr9.tableOf", { player: name }));
    for (const [cell, each] of this.#cells)
      each.setAttribute("aria-label", this.#cellText(cell, surface.get(cell), tiles));
    const drawn = tiles
      .map((tile, index) => [tile, index])
      .sort(([a], [b]) => a.level - b.level || a.row - b.row);
    this.#tiles.replaceChildren(...drawn.map(([tile, index]) => this.#tile(tile, index, surface)));
    this.mark(position.mover === this.player ? tiles.length - 1 : null);
    if (smooth && from && from.rows !== this.area.rows) this.#zoom(from, first);
  }

  #tile({ digit, level, cells }, index, surface) {
    const seen = cells.filter((cell) => surface.get(String(cell)).index === index);
    const tile = tileDrawing(digit, cells, { level, label: middle(seen) });
    tile.dataset.index = index;
    return tile;
  }

  /** Fits the drawing and the grid to the area. */
  #layOut(tiles) {
    const { top, left, rows, columns } = this.area;
    const [x, y, width, height] = [left, top, columns, rows].map((value) => value * CELL);
    this.drawing.setAttribute("viewBox", `${x} ${y} ${width} ${height}`);
    for (const [name, value] of Object.entries({ x, y, width, height }))
      this.#ground.setAttribute(name, value);
    this.#lines.setAttribute("d", gridLines(this.area));
    this.#coordinates.replaceChildren(...(tiles.length ? coordinates(this.area, this.#first) : []));
    const now = `${top} ${left} ${rows} ${columns}`;
    if (this.grid.dataset.area === now) return;
    this.grid.dataset.area = now;
    this.grid.style.setProperty("--rows", rows);
    this.grid.style.setProperty("--columns", columns);
    this.#cells.clear();
    this.grid.replaceChildren(
      ...Array.from({ length: rows }, (_, r) =>
        element(
          "div",
          { role: "row", class: "table-row" },
          Array.from({ length: columns }, (__, c) => this.#cell(top + r, left + c)),
        ),
      ),
    );
    this.point(this.middle);
  }

  /** The anchor of the cell in the middle. */
  get middle() {
    const { top, left, rows, columns } = this.area;
    return (top + Math.floor(rows / 2)) * STRIDE + left + Math.floor(columns / 2);
  }

  #cell(row, column) {
    const cell = element("div", {
      role: "gridcell",
      class: "table-cell",
      "data-role": "cell",
      "data-player": this.player,
      "data-row": row,
      "data-column": column,
      tabindex: -1,
    });
    this.#cells.set(`${row},${column}`, cell);
    return cell;
  }

  /** The label of a cell; rows and columns count from the first tile, as in the notation. */
  #cellText(cell, top, tiles) {
    const [row, column] = cell.split(",").map(Number);
    const place = { row: row - this.#first[0], column: column - this.#first[1] };
    return top
      ? t("nmbr9.cell.tile", { ...place, digit: tiles[top.index].digit, level: top.height - 1 })
      : t("nmbr9.cell.empty", place);
  }

  /** Animates the view from another area; the cells of the tiles may have other numbers there. */
  #zoom(from, [row, column]) {
    if (reducedMotion()) return;
    const scale = this.area.columns / from.columns;
    const shift = ([now, before, area]) => ((now - before - area[0] + area[1]) * 100) / this.area.columns;
    const x = shift([column, this.#first[1], [from.left, this.area.left]]);
    const y = shift([row, this.#first[0], [from.top, this.area.top]]);
    const start = `scale(${scale}) translate(${x}%, ${y}%)`;
    this.drawing.animate({ transform: [start, "none"], transformOrigin: ["0 0", "0 0"] }, ZOOM);
  }

  /** Marks the last tile. */
  mark(index) {
    for (const tile of this.#tiles.children)
      setAttribute(tile, "data-last", index !== null && Number(tile.dataset.index) === index);
  }

  /** The drawing of a tile, by its index in the order of placement. */
  tile(index) {
    return this.#tiles.querySelector(`[data-index="${index}"]`);
  }

  /**
   * Draws ghosts.
   * @param {{digit: number, orientation: number, row: number, column: number, level: number, tag: ?string,
   *   tone: "fits"|"refused"|"hint"|"later"}[]} ghosts `tag`: a label above
   */
  ghosts(ghosts) {
    this.#ghosts.replaceChildren(
      ...ghosts.map(({ digit, orientation, row, column, level, tag, tone }) => {
        const cells = movedTo(shapeOf(this.components, digit, orientation).cells, row, column);
        const ghost = tileDrawing(digit, cells, { level });
        ghost.classList.add("ghost", tone);
        if (tag) ghost.append(tagDrawing(tag, cells));
        return ghost;
      }),
    );
  }

  /** Describes a cell, and makes it the one that Tab reaches. */
  point(anchor, note = "") {
    for (const cell of this.grid.querySelectorAll('[tabindex="0"]')) cell.tabIndex = -1;
    const cell = this.cell(anchor);
    if (!cell) return;
    cell.tabIndex = 0;
    setAttribute(cell, "aria-description", note);
  }

  /** The element of a cell; undefined outside of the area. */
  cell(anchor) {
    return this.#cells.get(`${Math.floor(anchor / STRIDE)},${anchor % STRIDE}`);
  }

  /** The box of the cells on the screen. */
  get box() {
    return this.grid.getBoundingClientRect();
  }
}

/** The numbers of columns at the top and of rows on the left, counted from the first tile. */
function coordinates({ top, left, rows, columns }, [firstRow, firstColumn]) {
  const name = (column, row, value) => {
    const place = { x: (column + 0.5) * CELL, y: (row + 0.5) * CELL + 1.3, "text-anchor": "middle" };
    return svg("text", place, number(value));
  };
  const steps = (length) => Array.from({ length: length - 1 }, (_, index) => index + 1);
  return [
    ...steps(columns).map((step) => name(left + step, top, left + step - firstColumn)),
    ...steps(rows).map((step) => name(left, top + step, top + step - firstRow)),
  ];
}

function gridLines({ top, left, rows, columns }) {
  const across = Array.from(
    { length: rows - 1 },
    (_, index) => `M${left * CELL} ${(top + index + 1) * CELL}h${columns * CELL}`,
  );
  const down = Array.from(
    { length: columns - 1 },
    (_, index) => `M${(left + index + 1) * CELL} ${top * CELL}v${rows * CELL}`,
  );
  return [...across, ...down].join("");
}

/** The label above a ghost: its points, or its number in a line. */
function tagDrawing(tag, cells) {
  const rows = cells.map(([row]) => row);
  const columns = cells.map(([, column]) => column);
  const [x, y] = [
    ((Math.min(...columns) + Math.max(...columns) + 1) / 2) * CELL,
    Math.min(...rows) * CELL - 6,
  ];
  const width = 4 + 4 * tag.length;
  return svg(
    "g",
    { class: "ghost-tag", transform: `translate(${x} ${y})` },
    svg("rect", { x: -width / 2, y: -5, width, height: 9, rx: 4.5 }),
    svg("text", { y: 1.9, "text-anchor": "middle" }, tag),
  );
}

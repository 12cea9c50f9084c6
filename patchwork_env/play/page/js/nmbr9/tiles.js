/** Tiles: their shapes, the ground under them, and their drawings. */

import { svg } from "../elements.js";
import { number } from "../language.js";
import { inset, loops, roundedPath } from "../outline.js";

/** The side of a cell in units of the drawings. */
export const CELL = 10;
const CORNER = 1.5;
const BEVEL = 1.1;
const RISE = 0.9;

/**
 * A tile in an orientation, its bounding box starting at (0, 0).
 * @returns {{cells: number[][], height: number, width: number}}
 */
export function shapeOf(components, digit, orientation) {
  const { cells } = components.tiles[digit].orientations[orientation];
  return {
    cells,
    height: 1 + Math.max(...cells.map(([row]) => row)),
    width: 1 + Math.max(...cells.map(([, column]) => column)),
  };
}

/** The drawing of a tile from above: shadow, wall and face, with digit and level at the cell `label`. */
export function tileDrawing(digit, cells, { level = 0, label = middle(cells) } = {}) {
  const lines = loops(cells).map((loop) => loop.map(([x, y]) => [x * CELL, y * CELL]));
  const outline = pathOf(lines, 0.15, CORNER);
  return svg(
    "g",
    {
      class: "tile",
      "data-digit": digit,
      style: `--tile: var(--tile-${digit}); --level: ${Math.min(level, 6)}`,
    },
    svg("path", {
      class: "tile-shadow",
      "fill-rule": "evenodd",
      d: outline,
      transform: `translate(${RISE} ${2 * RISE})`,
    }),
    svg("path", { class: "tile-wall", "fill-rule": "evenodd", d: outline }),
    svg(
      "g",
      { transform: `translate(0 ${-RISE})` },
      svg("path", { class: "tile-face", "fill-rule": "evenodd", d: outline }),
      svg("path", { class: "tile-bevel", d: pathOf(lines, BEVEL, CORNER * 0.6) }),
      label && labelDrawing(digit, level, label),
    ),
  );
}

const pathOf = (lines, distance, radius) =>
  lines.map((points) => roundedPath(inset(points, distance), radius)).join("");

/** The digit, and on higher levels also the level that multiplies it. */
function labelDrawing(digit, level, [row, column]) {
  return svg(
    "text",
    { class: "tile-label", x: (column + 0.5) * CELL, y: (row + 0.5) * CELL + 2.5, "text-anchor": "middle" },
    svg("tspan", { class: "tile-digit" }, number(digit)),
    level > 0 && svg("tspan", { class: "tile-level" }, `×${number(level)}`),
  );
}

/** A drawing of a tile that fills its box. */
export function tilePicture(components, digit, orientation, margin = 1) {
  const { cells, height, width } = shapeOf(components, digit, orientation);
  return svg(
    "svg",
    {
      class: "tile-drawing",
      viewBox: `${-margin} ${-margin} ${width * CELL + 2 * margin} ${height * CELL + 2 * margin}`,
      "aria-hidden": "true",
      style: `--width: ${width}; --height: ${height}`,
    },
    tileDrawing(digit, cells),
  );
}

/** The cell nearest to the centre of some cells, for the label. */
export function middle(cells) {
  if (!cells.length) return null;
  const mean = (index) => cells.reduce((sum, cell) => sum + cell[index], 0) / cells.length;
  const [row, column] = [mean(0), mean(1)];
  const distance = ([r, c]) => Math.hypot(r - row, c - column);
  return cells.reduce((best, cell) => (distance(cell) < distance(best) - 0.01 ? cell : best));
}

/**
 * The top of a table: for the text of each covered cell its height in tiles, and the index of its top tile in the
 * order of placement.
 */
export function surfaceOf(tiles) {
  const surface = new Map();
  tiles.forEach((tile, index) => {
    for (const cell of tile.cells) {
      const below = surface.get(String(cell));
      if (!below || below.height <= tile.level) surface.set(String(cell), { height: tile.level + 1, index });
    }
  });
  return surface;
}

/**
 * The ground under a tile.
 * @param {Map<string, {height: number, index: number}>} surface
 * @param {number[][]} cells
 * @returns {{level: number, even: boolean, tiles: number}} the greatest height below it, whether all its
 *   cells have this height, and the number of tiles under it
 */
export function groundOf(surface, cells) {
  const below = cells.map((cell) => surface.get(String(cell)));
  const heights = below.map((under) => under?.height ?? 0);
  const level = Math.max(...heights);
  return {
    level,
    even: heights.every((height) => height === level),
    tiles: new Set(below.map((under) => under?.index)).size,
  };
}

/** The cells of a piece whose bounding box starts at a row and a column. */
export const movedTo = (cells, row, column) => cells.map(([r, c]) => [r + row, c + column]);

/** Outlines of pieces as SVG paths. */

/** The sides of a cell, clockwise: start, end, and the step to the next cell, as `[row, column]`. */
const SIDES = [
  [[0, 0], [0, 1], [-1, 0]],
  [[0, 1], [1, 1], [0, 1]],
  [[1, 1], [1, 0], [1, 0]],
  [[1, 0], [0, 0], [0, -1]],
];

/**
 * The corners of the outline of a piece without holes, clockwise, as points `[x, y]`.
 * @param {number[][]} cells `[row, column]`
 */
export const corners = (cells) => loops(cells)[0];

/**
 * The corners of the outline of a piece, clockwise, and of its holes, counter-clockwise.
 *
 * The piece must be connected, and no two of its cells may touch at a corner only.
 * @param {number[][]} cells `[row, column]`
 */
export function loops(cells) {
  const follows = edges(cells);
  const found = [];
  while (follows.size) found.push(straightened(follow(follows)));
  return found;
}

/** The edges of a piece, from the text of each start to its end. */
function edges(cells) {
  const covered = new Set(cells.map(String));
  const follows = new Map();
  for (const [row, column] of cells) {
    for (const [start, end, beyond] of SIDES) {
      if (covered.has(String([row + beyond[0], column + beyond[1]]))) continue;
      follows.set(String([column + start[1], row + start[0]]), [column + end[1], row + end[0]]);
    }
  }
  return follows;
}

/** Removes one closed line from the edges, and returns it. */
function follow(follows) {
  const loop = [];
  let start = [...follows.keys()][0];
  for (let point = follows.get(start); point; point = follows.get(start)) {
    follows.delete(start);
    loop.push(point);
    start = String(point);
  }
  return loop;
}

/** The points at which a line turns. */
function straightened(loop) {
  return loop.filter((point, index) => {
    const before = loop.at(index - 1);
    const after = loop[(index + 1) % loop.length];
    return before[0] !== after[0] && before[1] !== after[1];
  });
}

/** Corners moved inward; the inside is to the right of a clockwise edge. */
export function inset(points, distance) {
  return points.map((point, index) => {
    const before = inward(points.at(index - 1), point);
    const after = inward(point, points[(index + 1) % points.length]);
    return [point[0] + distance * (before[0] + after[0]), point[1] + distance * (before[1] + after[1])];
  });
}

const inward = ([x, y], [nextX, nextY]) => [-Math.sign(nextY - y), Math.sign(nextX - x)];

/** A closed path with rounded corners. */
export function roundedPath(points, radius) {
  const steps = points.map((point, index) => {
    const start = toward(point, points.at(index - 1), radius);
    const end = toward(point, points[(index + 1) % points.length], radius);
    return `${index ? "L" : "M"}${text(start)}Q${text(point)} ${text(end)}`;
  });
  return `${steps.join("")}Z`;
}

function toward([x, y], [toX, toY], length) {
  const share = length / Math.hypot(toX - x, toY - y);
  return [x + share * (toX - x), y + share * (toY - y)];
}

const text = (point) => point.map((value) => Math.round(value * 100) / 100).join(" ");

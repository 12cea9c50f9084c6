/** The geometry of the track: spaces of equal length along an inward, clockwise spiral. */

const OUTER = 92;
const PITCH = 24.5;
const WIDTH = 22;
const TURNS = 2.8;
const GAP = 0.5;
const LAST = 53;
const START = -Math.PI / 2;
const END = TURNS * 2 * Math.PI;
const STEPS = 4000;
const CENTRE_RADIUS = 15.5;

const radiusAt = (turned) => OUTER - (PITCH * turned) / (2 * Math.PI);

/** The angles of the spiral at equal steps of its length. */
const turnedAt = (() => {
  const lengths = [0];
  for (let step = 1; step <= STEPS; step += 1)
    lengths.push(lengths[step - 1] + radiusAt((END * (step - 0.5)) / STEPS));
  const total = lengths[STEPS];
  let step = 0;
  return Array.from({ length: LAST + 1 }, (_, border) => {
    while (lengths[step] < (total * border) / LAST - 1e-9) step += 1;
    return (END * step) / STEPS;
  });
})();

const point = (turned, radius) => [Math.cos(START + turned) * radius, Math.sin(START + turned) * radius];

/**
 * The middle of a space, 0-53, and the outward direction as an angle.
 * @returns {[number, number, number]}
 */
export function centreOf(space) {
  if (space >= LAST) return [0, 0, 0];
  const turned = (turnedAt[space] + turnedAt[space + 1]) / 2;
  return [...point(turned, radiusAt(turned)), START + turned];
}

/** The outline of a space as a path; the last space is the circle in the middle. */
export function spacePath(space) {
  if (space >= LAST) return `M0-${CENTRE_RADIUS}a${CENTRE_RADIUS} ${CENTRE_RADIUS} 0 1 1-.01 0z`;
  const [from, to] = [turnedAt[space], turnedAt[space + 1]];
  const edge = (outward) =>
    [0, 0.5, 1].map((share) => {
      const turned = from + (to - from) * share;
      const radius = radiusAt(turned);
      const trim = (share === 0 ? GAP : share === 1 ? -GAP : 0) / radius;
      return point(turned + trim, radius + (outward * WIDTH) / 2);
    });
  const outer = edge(1);
  const inner = edge(-1).reverse();
  return `M${text(outer[0])}${arc(outer)}L${text(inner[0])}${arc(inner)}Z`;
}

/** A quadratic curve through three points. */
function arc([start, middle, end]) {
  const control = [0, 1].map((axis) => 2 * middle[axis] - (start[axis] + end[axis]) / 2);
  return `Q${text(control)} ${text(end)}`;
}

const text = (place) => place.map((value) => value.toFixed(2)).join(" ");

/** Animations: a piece flies to its place, a token walks along the track, a number counts. */

import { element, reducedMotion } from "./elements.js";

const FLIGHT = 520;
const STEP = 85;
const LONGEST_WALK = 900;
const COUNTING = 450;
const EASE = "cubic-bezier(.3, .1, .2, 1)";

/**
 * Moves a drawing from one box to another.
 * @param {Element} drawing an SVG that fills its box
 * @param {DOMRect} from
 * @param {DOMRect} to
 * @param {AbortSignal} signal ends the flight at once
 */
export async function fly(drawing, from, to, signal) {
  if (reducedMotion() || !from?.width || !to.width) return;
  const flying = element(
    "div",
    {
      class: "flying",
      "aria-hidden": "true",
      style: `width: ${to.width}px; height: ${to.height}px`,
    },
    drawing,
  );
  document.body.append(flying);
  const scale = Math.min(1.5, from.width / to.width, from.height / to.height);
  const x = from.x + (from.width - to.width * scale) / 2;
  const y = from.y + (from.height - to.height * scale) / 2;
  const start = `translate(${x}px, ${y}px) scale(${scale})`;
  const end = `translate(${to.x}px, ${to.y}px)`;
  const motion = flying.animate({ transform: [start, end] }, { duration: FLIGHT, easing: EASE });
  signal.addEventListener("abort", () => motion.cancel());
  await motion.finished.catch(() => {});
  flying.remove();
}

/** Calls `place` with each space from one to another. */
export async function walk(from, to, place, signal) {
  const pause = Math.min(STEP, LONGEST_WALK / Math.max(1, to - from));
  for (let space = from + 1; space < to && !reducedMotion(); space += 1) {
    place(space);
    await sleep(pause);
    if (signal.aborted) return;
  }
  place(to);
}

/** Calls `write` with the numbers from one to another. */
export async function count(from, to, write, signal) {
  const start = performance.now();
  for (
    let share = 0;
    share < 1 && from !== to && !reducedMotion();
    share = (performance.now() - start) / COUNTING
  ) {
    write(Math.round(from + (to - from) * Math.max(0, share)));
    await new Promise(requestAnimationFrame);
    if (signal.aborted) return;
  }
  write(to);
}

const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

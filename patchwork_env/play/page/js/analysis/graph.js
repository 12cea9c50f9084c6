/**
 * The graph of a game: the win probability after every move, with marks on bad moves. A click or an arrow key
 * goes to a position. Time runs from left to right in every language, as in the notation.
 */

import { element, svg } from "../elements.js";
import { t } from "../language.js";
import { evaluationText, viewpoint } from "./wording.js";
import { winFor } from "./review.js";

const WIDTH = 320;
const HEIGHT = 110;
const EDGE = 6;

export class Graph {
  #app;
  #scale = null;

  /** @param {import("../view.js").App} app */
  constructor(app) {
    this.#app = app;
    this.drawing = svg("svg", {
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      preserveAspectRatio: "none",
      class: "graph-drawing",
      "aria-hidden": "true",
    });
    this.marks = element("div", { class: "graph-marks", "aria-hidden": "true" });
    this.element = element(
      "div",
      {
        class: "graph",
        dir: "ltr",
        tabindex: "0",
        role: "slider",
        "data-role": "graph",
        "aria-orientation": "horizontal",
        onpointerdown: (event) => this.#press(event),
        onpointermove: (event) => this.element.hasPointerCapture(event.pointerId) && this.#goto(event),
        onkeydown: (event) => this.#key(event),
      },
      this.drawing,
      this.marks,
    );
  }

  /**
   * @param {ReturnType<typeof import("./review.js").review>} reviewed
   * @param {number} ply the position of the game that is shown
   */
  show(reviewed, ply) {
    const { session } = this.#app;
    this.#scale = scaleOf(reviewed.evaluations, session);
    const known = reviewed.evaluations.filter(Boolean).length;
    this.element.hidden = known < 2 || session.main.length < 2;
    if (this.element.hidden) return;
    this.#describe(reviewed, ply);
    this.drawing.replaceChildren(...curves(reviewed.evaluations, this.#scale));
    this.marks.replaceChildren(
      ...reviewed.verdicts.filter(({ name }) => name).map((verdict) => this.#mark(verdict, reviewed)),
      ...this.#here(reviewed, ply),
    );
  }

  #describe({ evaluations, verdicts }, ply) {
    const { session } = this.#app;
    const name = verdicts[ply - 1]?.name;
    const told = [
      t("analysis.graphAt", { ply }),
      evaluationText(session, evaluations[ply]),
      name && t(`review.names.${name}`),
    ];
    const facts = {
      label: t(this.#scale.isChance ? "analysis.graph" : "analysis.graphScore"),
      valuemin: 0,
      valuemax: evaluations.length - 1,
      valuenow: ply,
    };
    for (const [fact, value] of Object.entries(facts)) this.element.setAttribute(`aria-${fact}`, value);
    this.element.setAttribute("aria-valuetext", told.filter(Boolean).join(", "));
  }

  #mark({ ply, player, name }, { evaluations }) {
    const evaluation = evaluations[ply];
    const mark = element("span", {
      class: `graph-mark player-${player}`,
      "data-name": name,
      "data-ply": ply,
    });
    return this.#place(mark, ply, this.#scale.y(evaluation));
  }

  #here({ evaluations }, ply) {
    const { session } = this.#app;
    const evaluation = evaluations[ply];
    const dot = element("span", { class: "graph-here" });
    dot.classList.toggle("unknown", !evaluation);
    dot.classList.toggle("left", session.exploring);
    const now = element("span", { class: "graph-now" });
    now.style.left = `${(100 * this.#scale.x(ply)) / WIDTH}%`;
    return [now, this.#place(dot, ply, evaluation ? this.#scale.y(evaluation) : HEIGHT / 2)];
  }

  #place(mark, ply, y) {
    mark.style.left = `${(100 * this.#scale.x(ply)) / WIDTH}%`;
    mark.style.top = `${(100 * y) / HEIGHT}%`;
    return mark;
  }

  #press(event) {
    if (event.button !== 0) return;
    this.element.setPointerCapture(event.pointerId);
    this.#goto(event);
  }

  #goto(event) {
    const { left, width } = this.element.getBoundingClientRect();
    this.#show(this.#scale.ply(((event.clientX - left) / width) * WIDTH));
  }

  #key(event) {
    const { session } = this.#app;
    const last = session.main.length - 1;
    const now = Number(this.element.getAttribute("aria-valuenow"));
    const steps = {
      ArrowLeft: now - 1,
      ArrowDown: now - 1,
      ArrowRight: now + 1,
      ArrowUp: now + 1,
      PageUp: now + 5,
      PageDown: now - 5,
      Home: 0,
      End: last,
    };
    if (!(event.key in steps) || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    this.#show(Math.max(0, Math.min(last, steps[event.key])));
  }

  #show(ply) {
    const { session } = this.#app;
    if (session.exploring) session.leave(ply);
    else session.goto(ply);
  }
}

/** The graph as a drawing for a report. */
export function drawingOf(session, { evaluations }) {
  const scale = scaleOf(evaluations, session);
  const label = t(scale.isChance ? "analysis.graph" : "analysis.graphScore");
  const shape = { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none" };
  return svg("svg", { ...shape, role: "img", "aria-label": label }, curves(evaluations, scale));
}

/**
 * Maps plies and evaluations to the drawing. The height is the win probability of the player at the viewpoint.
 * It is the player's points if an evaluation has no probability; that of a final position always has one.
 */
function scaleOf(evaluations, session) {
  const last = Math.max(1, evaluations.length - 1);
  const x = (ply) => EDGE + (ply / last) * (WIDTH - 2 * EDGE);
  const ply = (at) => Math.max(0, Math.min(last, Math.round(((at - EDGE) / (WIDTH - 2 * EDGE)) * last)));
  const player = viewpoint(session);
  const isChance = evaluations.every((evaluation) => !evaluation || evaluation.win !== null);
  const value = (evaluation) => (isChance ? winFor(player, evaluation) : (evaluation.scores?.[player] ?? 0));
  const values = evaluations.filter(Boolean).map(value);
  const [low, high] = isChance ? [0, 1] : [Math.min(...values) - 5, Math.max(...values) + 5];
  const y = (evaluation) => EDGE + (1 - (value(evaluation) - low) / (high - low)) * (HEIGHT - 2 * EDGE);
  return { x, y, ply, player, isChance, low, high };
}

/** The curve through all known evaluations, and the areas below it. */
function curves(evaluations, scale) {
  const points = evaluations
    .map((evaluation, ply) => evaluation && [scale.x(ply).toFixed(1), scale.y(evaluation).toFixed(1)])
    .filter(Boolean);
  if (!points.length) return [];
  const curve = `M${points.map((point) => point.join(" ")).join("L")}`;
  const ground = scale.isChance ? HEIGHT / 2 : HEIGHT;
  const area = svg("path", {
    class: "graph-area",
    d: `${curve}L${points.at(-1)[0]} ${ground}L${points[0][0]} ${ground}Z`,
  });
  return [
    ...(scale.isChance ? [...halves(area, scale.player), ...guides()] : [tinted(area, scale.player)]),
    svg("path", { class: "graph-line", d: curve }),
  ];
}

const tinted = (area, player) => svg("g", { class: `player-${player}` }, area);

/** An area in the colour of one player above the middle, and of the other below it. */
function halves(area, player) {
  const height = HEIGHT / 2;
  return [player, 1 - player].map((ahead, below) => {
    const y = below * height;
    const half = { x: 0, y, width: WIDTH, height, viewBox: `0 ${y} ${WIDTH} ${height}` };
    return svg("svg", { ...half, class: `player-${ahead}` }, area.cloneNode());
  });
}

const guides = () =>
  [0.25, 0.5, 0.75].map((share) =>
    svg("path", {
      class: share === 0.5 ? "graph-half" : "graph-guide",
      d: `M0 ${EDGE + share * (HEIGHT - 2 * EDGE)}H${WIDTH}`,
    }),
  );

/** Drawings of the screen as pictures that need no style sheet. */

import { svg } from "./elements.js";

const STYLES = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "stroke-opacity",
  "stroke-dasharray",
  "stroke-linecap",
  "stroke-linejoin",
  "opacity",
  "visibility",
  "font-family",
  "font-size",
  "font-weight",
  "text-anchor",
];

const SHAPES = new Set([
  "path",
  "rect",
  "circle",
  "ellipse",
  "line",
  "polygon",
  "polyline",
  "text",
  "tspan",
  "g",
]);
const UNWANTED = /^(class|style|role|tabindex|data-|aria-)/;

/**
 * A picture of so many units across and down, with the styles of the page written into it.
 * @param {number} width
 * @param {number} height
 * @param {...(Node|Node[])} parts what it shows
 * @returns {SVGSVGElement}
 */
export function pictureOf(width, height, ...parts) {
  const xmlns = "http://www.w3.org/2000/svg";
  const drawn = svg(
    "svg",
    { xmlns, viewBox: `0 0 ${width} ${height}`, width, height, class: "picture" },
    svg("rect", { width, height, class: "picture-ground" }),
    ...parts,
  );
  document.body.append(drawn);
  writeStyles(drawn);
  drawn.remove();
  return drawn;
}

/**
 * A copy of a drawing for a picture: without ghosts, and with the parts that the screen has no room for.
 * @param {SVGSVGElement} drawing
 * @param {Object<string, string|number>} attributes where it lies in the picture
 */
export function copyOf(drawing, attributes) {
  const copy = drawing.cloneNode(true);
  for (const [name, value] of Object.entries(attributes)) copy.setAttribute(name, value);
  for (const child of copy.children) child.style.display = "";
  copy.querySelector(".ghosts")?.replaceChildren();
  return copy;
}

/** Writes what the style sheets say into every element, and takes classes, styles and data away. */
function writeStyles(root) {
  const all = [root, ...root.querySelectorAll("*")];
  const styles = all.map((each) => {
    const computed = getComputedStyle(each);
    return STYLES.map((name) => [name, computed.getPropertyValue(name)]).filter(([, value]) => value);
  });
  all.forEach((each, index) => {
    for (const { name } of [...each.attributes]) if (UNWANTED.test(name)) each.removeAttribute(name);
    if (SHAPES.has(each.tagName)) for (const [name, value] of styles[index]) each.setAttribute(name, value);
  });
}

/** Drawings as pictures that need no style sheet. */

import { svg } from "./elements.js";

const STYLES = [
  ...["fill", "fill-opacity", "opacity", "visibility"],
  ...["stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linecap", "stroke-linejoin"],
  ...["font-family", "font-size", "font-weight", "text-anchor"],
];
const SHAPES = /^(path|rect|circle|ellipse|line|polygon|polyline|text|tspan|g)$/;
const UNWANTED = /^(class|style|role|tabindex|data-|aria-)/;

/**
 * A picture with the styles of the page written into its elements.
 * @param {number} width in units
 * @param {number} height
 * @param {...(Node|Node[])} parts
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
 * A copy of a drawing for a picture: without ghosts, and with parts that are hidden on small screens.
 * @param {SVGSVGElement} drawing
 * @param {Object<string, string|number>} attributes its place in the picture
 */
export function copyOf(drawing, attributes) {
  const copy = drawing.cloneNode(true);
  for (const [name, value] of Object.entries(attributes)) copy.setAttribute(name, value);
  for (const child of copy.children) child.style.display = "";
  copy.querySelector(".ghosts")?.replaceChildren();
  return copy;
}

/** Writes the computed styles into every element, and removes classes, styles and data attributes. */
function writeStyles(root) {
  const all = [root, ...root.querySelectorAll("*")];
  const styles = all.map((each) => {
    const computed = getComputedStyle(each);
    return STYLES.map((name) => [name, computed.getPropertyValue(name)]).filter(([, value]) => value);
  });
  all.forEach((each, index) => {
    for (const { name } of [...each.attributes]) if (UNWANTED.test(name)) each.removeAttribute(name);
    if (SHAPES.test(each.tagName)) for (const [name, value] of styles[index]) each.setAttribute(name, value);
  });
}

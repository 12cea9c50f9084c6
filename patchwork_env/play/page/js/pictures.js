/** Drawings of the screen as pictures that need no style sheet. */

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
 * Writes the styles of the page into a drawing that is not in the document.
 * @param {SVGSVGElement} drawn
 */
export function independent(drawn) {
  document.body.append(drawn);
  writeStyles(drawn);
  drawn.remove();
  return drawn;
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

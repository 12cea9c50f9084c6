/** Drawings of the screen as pictures that need no style sheet. */

const STYLES = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linecap", "stroke-linejoin", "opacity",
  "visibility", "font-family", "font-size", "font-weight", "text-anchor"];

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

/** Writes what the style sheets say into every element, and takes classes and data away. */
function writeStyles(root) {
  for (const each of [root, ...root.querySelectorAll("*")]) {
    const computed = getComputedStyle(each);
    const isShape = !["defs", "pattern", "linearGradient", "svg", "g"].includes(each.tagName) || each.hasAttribute("class");
    const styles = isShape ? STYLES.filter((name) => computed.getPropertyValue(name)).map((name) => [name, computed.getPropertyValue(name)]) : [];
    each.removeAttribute("style");
    for (const [name, value] of styles) if (!each.hasAttribute(name) || name !== "fill") each.setAttribute(name, value);
  }
  for (const each of [root, ...root.querySelectorAll("*")]) {
    for (const { name } of [...each.attributes]) if (name === "class" || name.startsWith("data-") || name.startsWith("aria-")) each.removeAttribute(name);
  }
}

/** Small helpers that make HTML and SVG elements. */

const SVG = "http://www.w3.org/2000/svg";

/**
 * An HTML element: `element("label", {class: "check", "data-role": "sound", onclick: run}, "text", child)`.
 * Attributes that are null, undefined or false are left out; functions are listeners.
 */
export const element = (tag, attributes = {}, ...children) =>
  filled(document.createElement(tag), attributes, children);

/** An SVG element, made like `element`. */
export const svg = (tag, attributes = {}, ...children) =>
  filled(document.createElementNS(SVG, tag), attributes, children);

function filled(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "style")
      made.style.cssText = value; // the server's policy forbids style attributes
    else if (typeof value === "function") made.addEventListener(name.replace(/^on/, ""), value);
    else if (value !== null && value !== undefined && value !== false)
      made.setAttribute(name, value === true ? "" : value);
  }
  made.append(
    ...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false),
  );
  return made;
}

/** A button; `type="submit"` makes one that submits its form. */
export const button = (attributes = {}, ...children) =>
  element("button", { type: "button", ...attributes }, ...children);

/** A table with a row of headings. */
export const table = (headings, rows) =>
  element(
    "table",
    {},
    element("thead", {}, element("tr", {}, headings.map((text) => element("th", { scope: "col" }, text)))),
    element("tbody", {}, rows.map((row) => element("tr", {}, row.map((cell) => element("td", {}, cell))))),
  );

/** An icon of the sprite in index.html. */
export const icon = (name) =>
  svg(
    "svg",
    { class: "icon", "aria-hidden": "true", viewBox: "0 0 24 24" },
    svg("use", { href: `#icon-${name}` }),
  );

/** Sets an attribute, or removes it if the value is null, false or empty. */
export function setAttribute(target, name, value) {
  if (value === null || value === undefined || value === false || value === "") target.removeAttribute(name);
  else target.setAttribute(name, value === true ? "" : value);
}

/** Redraws an element and keeps the focus on the control at the same place. */
export function keepingFocus(root, draw) {
  const controls = () => [...root.querySelectorAll("a, button, summary, input, select, [tabindex]")];
  const focused = controls().indexOf(document.activeElement);
  draw();
  if (focused >= 0) controls()[focused]?.focus({ preventScroll: true });
}

export const reducedMotion = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

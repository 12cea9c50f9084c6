/** The light or dark theme: that of the system, until the user chooses. */

import { recall, remember } from "./storage.js";

/** @param {HTMLButtonElement} button */
export function mountTheme(button) {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  const apply = () => {
    const chosen = recall("theme");
    root.dataset.theme = chosen ?? (system.matches ? "dark" : "light");
    button.setAttribute("aria-pressed", String(root.dataset.theme === "dark"));
  };
  button.addEventListener("click", () => {
    remember("theme", root.dataset.theme === "dark" ? "light" : "dark");
    apply();
  });
  system.addEventListener("change", apply);
  apply();
}

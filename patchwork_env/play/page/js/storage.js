/** What the page remembers between visits; where the browser keeps nothing, it forgets. */

const PREFIX = "patchwork-env.";

/** @returns {any} what was kept under a name; null if nothing was */
export function recall(name) {
  try {
    return JSON.parse(localStorage.getItem(PREFIX + name));
  } catch {
    return null;
  }
}

export function remember(name, value) {
  try {
    localStorage.setItem(PREFIX + name, JSON.stringify(value));
  } catch {
    // A browser that keeps nothing, or is full: the game goes on without.
  }
}

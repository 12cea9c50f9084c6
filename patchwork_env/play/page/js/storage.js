/** Values that the page stores in the browser; where that fails, they last until the page is closed. */

const PREFIX = "patchwork-env.";
/** The values that the browser could not store, as JSON. */
const here = new Map();

/** @returns {any} the value under a name; null if it is missing or damaged */
export function recall(name) {
  try {
    return JSON.parse(here.get(name) ?? localStorage.getItem(PREFIX + name));
  } catch {
    return null;
  }
}

/** @returns {boolean} whether the value is stored for the next visit */
export function remember(name, value) {
  const text = JSON.stringify(value);
  try {
    localStorage.setItem(PREFIX + name, text);
    here.delete(name);
    return true;
  } catch {
    here.set(name, text);
    return false;
  }
}

export function forget(name) {
  here.delete(name);
  try {
    localStorage.removeItem(PREFIX + name);
  } catch {
    // Without storage there is nothing to remove.
  }
}

/** The text under a name in this tab, until it is closed; null if there is none. */
export function recallInTab(name) {
  try {
    return sessionStorage.getItem(PREFIX + name);
  } catch {
    return null;
  }
}

export function rememberInTab(name, text) {
  try {
    sessionStorage.setItem(PREFIX + name, text);
  } catch {
    // Optional: the address has the game, too.
  }
}

/** The names of all values that begin with a prefix. */
export function remembered(beginning) {
  let kept = [];
  try {
    kept = Object.keys(localStorage).filter((name) => name.startsWith(PREFIX));
  } catch {
    // Without storage, `here` has all values.
  }
  const names = new Set([...kept.map((name) => name.slice(PREFIX.length)), ...here.keys()]);
  return [...names].filter((name) => name.startsWith(beginning));
}

/** Calls `tell` with the name of each value that another page of this browser changes or removes. */
export function onOtherPages(tell) {
  addEventListener("storage", ({ key }) => key?.startsWith(PREFIX) && tell(key.slice(PREFIX.length)));
}

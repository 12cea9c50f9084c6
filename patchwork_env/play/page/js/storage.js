/** Values that the page stores between visits; without storage, until the page is closed. */

const PREFIX = "patchwork-env.";
/** The texts that the browser could not store. */
const here = new Map();

/** @returns {any} what was kept under a name; null if nothing was, or if it is damaged */
export function recall(name) {
  try {
    return JSON.parse(here.get(name) ?? localStorage.getItem(PREFIX + name));
  } catch {
    return null;
  }
}

/** @returns {boolean} whether it will be there on the next visit, too */
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
    // A browser that keeps nothing has nothing to forget.
  }
}

/** The same for this tab alone, as long as it is open. */
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
    // The address still has the game.
  }
}

/** All names that begin in a way and have something kept. */
export function remembered(beginning) {
  let kept = [];
  try {
    kept = Object.keys(localStorage).filter((name) => name.startsWith(PREFIX));
  } catch {
    // A browser that keeps nothing.
  }
  const names = new Set([...kept.map((name) => name.slice(PREFIX.length)), ...here.keys()]);
  return [...names].filter((name) => name.startsWith(beginning));
}

/** Tells when another page of the same browser has kept something else under a name, or forgotten it. */
export function onOtherPages(tell) {
  addEventListener("storage", ({ key }) => key?.startsWith(PREFIX) && tell(key.slice(PREFIX.length)));
}

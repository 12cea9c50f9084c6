/**
 * A worker that holds the rules and agents: it answers one message after the other, and between the steps of
 * an analysis it hears whether the answer is still wanted.
 *
 * A message is `{id, method, parameters}` or `{id, cancel: true}`; answers are `{id, progress}`,
 * `{id, analysis}` and at last `{id, result}`, `{id, error, lost}` or `{id, cancelled: true}`.
 */

import { Engine } from "./wasm/engine.js";

const NOTICE = { progress: "Loading", key: "loading" };
const engine = new Engine(read);
const cancelled = new Set();
let last = Promise.resolve();

onmessage = ({ data: message }) => {
  if (message.cancel) cancelled.add(message.id);
  else last = last.then(() => serve(message));
};

async function read(name) {
  try {
    const response = await fetch(`../wasm/${name}`);
    if (!response.ok) throw new Error(`${name}: ${response.status} ${response.statusText}`);
    return await response.arrayBuffer();
  } catch (error) {
    throw Object.assign(error, { lost: true });
  }
}

async function serve({ id, method, parameters }) {
  const notice = setTimeout(() => postMessage({ id, progress: NOTICE }), 300);
  try {
    const result = method === "analyse" ? await analyse(id, parameters) : await engine[method](...parameters);
    postMessage(cancelled.has(id) ? { id, cancelled: true } : { id, result });
  } catch (error) {
    postMessage({ id, error: error.message, lost: error.lost });
  } finally {
    clearTimeout(notice);
    cancelled.delete(id);
  }
}

/** Sends ever deeper analyses; returns the last one. */
async function analyse(id, parameters) {
  let found = null;
  for await (found of engine.analyse(...parameters)) {
    if (cancelled.has(id)) break;
    postMessage({ id, analysis: found });
    await messagesHeard();
  }
  return found;
}

/** Gives messages that have come in the meantime their turn. */
function messagesHeard() {
  return new Promise((resolve) => setTimeout(resolve));
}

/**
 * A worker with the rules and agents. It answers messages in order; an analysis checks between its steps
 * whether it was cancelled.
 *
 * Messages are `{id, method, parameters}` or `{id, cancel: true}`. Answers are `{id, progress}` and
 * `{id, analysis}`, and a last one: `{id, result}`, `{id, error, lost}` or `{id, cancelled: true}`.
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

/** Sends deeper and deeper analyses; returns the last one. */
async function analyse(id, parameters) {
  let found = null;
  for await (found of engine.analyse(...parameters)) {
    if (cancelled.has(id)) break;
    postMessage({ id, analysis: found });
    await messagesHeard();
  }
  return found;
}

/** Lets the worker receive messages, such as a cancellation. */
function messagesHeard() {
  return new Promise((resolve) => setTimeout(resolve));
}

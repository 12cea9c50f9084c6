/** The backend over HTTP: JSON by POST, one route for each function; long answers are lines of JSON. */

import { BackendError, isAbort } from "./backend.js";

/** @returns {import("./backend.js").Backend} */
export function connect() {
  return {
    open: (setup) => ask("open", setup),
    play: (notation, move) => ask("play", { notation, move }),
    agents: (game, agent) => ask("agents", { game, agent }),
    choose,
    analyse,
  };
}

async function choose(notation, agent, { seed, signal, onprogress } = {}) {
  for await (const message of stream("choose", { notation, agent, seed }, signal)) {
    if (message.choice) return message.choice;
    if (message.progress) onprogress?.(message);
  }
  throw new BackendError("The answer of the agent broke off.", { lost: true });
}

async function analyse(notation, { agent, lines, signal, onprogress, onanalysis } = {}) {
  let last = null;
  for await (const message of stream("analyse", { notation, agent, lines }, signal)) {
    if (message.progress) onprogress?.(message);
    if (message.analysis) {
      last = message.analysis;
      onanalysis?.(last);
    }
  }
  if (last) return last;
  throw new BackendError("The analysis broke off.", { lost: true });
}

async function ask(route, message) {
  const response = await post(route, message);
  return orLost(() => response.json());
}

/** The messages of a streamed answer; throws an `error` among them. */
async function* stream(route, message, signal) {
  const response = await post(route, message, signal);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await orLost(() => reader.read());
      const lines = (rest + (value ?? "")).split("\n");
      rest = done ? "" : lines.pop();
      for (const line of lines) if (line.trim()) yield parsed(line);
      if (done) return;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

function parsed(line) {
  const message = JSON.parse(line);
  if (message.error) throw new BackendError(message.error);
  return message;
}

async function post(route, message, signal) {
  const response = await orLost(() =>
    fetch(`api/${route}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(message),
      signal,
    }),
  );
  if (!response.ok) throw await refusal(response);
  return response;
}

async function refusal(response) {
  const answer = await response.json().catch(() => ({}));
  const lost = response.status >= 502;
  return new BackendError(answer.error ?? `${response.status} ${response.statusText}`, {
    lost,
    status: response.status,
  });
}

/** Awaits the network; a failure becomes a `BackendError` with `lost`. */
async function orLost(answer) {
  try {
    return await answer();
  } catch (error) {
    if (isAbort(error)) throw error;
    throw new BackendError(error.message, { lost: true });
  }
}

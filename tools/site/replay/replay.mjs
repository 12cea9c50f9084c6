/**
 * Repeats with the modules of a site what the package has played: `node replay.mjs SITE SAMPLES`.
 *
 * Rules must be equal in everything that the page is told. Choices may differ in one of a hundred, because
 * WebAssembly has no fused multiplication and weights are rounded; those that need no learned value may not.
 */

import { readFile } from "node:fs/promises";
import { isDeepStrictEqual } from "node:util";
import { pathToFileURL } from "node:url";

const [site, samplesPath] = process.argv.slice(2);
const { Engine } = await import(pathToFileURL(`${site}/js/wasm/engine.js`));
const engine = new Engine(async (name) => {
  const { buffer, byteOffset, byteLength } = await readFile(`${site}/wasm/${name}`);
  return buffer.slice(byteOffset, byteOffset + byteLength);
});
const samples = JSON.parse(await readFile(samplesPath));
const EXACT = new Set(["greedy", "random"]);
const MOST_DIFFERENT = 0.01;
const CLOSE = { win: 0.02, points: 0.5 };
const failures = [];

const began = performance.now();
for (const game of ["patchwork", "nmbr9"]) await engine.open({ game, seed: 0 });
console.log(`both modules are ready after ${((performance.now() - began) / 1000).toFixed(2)} s`);
await replayGames(samples.games);
await replayChoices(Map.groupBy?.(samples.choices, ({ agent, notation }) => key(agent, notation)) ?? grouped(samples.choices));
await replayAnalyses(samples.analyses);
for (const failure of failures) console.error(failure);
process.exit(failures.length ? 1 : 0);

function key(agent, notation) {
  return `${notation.split("/")[0]} ${agent}`;
}

function grouped(choices) {
  const groups = new Map();
  for (const choice of choices) {
    const name = key(choice.agent, choice.notation);
    groups.set(name, [...(groups.get(name) ?? []), choice]);
  }
  return groups;
}

/** Every position of every game, opened anew, read from its notation, and played move by move. */
async function replayGames(games) {
  let steps = 0;
  for (const { setup, notation, positions } of games) {
    const name = `${setup.game}, seed ${setup.seed}`;
    const begun = await engine.open(setup);
    expectEqual(begun.positions, positions.slice(0, 1), `${name}: the start`);
    const read = await engine.open({ notation });
    expectEqual(read.notation, notation, `${name}: the notation`);
    read.positions.forEach((position, ply) => expectEqual(position, positions[ply], `${name}: position ${ply}`));
    let text = begun.notation;
    for (const { ply, word, action } of positions.slice(1)) {
      const played = await engine.play(text, ply % 2 ? word : action);
      expectEqual(played.position, positions[ply], `${name}: move ${ply}`);
      text = played.notation;
      steps += 1;
    }
    expectEqual(text, notation, `${name}: the notation after all moves`);
  }
  console.log(`${games.length} games, ${steps} moves: all positions are equal`.replace(/: all.*/, failures.length ? ": NOT equal" : "$&"));
}

async function replayChoices(groups) {
  for (const [name, choices] of groups) {
    let [same, seconds] = [0, 0];
    for (const { notation, agent, seed, action } of choices) {
      const start = performance.now();
      const choice = await engine.choose(notation, agent, { seed });
      seconds += (performance.now() - start) / 1000;
      same += choice.action === action;
    }
    const native = choices.reduce((sum, choice) => sum + choice.seconds, 0);
    report(name, choices, same, seconds, native);
    const allowed = EXACT.has(choices[0].agent) ? 0 : Math.ceil(choices.length * MOST_DIFFERENT);
    if (choices.length - same > allowed) failures.push(`${name}: ${choices.length - same} of ${choices.length} choices differ`);
  }
}

function report(name, choices, same, seconds, native) {
  const each = (total) => `${((1000 * total) / choices.length).toFixed(1)} ms`;
  const ratio = (seconds / native).toFixed(1);
  console.log(`${name}: ${same} of ${choices.length} choices equal; ${each(seconds)} a move, natively ${each(native)}: ${ratio} times`);
}

/** What searches find, and how deep they are; figures are close to each other. */
async function replayAnalyses(analyses) {
  for (const { notation, agent, analysis } of analyses) {
    let found = null;
    for await (found of engine.analyse(notation, { agent }));
    const [win, margin] = ["win", "margin"].map((figure) => Math.abs((found[figure] ?? 0) - (analysis[figure] ?? 0)));
    const points = Math.max(...(analysis.scores ?? []).map((score, k) => Math.abs(score - found.scores[k])), 0);
    const isClose = win <= CLOSE.win && margin <= CLOSE.points && points <= CLOSE.points;
    const isSame = ["player", "done"].every((key) => found[key] === analysis[key]) && found.lines.length === analysis.lines.length;
    if (!isClose || !isSame) failures.push(`${agent}: ${JSON.stringify(found)} instead of ${JSON.stringify(analysis)}`);
  }
  console.log(`${analyses.length} analyses`);
}

function expectEqual(found, expected, what) {
  if (isDeepStrictEqual(found, expected)) return;
  failures.push(`${what}: ${JSON.stringify(found).slice(0, 400)} instead of ${JSON.stringify(expected).slice(0, 400)}`);
}

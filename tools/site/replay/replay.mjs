/**
 * Repeats with the modules of a site what the package has played: `node replay.mjs SITE SAMPLES`.
 *
 * Rules and choices must be equal, analyses close.
 */

import { readFile } from "node:fs/promises";
import { isDeepStrictEqual } from "node:util";

const [site, samplesPath] = process.argv.slice(2);
const { Engine } = await import("../../../patchwork_env/play/page/js/wasm/engine.js");
const engine = new Engine(async (name) => {
  const { buffer, byteOffset, byteLength } = await readFile(`${site}/wasm/${name}`);
  return buffer.slice(byteOffset, byteOffset + byteLength);
});
const samples = JSON.parse(await readFile(samplesPath));
const CLOSE = { win: 0.02, points: 0.5 };
const failures = [];

const began = performance.now();
for (const game of ["patchwork", "nmbr9"]) await engine.open({ game, seed: 0 });
console.log(`both modules are ready after ${((performance.now() - began) / 1000).toFixed(2)} s`);
await replayGames(samples.games);
await replayChoices(grouped(samples.choices));
await replayAnalyses(samples.analyses);
for (const failure of failures) console.error(failure);
process.exit(failures.length ? 1 : 0);

/** Choices by game and agent. */
function grouped(choices) {
  const groups = new Map();
  for (const choice of choices) {
    const name = `${choice.notation.split("/")[0]} ${choice.agent}`;
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
    for (const [ply, position] of read.positions.entries()) {
      expectEqual(position, positions[ply], `${name}: position ${ply}`);
    }
    let text = begun.notation;
    for (const { ply, word, action } of positions.slice(1)) {
      const played = await engine.play(text, ply % 2 ? word : action);
      expectEqual(played.position, positions[ply], `${name}: move ${ply}`);
      text = played.notation;
      steps += 1;
    }
    expectEqual(text, notation, `${name}: the notation after all moves`);
  }
  console.log(`${games.length} games, ${steps} moves: ${failures.length || "no"} differences`);
}

async function replayChoices(groups) {
  for (const [name, choices] of groups) {
    let [same, seconds] = [0, 0];
    for (const { notation, agent, seed, action } of choices) {
      const start = process.cpuUsage();
      const choice = await engine.choose(notation, agent, { seed });
      seconds += process.cpuUsage(start).user / 1e6;
      same += choice.action === action;
    }
    report(name, choices, same, seconds);
    if (same < choices.length) failures.push(`${name}: ${choices.length - same} choices differ`);
  }
}

function report(name, choices, same, seconds) {
  const native = choices.reduce((sum, choice) => sum + choice.seconds, 0);
  const each = (total) => `${((1000 * total) / choices.length).toFixed(1)} ms`;
  const ratio = (seconds / native).toFixed(1);
  const times = `${each(seconds)} of the processor a move, natively ${each(native)}: ${ratio} times`;
  console.log(`${name}: ${same} of ${choices.length} choices equal; ${times}`);
}

/** What searches find; figures are close, there are as many lines, and the same words are alike. */
async function replayAnalyses(analyses) {
  for (const { notation, agent, analysis } of analyses) {
    let found = null;
    for await (found of engine.analyse(notation, { agent }));
    const isClose =
      distance(found.win, analysis.win) <= CLOSE.win &&
      distance(found.margin, analysis.margin) <= CLOSE.points &&
      (analysis.scores ?? []).every((score, k) => distance(score, found.scores[k]) <= CLOSE.points);
    const isWhole = found.done && found.lines.length === analysis.lines.length;
    const alike = new Map(found.lines.map((line) => [line.word, line.alike]));
    const isAlike = analysis.lines.every(
      ({ word, alike: words }) => !alike.has(word) || isDeepStrictEqual(alike.get(word), words),
    );
    if (!isClose || !isWhole || !isAlike) expectEqual(found, analysis, `${agent} analyses`);
  }
  console.log(`${analyses.length} analyses`);
}

function distance(one, other) {
  return Math.abs((one ?? 0) - (other ?? 0));
}

function expectEqual(found, expected, what) {
  if (isDeepStrictEqual(found, expected)) return;
  const [is, should] = [found, expected].map((value) => JSON.stringify(value).slice(0, 400));
  failures.push(`${what}: ${is} instead of ${should}`);
}

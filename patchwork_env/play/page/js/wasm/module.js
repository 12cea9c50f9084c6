/** A compiled module: its functions, and the arrays and the record in its memory. */

import { refuse } from "./texts.js";

/** Functions for which WebAssembly has no instructions. */
const MATHEMATICS = { exp: Math.exp, expf: (x) => Math.fround(Math.exp(x)), pow: Math.pow };
const KINDS = {
  i1: Int8Array,
  u1: Uint8Array,
  i2: Int16Array,
  u2: Uint16Array,
  i4: Int32Array,
  u4: Uint32Array,
  i8: BigInt64Array,
  u8: BigUint64Array,
  f4: Float32Array,
  f8: Float64Array,
};

/** An instance of the code. It needs SIMD, which browsers have had since 2021 to 2023. */
async function instantiate(code) {
  try {
    return (await WebAssembly.instantiate(code, { env: MATHEMATICS })).instance;
  } catch (error) {
    if (error instanceof WebAssembly.CompileError) refuse("This browser is too old: it has no SIMD.");
    throw error;
  }
}

export class Module {
  /**
   * @param {object} facts from the build: arrays, fields of the record, components, agents
   * @param {WebAssembly.Exports} functions
   * @param {(name: string) => Promise<ArrayBuffer>} read reads one of the module's files
   */
  constructor(facts, functions, read) {
    this.read = read;
    this.facts = facts;
    this.functions = functions;
    this.base = functions[facts.memory].value;
  }

  /**
   * @param {string} game
   * @param {(name: string) => Promise<ArrayBuffer>} read reads one of the module's files
   */
  static async load(game, read) {
    const facts = JSON.parse(new TextDecoder().decode(await read(`${game}.json`)));
    const instance = await instantiate(await read(facts.code));
    const module = new Module(facts, instance.exports, read);
    module.weighed().catch(() => {}); // the next request tries again
    return module;
  }

  /** Resolves when the weights are loaded; agents need them, rules do not. */
  weighed() {
    this.weights ??= this.read(this.facts.weights.file).then((stored) => this.#takeWeights(stored));
    this.weights.catch(() => (this.weights = null)); // the next call loads them again
    return this.weights;
  }

  #takeWeights(stored) {
    const memory = new Uint8Array(this.functions.memory.buffer);
    memory.set(new Uint8Array(stored), this.base + this.facts.weights.offset);
  }

  /** A view of an array of the module, valid until the next call of a function. */
  array(name) {
    const { offset, type, count } = this.facts.arrays[name];
    return new KINDS[type](this.functions.memory.buffer, this.base + offset, count);
  }

  /** A copy of the first numbers of an array. */
  first(name, count) {
    return Array.from(this.array(name).subarray(0, count), Number);
  }

  /** A field of the game's record: one number, or an array of them. */
  field(name) {
    const { offset, type, count } = this.facts.record[name];
    const start = this.base + this.facts.arrays.states.offset + offset;
    const end = start + KINDS[type].BYTES_PER_ELEMENT * (count ?? 1);
    const numbers = new KINDS[type](this.functions.memory.buffer.slice(start, end));
    return count === null ? Number(numbers[0]) : Array.from(numbers, Number);
  }

  /** A copy of the bytes of the game's record. */
  state() {
    return this.array("states").slice();
  }

  /** Restores a copy from `state()`. */
  restore(state) {
    this.array("states").set(state);
  }

  /** Writes numbers to a field of the game's record. */
  write(field, numbers) {
    const { offset, type } = this.facts.record[field];
    const start = this.array("states").byteOffset + offset;
    new KINDS[type](this.functions.memory.buffer, start, numbers.length).set(numbers);
  }

  /** Starts the module's random stream. @param {bigint} seed of 64 bits */
  seed(seed) {
    this.functions.seed_stream(Number(seed >> 32n), Number(seed & 0xffffffffn));
  }
}

/** The common part of both notations, and checks of arguments. */

import { BackendError } from "../backend.js";

/** Throws an error with a message for users. */
export function refuse(message) {
  throw new BackendError(message);
}

/** A value as text for a message, truncated to 60 characters. */
export function shorten(value) {
  const text = typeof value === "string" ? `'${value}'` : (JSON.stringify(value) ?? String(value));
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}

/** Validates an integer from `lowest` to `highest`. */
export function wholeNumber(value, lowest, highest, what) {
  if (Number.isInteger(value) && value >= lowest && value <= highest) return value;
  return refuse(`${what} is ${shorten(value)}; allowed are ${lowest} to ${highest}`);
}

/** Validates one of some texts. */
export function oneOf(value, allowed, what) {
  if (allowed.includes(value)) return value;
  return refuse(`${what} is ${shorten(value)}; allowed are ${allowed.join(", ")}`);
}

/** Validates a list of integers. */
export function wholeNumbers(values, lowest, highest, what) {
  if (!Array.isArray(values)) return refuse(`${what} must list numbers, not ${shorten(values)}`);
  return values.map((value) => wholeNumber(value, lowest, highest, what));
}

/** Parses an integer in decimal digits. */
export function parseNumber(text) {
  return /^[0-9]{1,15}$/.test(text) ? Number(text) : refuse(`${shorten(text)} in the set-up is not a number`);
}

/** Parses integers with commas between them, or `-` for none. */
export const parseNumbers = (text) => (text === "-" ? [] : text.split(",").map(parseNumber));

/** Validates a seed, 0 to 2**64 - 1, as a number or in digits; a random one by default. */
export function seedOf(value) {
  if (value === undefined || value === null) return crypto.getRandomValues(new BigUint64Array(1))[0];
  const isSeed = typeof value === "bigint" || Number.isInteger(value) || /^[0-9]{1,20}$/.test(value);
  const seed = isSeed ? BigInt(value) : -1n;
  if (seed >= 0n && seed < 2n ** 64n) return seed;
  return refuse(`seed is ${shorten(String(value))}; allowed are 0 to 2**64 - 1`);
}

export const wordsOf = (text) => text.split(/\s+/).filter(Boolean);

/**
 * Parses a game: the fields of its set-up, and its words.
 * @param {string} format the name of the notation
 * @param {string[]} fields the fields of a set-up
 * @param {string} text
 * @returns {{fields: Object<string, string>, words: string[]}}
 */
export function parseGame(format, fields, text) {
  const [name = "", ...words] = wordsOf(text);
  if (name !== format) refuse(`the notation of a game starts with '${format}', not with ${shorten(name)}`);
  const end = words.findIndex((word) => !/^[a-z]\w*=/.test(word));
  const parts = end < 0 ? words : words.slice(0, end);
  const given = Object.fromEntries(parts.map((part) => part.split(/=(.*)/s, 2)));
  if (Object.keys(given).length < parts.length) refuse(`the set-up repeats a field: ${shorten(parts.join(" "))}`);
  const unknown = Object.keys(given).find((field) => !fields.includes(field));
  if (unknown)
    refuse(`this page reads games from their beginning; a set-up has no field ${shorten(unknown)}`);
  const missing = fields.find((field) => !(field in given));
  if (missing) refuse(`the set-up lacks '${missing}'; it needs ${fields.join(", ")}`);
  return { fields: given, words: words.slice(parts.length) };
}

/** The notation of a game, the inverse of `parseGame`. */
export function gameText(format, fields, words) {
  const parts = Object.entries(fields).map(([name, value]) => `${name}=${value}`);
  return `${[format, ...parts].join(" ")}\n${words.join(" ")}\n`;
}

/** The notation of a game: the set-up on the first line, one word per move on the second. */

export const headerOf = (notation) => notation.trim().split("\n", 1)[0].trim();

/**
 * @param {string} header
 * @param {string[]} words
 */
export const compose = (header, words) => `${header}\n${words.join(" ")}\n`;

/** A hash of a text, 0 to 2**32 - 1 (FNV-1a). */
export function hash(text) {
  let value = 0x811c9dc5;
  for (const character of text) value = Math.imul(value ^ character.codePointAt(0), 0x01000193) >>> 0;
  return value;
}

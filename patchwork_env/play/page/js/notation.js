/** The text of a game: its first line is the set-up, its second holds one word for each move. */

/** The first line of a notation. */
export const headerOf = (notation) => notation.trim().split("\n", 1)[0].trim();

/**
 * @param {string} header
 * @param {string[]} words
 */
export const compose = (header, words) => `${header}\n${words.join(" ")}\n`;

/** A number that is the same for the same text, 0 to 2**32 - 1 (FNV-1a). */
export function hash(text) {
  let value = 0x811c9dc5;
  for (const character of text) value = Math.imul(value ^ character.codePointAt(0), 0x01000193) >>> 0;
  return value;
}

/**
 * The texts of the page in the chosen language, from `languages/CODE.json`; the English ones come with the page.
 *
 * A text is found by its path: `t("status.yourTurn")`. `{name}` in it is replaced by a value; numbers are
 * written by `Intl.NumberFormat`. A text with plurals is an object with the categories of
 * `Intl.PluralRules` ("one", "few", "many", "other"), chosen by the value `count`. What a language lacks is
 * taken from English.
 */

/** The languages of the page, by the names that they have for themselves. */
export const LANGUAGES = { en: "English", fa: "فارسی", ru: "Русский", hi: "हिन्दी", pl: "Polski" };
const RIGHT_TO_LEFT = new Set(["fa"]);

let english = {};
let texts = {};
let code = "en";
let latest = code;
let plurals = new Intl.PluralRules("en");
let numbers = new Intl.NumberFormat("en");

/** Tells of a new language by the event "change". */
export const languageEvents = new EventTarget();

/** The code of a language of the page, such as "pl" for "pl-PL"; undefined if it is none. */
export function knownLanguage(wish) {
  const found = wish?.toLowerCase().split("-")[0];
  return Object.keys(LANGUAGES).find((known) => known === found);
}

/** The code of the chosen language. */
export const language = () => code;

/** The language to begin with: one that was asked for, else one that the browser prefers. */
export function preferredLanguage(...wishes) {
  return [...wishes, ...navigator.languages].map(knownLanguage).find(Boolean) ?? "en";
}

/**
 * Loads a language and, unless another one was wished for meanwhile, sets `lang` and `dir` of the document,
 * and writes all marked elements anew. An error if it cannot be loaded: then nothing changes.
 */
export async function setLanguage(wish) {
  latest = wish;
  if (!Object.keys(english).length) english = JSON.parse(document.querySelector("#words").textContent);
  const loaded = wish === "en" ? english : await load(wish);
  if (wish !== latest) return;
  texts = loaded;
  code = wish;
  plurals = new Intl.PluralRules(code);
  numbers = new Intl.NumberFormat(code);
  writeDirection(code);
  translate(document);
  languageEvents.dispatchEvent(new Event("change"));
}

/** Sets `lang` and `dir` of the document. */
export function writeDirection(code) {
  document.documentElement.lang = code;
  document.documentElement.dir = RIGHT_TO_LEFT.has(code) ? "rtl" : "ltr";
}

async function load(wish) {
  try {
    return await (await fetch(`languages/${wish}.json`)).json();
  } catch (error) {
    throw Object.assign(error, { lost: true });
  }
}

/**
 * A text.
 * @param {string} key its path
 * @param {Object<string, any>} values
 */
export function t(key, values = {}) {
  const found = lookUp(texts, key) ?? lookUp(english, key) ?? key;
  const text = typeof found === "string" ? found : (found[plurals.select(values.count)] ?? found.other);
  return text.replace(/\{(\w+)\}/g, (_, name) => written(values[name]));
}

/** Whether there is a text of this name. */
export const hasText = (key) => (lookUp(texts, key) ?? lookUp(english, key)) !== undefined;

const lookUp = (tree, key) => key.split(".").reduce((branch, name) => branch?.[name], tree);

const written = (value) => (typeof value === "number" ? number(value) : isolated(String(value ?? "")));

/** Latin names keep their direction, and what follows them keeps its place, in a text that runs the other way. */
const isolated = (text) => (text && RIGHT_TO_LEFT.has(code) ? `\u2068${text}\u2069` : text);

/** A number as the language writes it. */
export const number = (value, options) =>
  (options ? new Intl.NumberFormat(code, options) : numbers).format(value);

/** A product with its result: "7 × 2 = 14". */
export function product(total, factor) {
  return `${number(total)} × ${number(factor)} = ${number(total * factor)}`;
}

/** A probability, 0 to 1, in percent. */
export const percent = (value, digits = 0) =>
  number(value, { style: "percent", minimumFractionDigits: digits, maximumFractionDigits: digits });

const MARKS = {
  "data-t": (element, text) => {
    element.textContent = text;
  },
  "data-t-label": (element, text) => element.setAttribute("aria-label", text),
  "data-t-title": (element, text) => element.setAttribute("title", text),
  "data-t-placeholder": (element, text) => element.setAttribute("placeholder", text),
};

/**
 * Writes the texts of all elements that are marked with data-t, data-t-label, data-t-title or
 * data-t-placeholder.
 */
export function translate(root) {
  for (const [mark, write] of Object.entries(MARKS)) {
    for (const element of root.querySelectorAll(`[${mark}]`)) write(element, t(element.getAttribute(mark)));
  }
}

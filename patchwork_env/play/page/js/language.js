/**
 * The texts of the page in the chosen language, from `languages/CODE.json`; the English ones come with the page.
 *
 * `t("status.yourTurn")` gives the text with this path. `{name}` is replaced by a value; numbers are formatted
 * by `Intl.NumberFormat`. A text with plurals is an object with the categories of `Intl.PluralRules` ("one",
 * "few", "many", "other"); the value `count` chooses among them. Missing texts are taken from English.
 */

/** The languages of the page, with their own names. */
export const LANGUAGES = { en: "English", fa: "فارسی", ru: "Русский", hi: "हिन्दी", pl: "Polski" };
const RIGHT_TO_LEFT = new Set(["fa"]);

let english = {};
let texts = {};
let code = "en";
let latest = code;
let plurals = new Intl.PluralRules("en");
let numbers = new Intl.NumberFormat("en");

/** Fires "change" when the language has changed. */
export const languageEvents = new EventTarget();

/** The language of the page for a code, such as "pl" for "pl-PL"; undefined if there is none. */
export function knownLanguage(wish) {
  const found = wish?.toLowerCase().split("-")[0];
  return Object.keys(LANGUAGES).find((known) => known === found);
}

/** The code of the chosen language. */
export const language = () => code;

/** The first of some wishes that is a language of the page, else one that the browser prefers. */
export function preferredLanguage(...wishes) {
  return [...wishes, ...navigator.languages].map(knownLanguage).find(Boolean) ?? "en";
}

/**
 * Loads a language, sets `lang` and `dir` of the document, and translates all marked elements. Nothing changes
 * if it cannot be loaded, which is an error, or if another language was requested meanwhile.
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
 * A text of the page.
 * @param {string} key its path
 * @param {Object<string, any>} values
 */
export function t(key, values = {}) {
  const found = lookUp(texts, key) ?? lookUp(english, key) ?? key;
  const text = typeof found === "string" ? found : (found[plurals.select(values.count)] ?? found.other);
  return text.replace(/\{(\w+)\}/g, (_, name) => written(values[name]));
}

export const hasText = (key) => (lookUp(texts, key) ?? lookUp(english, key)) !== undefined;

const lookUp = (tree, key) => key.split(".").reduce((branch, name) => branch?.[name], tree);

const written = (value) => (typeof value === "number" ? number(value) : isolated(String(value ?? "")));

/** A value isolated from the direction of the text around it. */
const isolated = (text) => (text && RIGHT_TO_LEFT.has(code) ? `\u2068${text}\u2069` : text);

/** A number in the format of the language. */
export const number = (value, options) =>
  (options ? new Intl.NumberFormat(code, options) : numbers).format(value);

/** A product with its result: "7 × 2 = 14". */
export function product(total, factor) {
  return `${number(total)} × ${number(factor)} = ${number(total * factor)}`;
}

/** A probability, 0 to 1, in whole percent. */
export const percent = (value) => number(value, { style: "percent" });

const MARKS = {
  "data-t": (element, text) => {
    element.textContent = text;
  },
  "data-t-label": (element, text) => element.setAttribute("aria-label", text),
  "data-t-title": (element, text) => element.setAttribute("title", text),
};

/** Translates all elements below `root` that are marked with data-t, data-t-label or data-t-title. */
export function translate(root) {
  for (const [mark, write] of Object.entries(MARKS)) {
    for (const element of root.querySelectorAll(`[${mark}]`)) write(element, t(element.getAttribute(mark)));
  }
}

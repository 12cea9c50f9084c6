/** Puts the page together: backend, session, the view of the game, and everything around it. */

import { mountAnalysis } from "./analysis/panel.js";
import { addressOf, readAddress, seatsOf, writeAddress } from "./address.js";
import { mountControls } from "./controls.js";
import { LANGUAGES, language, languageEvents, setLanguage, t } from "./language.js";
import { element } from "./elements.js";
import { mountMoves } from "./moves.js";
import { gameOf } from "./notation.js";
import { announce, notify } from "./notices.js";
import { nameOf } from "./players.js";
import { connect as connectToServer } from "./server_backend.js";
import { Session } from "./session.js";
import { mountStatus } from "./status.js";
import { recall, remember } from "./storage.js";
import { mountTheme } from "./theme.js";
import { RETRY_MILLISECONDS, Turns, pause } from "./turns.js";
import { gameNames, loadView } from "./view.js";
import { connect as connectToWasm } from "./wasm_backend.js";

/** Who knows the rules, by what index.html says of this copy of the page. */
const BACKENDS = { server: connectToServer, wasm: connectToWasm };

const FIRST_CHOICES = { game: "patchwork", opponent: "partner:level=1", seat: "0" };

/**
 * What views and panels are given; see view.js for its members. Tells by the event "shown" that another
 * position, other players or another language is on the screen.
 */
class Page extends EventTarget {
  #rest = Promise.resolve();

  constructor(backend) {
    super();
    this.backend = backend;
    this.session = new Session(backend);
    this.notify = notify;
    this.announce = announce;
    this.components = null;
    this.view = null;
    /** The answers of the new-game dialog that led to this game. */
    this.choices = { ...FIRST_CHOICES };
    this.session.addEventListener("open", () => this.#opened());
    this.session.addEventListener("change", ({ detail }) => this.#show(detail));
    this.session.addEventListener("seats", () => this.#show({}));
    languageEvents.addEventListener("change", () => this.view && this.#show({}));
    // After the listeners above, since agents wait until what is shown has come to rest.
    this.turns = new Turns(this);
  }

  /** Resolves when the last move has come to rest on the screen. */
  atRest() {
    return this.#rest;
  }

  mayMove() {
    return this.session.mayMove;
  }

  perspective() {
    const seat = this.session.seats.findIndex(({ kind }) => kind === "person");
    return Math.max(0, seat);
  }

  nameOf(player) {
    return nameOf(this.session, player);
  }

  async play(move) {
    const { notation } = this.session;
    let waiting = null;
    try {
      while (this.session.notation === notation) {
        try {
          return await this.session.play(move);
        } catch (error) {
          if (!error.lost) throw error;
          waiting ??= this.notify({ text: t("errors.lost"), kind: "error" });
          await pause(RETRY_MILLISECONDS);
        }
      }
    } catch (error) {
      this.fail(error);
    } finally {
      waiting?.close();
    }
    return false;
  }

  /** Shows what went wrong. */
  fail(error) {
    this.notify({ text: error.lost ? t("errors.lost") : error.message, kind: "error" });
  }

  /**
   * Puts a game on the table.
   * @param {object} choices the answers of the new-game dialog, or of the address
   * @param {{notation?: ?string, ply?: number, foreign?: number}} options a game to go on with; `foreign`: how
   *   many of its moves were not made by those who play now, all if left out
   */
  async open(choices, { notation = null, ply = Infinity, foreign = Infinity } = {}) {
    const game = notation ? gameOf(notation) : (choices.game ?? "patchwork");
    const view = await this.#viewOf(game);
    this.choices = { ...choices, game };
    if (!notation && !choices.seed)
      this.choices.seed = String(crypto.getRandomValues(new Uint32Array(1))[0] >>> 1);
    const setup = notation ? { notation } : { game, ...setUpOf(view, this.choices) };
    await this.session.open(setup, { seats: seatsOf(this.choices), ply, foreign });
    if (notation && choices.seed) this.session.seed = Number(choices.seed);
  }

  async #viewOf(game) {
    if (!gameNames.includes(game)) throw new Error(t("errors.game", { game }));
    const view = await loadView(game);
    if (this.view === view) return view;
    this.view?.unmount();
    this.components = JSON.parse(document.querySelector("#components").textContent)[game];
    this.view = view;
    const root = document.querySelector("#table");
    root.replaceChildren();
    root.dataset.game = document.documentElement.dataset.game = game;
    view.mount(root, this);
    return view;
  }

  #opened() {
    this.#show({});
  }

  #show({ animate = false, before = null }) {
    document.title = document.querySelector('[data-role="title"]').textContent = t(
      `games.${this.session.game}`,
    );
    const { mainNotation: notation, ply, foreign } = this.session;
    writeAddress({ ...this.choices, lang: language() }, notation);
    remember("game", { choices: this.choices, notation, ply, foreign, address: location.href });
    this.#rest = this.view
      .show(this.session.position, { animate, before })
      .catch((error) => console.error(error));
    this.dispatchEvent(new Event("shown"));
  }
}

/** What `backend.open` needs of the choices. */
function setUpOf(view, choices) {
  const setup = {};
  if (choices.seed !== undefined && choices.seed !== "") setup.seed = Number(choices.seed);
  for (const field of view.setUp) {
    const text = choices[field.name];
    const value = text === undefined || text === "" ? undefined : field.parse ? field.parse(text) : text;
    if (value !== undefined) setup[field.name] = value;
  }
  if (setup.circle || setup.deck) delete setup.seed;
  return setup;
}

function mountLanguage() {
  const choice = document.querySelector('[data-role="language"]');
  choice.replaceChildren(
    ...Object.entries(LANGUAGES).map(([code, name]) => element("option", { value: code, lang: code }, name)),
  );
  choice.value = language();
  choice.addEventListener("change", async () => {
    await setLanguage(choice.value);
    remember("language", choice.value);
  });
}

/** The game to begin with: that of the address, else the one of the last visit, else a new one. */
async function openFirst(page) {
  const { notation, ...asked } = readAddress();
  const kept = keptGame(asked, notation);
  const choices = kept
    ? kept.choices
    : { ...FIRST_CHOICES, ...asked, game: asked.game ?? FIRST_CHOICES.game };
  delete choices.lang;
  try {
    await page.open(choices, kept ?? { notation });
  } catch (error) {
    page.fail(error);
    if (!page.session.position)
      await page.open({ ...FIRST_CHOICES, game: gameNames.includes(asked.game) ? asked.game : "patchwork" });
  }
}

/** The game of the last visit, if the address is the one that it had or asks for nothing; else null. */
function keptGame({ lang, ...asked }, notation) {
  const last = recall("game");
  if (!last) return null;
  const asksNothing = !Object.keys(asked).length && !notation;
  const addresses = [last.address, addressOf({ ...last.choices, lang }, last.notation)];
  return asksNothing || addresses.includes(location.href) ? { foreign: 0, ...last } : null;
}

async function start() {
  mountTheme(document.querySelector('[data-role="theme"]'));
  await setLanguage(document.documentElement.lang);
  mountLanguage();
  const page = new Page(BACKENDS[document.querySelector('meta[name="backend"]').content]());
  mountStatus(page);
  mountMoves(page);
  mountControls(page);
  mountAnalysis(document.querySelector("#analysis"), page);
  window.game = {
    /** The game so far, as a notation. */
    notation: () => page.session.notation,
    /** Plays a move in notation; resolves to whether it was played. */
    play: (text) => page.session.play(text),
    /** The parts of the page, to look at. */
    page,
  };
  await openFirst(page);
  addEventListener("hashchange", () => openFirst(page));
  document.documentElement.dataset.ready = "true";
}

start();

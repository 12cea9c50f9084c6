/** Starts the page: backend, session, the view of the game, and the panels around it. */

import { mountAnalysis } from "./analysis/panel.js";
import { checkedChoices, idOfEntry, leaveEntry, readAddress, seatsOf, writeAddress } from "./address.js";
import { tellingKinds } from "./backend.js";
import { mountControls } from "./controls.js";
import { element } from "./elements.js";
import { mountEnding } from "./ending.js";
import { PageError, errorNodes } from "./errors.js";
import { flat, holds, keepAgain, keepGame, keptGame, keptGames, nameOfGame, newId } from "./games.js";
import { LANGUAGES, language, languageEvents, setLanguage, t } from "./language.js";
import { mountMoves } from "./moves.js";
import { announce, closeLost, notify, notifyError } from "./notices.js";
import { nameOf } from "./players.js";
import { connect as connectToServer } from "./server_backend.js";
import { Session } from "./session.js";
import { mountSound } from "./sound.js";
import { mountStatus } from "./status.js";
import { onOtherPages, recall, remember } from "./storage.js";
import { mountTheme } from "./theme.js";
import { RETRY_MILLISECONDS, Turns, pause } from "./turns.js";
import { loadView } from "./view.js";
import { connect as connectToWasm } from "./wasm_backend.js";

/** Backends by the name in index.html. */
const BACKENDS = { server: connectToServer, wasm: connectToWasm };

/** The `App` of view.js. Fires "shown" when the position, the players or the language on the screen changed. */
class Page extends EventTarget {
  #rest = Promise.resolve();
  #opening = 0;
  #agents = {};
  #isSafe = true;
  #offer = null;
  #wanted = null;

  constructor(backend) {
    super();
    this.backend = backend;
    this.session = new Session(backend);
    this.notify = notify;
    this.fail = notifyError;
    this.announce = announce;
    this.components = null;
    this.view = null;
    /** The id of the game on the table, among the user's games. */
    this.id = null;
    /** The answers of the new-game dialog for this game. */
    this.choices = {};
    /** Whether the browser went to another history entry whose game is not on the table yet. */
    this.isReturning = false;
    this.session.addEventListener("open", () => this.#show({}));
    this.session.addEventListener("change", ({ detail }) => this.#show(detail));
    languageEvents.addEventListener("change", () => this.view && this.#show({}));
    onOtherPages((name) => {
      if (name !== nameOfGame(this.id)) keepAgain(name);
      else if (!holds({ id: this.id, lines: this.session.lines })) this.#keep();
    });
    // After the listeners above: agents wait until animations have ended.
    this.turns = new Turns(this);
  }

  /** Resolves when the animation of the last move has ended. */
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
    this.#wanted = { notation, move }; // instead of a move that still waits for a lost server
    try {
      const isWanted = () => [this.session, this.#wanted].every((each) => each.notation === notation);
      return Boolean(await this.patiently(() => this.session.play(this.#wanted.move), isWanted));
    } catch (error) {
      this.fail(error);
      return false;
    }
  }

  /** Retries `run` while the backend does not answer and `isWanted()` holds. */
  async patiently(run, isWanted = () => true) {
    let waiting = null;
    try {
      while (isWanted()) {
        try {
          return await run();
        } catch (error) {
          if (!error.lost) throw error;
          waiting ??= notifyError(error);
          await pause(RETRY_MILLISECONDS);
        }
      }
      return undefined;
    } finally {
      waiting?.close();
    }
  }

  /** The agents that can be chosen in a game; the earlier list if the backend does not answer. */
  async agents(game) {
    try {
      this.#agents[game] = await this.backend.agents(game);
    } catch (error) {
      if (!this.#agents[game]) throw error;
    }
    return this.#agents[game];
  }

  /**
   * Puts a new or an earlier game on the table. Nothing changes if it cannot be opened, or if another game is
   * requested meanwhile.
   * @param {object} choices the answers of the new-game dialog, or of the address
   * @param {{id?: string, lines?: string[], ply?: number, foreign?: number}} kept an earlier game: notations
   *   of the game and of its variations; `foreign`: how many of its moves the present players did not make,
   *   by default all
   */
  async open(choices, { id = newId(), lines = [], ply, foreign } = {}) {
    const turn = ++this.#opening;
    const chosen = { ...choices };
    const [opened, ...beside] = lines.length ? await this.#read(lines) : [await this.#begin(chosen)];
    const { game, state } = opened.positions[0];
    const view = await loadView(game);
    for (const { name, options } of view.setUp) if (options) chosen[name] = String(state[name]);
    for (const name of ["opponent", "second"]) // those of another game may not play this one
      if (chosen[name] && chosen.game !== game)
        await this.checkAgent(game, chosen[name]).catch(() => delete chosen[name]);
    if (turn !== this.#opening) return;
    this.#mount(game, view);
    if (chosen.seat === "random") chosen.seat = String(Math.floor(Math.random() * opened.positions[0].scores.length));
    Object.assign(this, { id, choices: { ...chosen, game }, isReturning: false });
    this.#offer?.close();
    this.session.put(opened, {
      beside: beside.filter(Boolean).map(({ positions }) => positions),
      seats: seatsOf(chosen),
      seed: chosen.seed ? Number(chosen.seed) : null,
      ply,
      foreign,
    });
  }

  openKept({ id, choices, lines, ply, foreign }) {
    return this.open(choices, { id, lines, ply, foreign });
  }

  /** Opens a game from a text, to continue it with the present players. */
  openText(text) {
    if (!text.trim()) throw new PageError("empty");
    const { game, opponent, second, seat } = this.choices;
    return this.open({ game, opponent, second, seat }, { lines: [text.trim()] });
  }

  /** Keeps the present game, after another one could not be opened. */
  stay() {
    this.isReturning = false;
    this.#show({});
  }

  #read([main, ...others]) {
    const unlessDamaged = (error) => {
      if (error.lost) throw error;
      return null;
    };
    const reads = others.map((notation) => this.backend.open({ notation }).catch(unlessDamaged));
    return Promise.all([this.backend.open({ notation: main }), ...reads]);
  }

  /** Begins a new game; draws a seed if none was chosen. */
  async #begin(choices) {
    const { game, opponent, second, seat } = choices;
    const view = await loadView(game);
    if (!choices.seed) choices.seed = String(crypto.getRandomValues(new Uint32Array(1))[0] >>> 1);
    const [opened] = await Promise.all([
      this.backend.open({ game, ...setUpOf(view, choices) }),
      opponent && seat !== "both" && this.checkAgent(game, opponent),
      second && seat === "none" && this.checkAgent(game, second),
    ]);
    return opened;
  }

  /** Throws if there is no such agent. */
  async checkAgent(game, spec) {
    const agents = this.#agents[game] ?? (await this.agents(game));
    if (!agents.some((agent) => agent.spec === spec)) await this.backend.agents(game, spec);
  }

  #mount(game, view) {
    if (view === this.view) return;
    this.view?.unmount();
    this.components = JSON.parse(document.querySelector("#components").textContent)[game];
    this.view = view;
    const root = document.querySelector("#table");
    root.replaceChildren();
    root.dataset.game = document.documentElement.dataset.game = game;
    view.mount(root, this);
  }

  #show({ animate = false, before = null, left = null }) {
    this.#keep();
    if (left) this.#offerBack(left);
    document.title = document.querySelector('[data-role="title"]').textContent = t(
      `games.${this.session.game}`,
    );
    this.#rest = this.view
      .show(this.session.position, { animate, before })
      .catch((error) => console.error(error));
    this.dispatchEvent(new Event("shown"));
  }

  /** Stores the game in the browser and in the address. */
  #keep() {
    const { session } = this;
    const { game, lines, ply, foreign } = session;
    const { over, scores, winners } = session.main.at(-1);
    const kept = { id: this.id, game, choices: this.choices, lines, ply, foreign, over, scores, winners };
    if (session.main.length > 1 || lines.length > 1) {
      const { id, safe } = keepGame(kept);
      this.id = id;
      if (this.#isSafe && !safe) this.fail(new PageError("storage"));
      this.#isSafe = safe;
      remember("last-game", id);
    }
    if (!this.isReturning) writeAddress(this.id, { ...this.choices, lang: language() }, session.mainNotation);
  }

  /** Offers to go back to the line that a move has just left. */
  #offerBack(left) {
    const run = () => this.session.adopt(left);
    this.#offer?.close();
    this.#offer = this.notify({ text: t("moves.kept"), action: { text: t("moves.back"), run } });
  }
}

/** The set-up for `backend.open` from the choices. */
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
    try {
      await setLanguage(choice.value);
      remember("language", choice.value);
    } catch (error) {
      notifyError(error);
      choice.value = language();
    }
  });
}

/** Sets the height above the table as `--above` for the style sheets. */
function measureRoom() {
  const root = document.documentElement;
  const table = document.querySelector("#table");
  const measure = new ResizeObserver(() =>
    root.style.setProperty("--above", `${table.getBoundingClientRect().top + root.scrollTop}px`),
  );
  for (const part of document.querySelectorAll("body, .bar, .status, .toolbar")) measure.observe(part);
}

let visits = 0;

/** Opens the game of this history entry or address, else that of the last visit, else a new one. */
async function openFirst(page) {
  const visit = ++visits;
  const opens = async (open) => {
    try {
      await page.patiently(open, () => visit === visits);
      return true;
    } catch (error) {
      page.fail(error);
      return false;
    }
  };
  const { notation, ...asked } = readAddress();
  const kept = keptGame(idOfEntry()) ?? sameGame(asked, notation);
  if (kept && (await opens(() => page.openKept(kept)))) return;
  let checked = null;
  if (!(await opens(async () => (checked = await checkedChoices(page, asked)))) || !checked) return;
  const { choices, complaints } = checked;
  if (complaints.length)
    notify({ text: complaints.map((complaint) => element("p", {}, errorNodes(complaint))), kind: "error" });
  const id = kept ? newId() : (idOfEntry() ?? newId());
  if (notation !== null && (await opens(() => page.open(choices, { id, lines: [notation] })))) return;
  if (page.session.position) page.stay();
  else if (!(await opens(() => page.open(choices, { id })))) {
    const { game, opponent, seat } = choices; // without the refused order of patches or cards
    await opens(() => page.open({ game, opponent, seat }, { id }));
  }
}

/** The stored game with the moves of the address, or the last game if the address is empty; else null. */
function sameGame({ lang, ...asked }, notation) {
  if (notation === null) return Object.keys(asked).length ? null : keptGame(recall("last-game"));
  const isAsked = ({ lines, choices }) =>
    flat(lines[0]) === flat(notation) &&
    Object.entries(asked).every(([name, value]) => choices[name] === value);
  return keptGames().find(isAsked) ?? null;
}

async function start() {
  measureRoom();
  mountTheme(document.querySelector('[data-role="theme"]'));
  await setLanguage(document.documentElement.lang).catch(() => setLanguage("en"));
  mountLanguage();
  const page = new Page(
    tellingKinds(BACKENDS[document.querySelector('meta[name="backend"]').content](), closeLost),
  );
  mountStatus(page);
  mountEnding(page);
  mountSound(page);
  mountMoves(page);
  mountControls(page);
  mountAnalysis(document.querySelector("#analysis"), page);
  window.game = {
    /** The game so far, as a notation. */
    notation: () => page.session.notation,
    /** Plays a move in notation; resolves to whether it was played. */
    play: (text) => page.session.play(text),
    /** The parts of the page, for inspection. */
    page,
  };
  await openFirst(page);
  addEventListener("popstate", () => {
    leaveEntry();
    page.isReturning = true;
    openFirst(page);
  });
  document.documentElement.dataset.ready = "true";
  for (const button of document.querySelectorAll(".bar :disabled")) button.disabled = false;
  page.agents(page.session.game).catch(() => {}); // for the new-game dialog, in case the server goes away
}

start();

/** The new-game dialog: opponent, seat and the questions of the game. */

import { openDialog } from "./dialogs.js";
import { button, element } from "./elements.js";
import { errorNodes } from "./errors.js";
import { t } from "./language.js";
import { showMyGames } from "./my_games.js";
import { agentName, plays } from "./players.js";
import { hasSound, setSound } from "./sound.js";
import { recall, remember } from "./storage.js";
import { gameNames, loadView } from "./view.js";

const OTHER = "other";
const NOBODY = "";

/**
 * @param {import("./view.js").App} app
 * @returns {() => void} opens the dialog
 */
export function mountNewGame(app) {
  const open = () => showNewGame(app, app.session.game ?? gameNames[0]).catch((error) => app.fail(error));
  document.querySelector('[data-role="new-game"]').addEventListener("click", open);
  return open;
}

async function showNewGame(app, game) {
  const [agents, view] = await Promise.all([app.agents(game), loadView(game)]);
  const before = {
    ...(game === app.session.game ? app.choices : { opponent: agents[0]?.spec }),
    ...recall(`new-game.${game}`),
  };
  const showOthers = () => {
    dialog.close();
    showMyGames(app);
  };
  const form = element(
    "form",
    { method: "dialog", class: "fields", "data-role": "new-game-form" },
    field(
      "newGame.game",
      select(
        "game",
        gameNames.map((name) => [name, t(`games.${name}`)]),
        game,
      ),
    ),
    opponentFields("opponent", "newGame.opponent", agents, before.opponent),
    field(
      "newGame.seat",
      select(
        "seat",
        [
          ["0", t("newGame.first")],
          ["1", t("newGame.second")],
          ["random", t("newGame.random")],
          ["none", t("newGame.watch")],
        ],
        before.seat,
      ),
    ),
    opponentFields("second", "newGame.otherAgent", agents, before.second),
    view.setUp.filter(({ options }) => options).map((setUp) => setUpField(setUp, before[setUp.name])),
    element(
      "details",
      { class: "field" },
      element("summary", {}, t("newGame.more")),
      element(
        "div",
        { class: "fields" },
        view.setUp.filter(({ options }) => !options).map((setUp) => setUpField(setUp, before[setUp.name])),
        field(
          "newGame.seed",
          element("input", {
            name: "seed",
            inputmode: "numeric",
            pattern: "[0-9]{1,15}",
            placeholder: t("newGame.anySeed"),
            dir: "ltr",
          }),
        ),
        soundField(),
      ),
    ),
    element("p", { class: "field-error", role: "alert" }),
    element(
      "div",
      { class: "dialog-actions" },
      button({ type: "submit", class: "primary", "data-role": "start" }, t("newGame.start")),
      button({ "data-role": "my-games", onclick: showOthers }, t("myGames.title")),
    ),
  );
  const dialog = openDialog("newGame.title", form, { className: "narrow" });
  const relate = () => showRelated(form);
  form.addEventListener("change", async (event) => {
    if (event.target.name !== "game") return relate();
    try {
      await showNewGame(app, event.target.value);
      dialog.close();
    } catch (error) {
      event.target.value = game;
      tell(form, error);
    }
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    begin(app, form, dialog);
  });
  relate();
  form.querySelector(".field:not([hidden]) ~ .field:not([hidden]) select").focus();
}

async function begin(app, form, dialog) {
  const { game, ...choices } = choicesOf(form);
  try {
    await app.open({ game, ...choices });
    remember(`new-game.${game}`, { ...choices, seed: "", circle: "", deck: "" });
    dialog.close();
  } catch (error) {
    tell(form, error);
  }
}

const tell = (form, error) => form.querySelector(".field-error").replaceChildren(...errorNodes(error));

function choicesOf(form) {
  const choices = Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, value.trim()]));
  for (const name of ["opponent", "second"]) {
    if (choices[name] === OTHER) choices[name] = choices[`${name}-spec`];
    delete choices[`${name}-spec`];
  }
  if (isSolo(form) && choices.seat !== "none") choices.seat = "0";
  if (choices.opponent === NOBODY) choices.seat = "both";
  if (choices.seat !== "none") delete choices.second;
  return choices;
}

/** Whether a single player plays for a high score. */
const isSolo = (form) => form.elements.players?.value === "1";

/** Shows the questions that apply to the answers so far. */
function showRelated(form) {
  const { opponent, seat, second, order } = form.elements;
  for (const { options, selectedOptions } of [opponent, second]) {
    for (const option of options) option.disabled = !plays(option.value, order?.value);
    if (selectedOptions[0].disabled) [...options].find(({ disabled }) => !disabled).selected = true;
  }
  const show = (name, shown) => {
    const field = form.querySelector(`[data-field="${name}"]`);
    field.hidden = !shown;
    if (name.endsWith("-spec")) field.control.required = shown;
  };
  const watching = opponent.value !== NOBODY && seat.value === "none";
  const meeting = watching || !isSolo(form);
  show("opponent", meeting || opponent.value === NOBODY);
  show("opponent-spec", meeting && opponent.value === OTHER);
  show("seat", opponent.value !== NOBODY);
  for (const option of seat.options) if (["1", "random"].includes(option.value)) option.hidden = isSolo(form);
  show("second", watching && !isSolo(form));
  show("second-spec", watching && !isSolo(form) && second.value === OTHER);
}

function soundField() {
  const choice = element("input", {
    type: "checkbox",
    checked: hasSound(),
    onchange: () => setSound(choice.checked),
  });
  return element("label", { class: "check" }, choice, element("span", {}, t("newGame.sound")));
}

function field(label, control, name = control.name) {
  return element("label", { class: "field", "data-field": name }, element("span", {}, t(label)), control);
}

function select(name, options, chosen) {
  const control = element(
    "select",
    { name },
    options.map(([value, text]) => element("option", { value }, text)),
  );
  if (options.some(([value]) => value === chosen)) control.value = chosen;
  return control;
}

function opponentFields(name, label, agents, chosen = "") {
  const known = agents.some(({ spec }) => spec === chosen) || chosen === NOBODY;
  const groups = ["partner", "champion", "other"].map((kind) => [
    kind,
    agents.filter((agent) => agent.kind === kind),
  ]);
  const control = element(
    "select",
    { name },
    groups
      .filter(([, members]) => members.length)
      .map(([kind, members]) =>
        element(
          "optgroup",
          { label: t(`agents.${kind}`) },
          members.map((agent) => element("option", { value: agent.spec }, agentLabel(agent))),
        ),
      ),
    element(
      "optgroup",
      { label: t("agents.more") },
      name === "opponent" && element("option", { value: NOBODY }, t("agents.person")),
      element("option", { value: OTHER }, t("agents.spec")),
    ),
  );
  control.value = known ? chosen : OTHER;
  if (control.selectedIndex < 0) control.selectedIndex = 0;
  const spec = element("input", {
    name: `${name}-spec`,
    dir: "ltr",
    spellcheck: "false",
    placeholder: "mcts:simulations=400",
    value: known ? "" : chosen,
  });
  return [field(label, control), field("newGame.spec", spec)];
}

/** An agent's name in the list; levels for people have their number. */
function agentLabel({ spec, kind, level }) {
  return kind === "partner" ? t("agents.level", { level, name: agentName(spec) }) : agentName(spec);
}

function setUpField({ name, label, options, initial = "" }, chosen = initial) {
  const control = options
    ? select(
        name,
        options.map(({ value, label: text }) => [value, t(text)]),
        chosen,
      )
    : element("input", { name, dir: "ltr", spellcheck: "false", value: chosen });
  return field(label, control);
}

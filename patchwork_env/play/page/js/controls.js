/** The buttons around the board, and the keys. */

import { isAnalysed } from "./analysis/search.js";
import { setAttribute } from "./elements.js";
import { language, languageEvents } from "./language.js";
import { askHint } from "./hint.js";
import { mountKeys } from "./keys.js";
import { showMyGames } from "./my_games.js";
import { mountNewGame } from "./new_game.js";
import { mountShare } from "./share.js";

const button = (role) => document.querySelector(`[data-role="${role}"]`);

/** @param {import("./view.js").App} app */
export function mountControls(app) {
  const { session } = app;
  button("undo").addEventListener("click", () => session.undo());
  button("redo").addEventListener("click", () => session.redo());
  button("hint").addEventListener("click", () => askHint(app));
  button("leave").addEventListener("click", () => session.leave());
  button("adopt").addEventListener("click", () => session.adopt());
  button("games").addEventListener("click", () => showMyGames(app));
  const newGame = mountNewGame(app);
  const share = mountShare(app);
  mountKeys(app, { newGame, share });
  mountWatching(app);
  app.addEventListener("shown", () => {
    button("undo").disabled = session.undoPly === null;
    button("redo").disabled = session.redoPly === null;
    button("hint").disabled = !session.mayMove || !isAnalysed(app.choices);
    button("leave").hidden = button("adopt").hidden = !session.exploring;
  });
  const linkRules = () => {
    button("rules").href = `rules/${language()}.html#${session.game ?? ""}`;
  };
  languageEvents.addEventListener("change", linkRules);
  session.addEventListener("open", linkRules);
  linkRules();
}

/** Pause and speed, where two agents play each other. */
function mountWatching(app) {
  const watching = document.querySelector("#watching");
  const pause = button("pause");
  const speed = button("speed");
  pause.addEventListener("click", () => app.turns.pause(!app.turns.paused));
  speed.addEventListener("change", () => {
    app.turns.speed = speed.value;
  });
  speed.value = app.turns.speed;
  app.turns.addEventListener("change", () => setAttribute(pause, "aria-pressed", String(app.turns.paused)));
  app.addEventListener("shown", () => {
    watching.hidden = app.session.seats.some((seat) => seat.kind === "person");
  });
}

/** The dialog of the user's games: players, time and result; each can be continued and reviewed. */

import { seatsOf } from "./address.js";
import { isAnalysed } from "./analysis/search.js";
import { openDialog } from "./dialogs.js";
import { button, element } from "./elements.js";
import { errorNodes } from "./errors.js";
import { bringBack, forgetGame, keptGames } from "./games.js";
import { language, number, t } from "./language.js";
import { nameOf } from "./players.js";
import { resultText } from "./status.js";

/** @param {import("./view.js").App} app */
export function showMyGames(app) {
  const games = keptGames();
  const problem = element("p", { class: "field-error", role: "alert" });
  const list = element("ul", { class: "games", "data-role": "games-list" });
  const dialog = openDialog("myGames.title", [
    games.length === 0 && element("p", { class: "hint-text" }, t("myGames.none")),
    problem,
    list,
  ]);
  const open = async (kept, then = () => {}) => {
    try {
      await app.openKept(kept);
      dialog.close();
      then();
    } catch (error) {
      problem.replaceChildren(...errorNodes(error));
    }
  };
  list.append(...games.map((kept) => row(app, kept, open)));
}

function row(app, kept, open) {
  const when = new Intl.DateTimeFormat(language(), { dateStyle: "medium", timeStyle: "short" });
  const [players, state] = toldOf(kept);
  const isHere = kept.id === app.id;
  const item = element(
    "li",
    { "data-id": kept.id, "aria-current": isHere && "true" },
    button(
      { class: "game-open quiet", "data-role": "open-game", onclick: () => open(kept) },
      element("strong", {}, `${t(`games.${kept.game}`)} · ${players}`),
      element("span", {}, state),
      element("time", { datetime: new Date(kept.changed).toISOString() }, when.format(kept.changed)),
    ),
    button(
      {
        "data-role": "review-game",
        disabled: !isAnalysed(kept.choices),
        onclick: () => open(kept, () => app.review()),
      },
      t("controls.review"),
    ),
    button(
      {
        class: "quiet close",
        "data-role": "remove-game",
        disabled: isHere,
        "aria-label": t("myGames.remove"),
        title: t("myGames.remove"),
        onclick: () => remove(item, kept),
      },
      "×",
    ),
  );
  return item;
}

/** Deletes a game, and offers to undo that. */
function remove(item, kept) {
  forgetGame(kept.id);
  const back = button({ class: "quiet" }, t("myGames.back"));
  const removed = element("li", { class: "removed" }, element("span", {}, t("myGames.removed")), back);
  back.addEventListener("click", () => {
    bringBack(kept);
    removed.replaceWith(item);
  });
  item.replaceWith(removed);
  back.focus();
}

/** The players of a stored game, and its state or result. */
function toldOf({ choices, lines, scores, winners, over, foreign }) {
  const [, words = ""] = lines[0].split("\n");
  const ply = words.split(" ").filter(Boolean).length;
  const session = { seats: seatsOf(choices)(scores.length), foreign, position: { scores, winners, ply } };
  const players = scores.map((_, player) => nameOf(session, player, over ? ply : Infinity));
  const score = scores.map((each) => number(each)).join(" : ");
  return [players.join(" – "), over ? resultText(session) : `${t("myGames.move", { ply })} · ${score}`];
}

/** The part below the result: the points of each player by source, and the rematch button. */

import { button, element } from "./elements.js";
import { number, t } from "./language.js";
import { isAlone, nameOf } from "./players.js";

/** @param {import("./view.js").App} app */
export function mountEnding(app) {
  const box = element("div", { class: "ending", "data-role": "ending", hidden: true });
  document.querySelector('[data-role="status"]').append(box);
  const again = () => app.open(rematch(app)).catch((error) => app.fail(error));
  app.addEventListener("shown", () => {
    const { position } = app.session;
    box.hidden = !position.over;
    if (box.hidden) return;
    box.replaceChildren(
      parts(app, position),
      button(
        { class: "primary", "data-role": "rematch", onclick: again },
        t(app.session.numPlayers > 1 && isAlone(app.session) ? "ending.rematch" : "ending.again"),
      ),
    );
  });
}

/** The choices of a rematch; the user takes the next seat. */
function rematch({ choices, session }) {
  const { seed, circle, deck, seat = "0", ...same } = choices;
  return { ...same, seat: /^\d+$/.test(seat) ? String((Number(seat) + 1) % session.numPlayers) : seat };
}

/** The table of points: a row for each source, a column for each player. */
function parts(app, position) {
  const head = (text, scope) => element("th", { scope }, text);
  const rows = app.view.scoreParts(position);
  const players = position.scores.map((_, player) => nameOf(app.session, player, position.ply));
  return element(
    "table",
    {},
    element("thead", {}, element("tr", {}, element("td"), players.map((name) => head(name, "col")))),
    element(
      "tbody",
      {},
      [...rows, { label: t("ending.total"), values: position.scores.map((score) => number(score)) }].map(
        ({ label, values }) =>
          element(
            "tr",
            {},
            head(label, "row"),
            values.map((value) => element("td", { dir: "ltr" }, value)),
          ),
      ),
    ),
  );
}

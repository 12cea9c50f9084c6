/** The part of a view that every game has: it delegates to a table. */

/**
 * @param {new (root: HTMLElement, app: import("./view.js").App) => object} Table draws the game in `root`
 * @param {object} words
 * @param {(position: Position, app: App) => string} words.describe
 * @param {(position: Position, app: App) => string} words.moveLabel
 * @param {(position: Position, app: App) => [SVGElement, string]} words.drawMove
 * @param {(position: Position, app: App) => {label: string, values: string[]}[]} words.scoreParts
 * @returns {Partial<import("./view.js").View>}
 */
export function viewOf(Table, { describe, moveLabel, drawMove, scoreParts }) {
  let app = null;
  let table = null;
  return {
    mount(root, page) {
      app = page;
      table = new Table(root, page);
    },
    unmount() {
      table.close();
      table = null;
    },
    show: (position, options) => table.show(position, options),
    preview: (words) => table.preview(words),
    key: (event) => table.key(event),
    picture: () => table.picture(),
    describe: (position) => describe(position, app),
    moveLabel: (position) => moveLabel(position, app),
    drawMove: (position) => drawMove(position, app),
    scoreParts: (position) => scoreParts(position, app),
  };
}

/** The panel of analysis: bar, graph, lines and review. */

/**
 * Builds the panel into `root`, once; it follows `app.session` and `app` (event "shown") from then on. The button
 * `[data-role="review"]` of the toolbar and `[data-role="evaluation"]` are its own.
 * @param {HTMLElement} root
 * @param {import("../view.js").App} app
 */
export function mountAnalysis(root, app) {
}

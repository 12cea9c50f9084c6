/** An analysis of NMBR 9 with increasing depth: rollouts of the best placements, by sequential halving. */

import { refuse } from "./texts.js";

export class Deepening {
  /**
   * @param {import("./nmbr9.js").Nmbr9} game not over
   * @param {{evaluations: number, results: number, seed: number}} budget the placements to evaluate, the
   *   approximate number of results to show, and the seed of the decks
   */
  constructor(game, budget) {
    if (game.order() === "free") refuse("the champion places tiles as they come; it does not choose digits");
    this.game = game;
    this.functions = game.functions;
    this.budget = budget;
    this.visits = new Map();
    this.means = new Map();
  }

  /** Analyses from the view of player 0. */
  *analyses(most) {
    const points = (score, player) => score + this.functions.expected_points(player);
    const expected = this.game.scores().map(points);
    let [depth, latest] = [0, null];
    for (const lines of this.rounds()) {
      depth = Math.max(
        depth,
        lines.reduce((sum, line) => sum + line.visits, 0),
      );
      latest = { ...this.describe(lines.slice(0, most), expected), depth, done: false };
      yield latest;
    }
    yield { ...latest, done: true };
  }

  /** Lines of the best placements after more and more rollouts; each round of halving has an equal share. */
  *rounds() {
    const { module } = this.game;
    module.seed(BigInt(this.budget.seed));
    let considered = this.functions.begin_search();
    if (module.field("round") + 1 === module.field("num_rounds")) {
      yield this.exactLines(considered);
      return;
    }
    const rounds = Math.max(32 - Math.clz32(considered - 1), 1);
    const steps = Math.max(Math.round(this.budget.results / rounds), 1);
    for (let done = 1; done <= rounds * steps; done++) {
      const rollouts = this.functions.roll_out(considered, (this.budget.evaluations * done) / (rounds * steps));
      yield this.lines(considered, rollouts);
      if (done % steps === 0 && considered > 1) {
        const kept = Math.ceil(considered / 2);
        this.functions.keep_best(considered, kept);
        considered = kept;
      }
    }
  }

  /** The present lines of all candidates; dropped ones keep their distance to the best. */
  lines(considered, rollouts) {
    const sums = this.game.module.first("work.sums", considered);
    const actions = [...this.game.module.first("work.actions", considered)];
    const now = new Map(actions.map((action, k) => [action, sums[k] / rollouts]));
    this.means.set(rollouts, now);
    for (const action of actions) this.visits.set(action, rollouts);
    const best = actions.reduce((one, other) => (now.get(other) > now.get(one) ? other : one));
    const lines = [...this.visits].map(([action, visits]) => {
      const then = this.means.get(visits);
      return { action, visits, score: now.get(best) + (then.get(action) - then.get(best)), exact: false };
    });
    const order = (one, other) => (other.action === best) - (one.action === best) || other.score - one.score;
    return lines.sort(order);
  }

  /** The scores after the last tile, which are exact. */
  exactLines(considered) {
    const { module } = this.game;
    const [player, state] = [this.game.player(), module.state()];
    const lines = module.first("work.actions", considered).map((action) => {
      this.functions.play(action);
      const score = this.functions.score(player);
      module.restore(state);
      return { action, visits: 1, score, exact: true };
    });
    return lines.sort((one, other) => other.score - one.score);
  }

  describe(lines, expected) {
    const shown = lines.map((line) => this.describeLine(line, expected));
    const { margin, scores } = shown[0];
    return { player: this.game.player(), win: null, margin, scores, lines: shown };
  }

  describeLine({ action, visits, score, exact }, expected) {
    const scores = expected.map((points, player) => (player === this.game.player() ? score : points));
    const margin = scores.length > 1 ? scores[0] - Math.max(...scores.slice(1)) : null;
    const word = this.game.word(action);
    return { action, word, win: null, margin, scores, visits, exact, line: [word] };
  }
}

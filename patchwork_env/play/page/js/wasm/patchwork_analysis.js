/** An analysis of Patchwork with increasing depth, in one growing tree. */

const FIGURES = 6;

export class Deepening {
  /**
   * @param {import("./patchwork.js").Patchwork} game not over
   * @param {{simulations: number, effort: number, to_solve: number, first: number, share: number,
   *   step: number}} budget limits of simulations, effort, and quilts for the solver; the effort before the
   *   first result, per quilt of the solver, and at most between two results
   */
  constructor(game, budget) {
    this.game = game;
    this.functions = game.functions;
    this.budget = budget;
    this.nothing = game.module.facts.numbers.nothing;
    this.solved = this.nothing;
    this.isWon = false;
    this.added = this.tried = 0;
  }

  /** Analyses from the view of player 0. */
  *analyses(most) {
    let [depth, latest] = [0, null];
    for (const lines of this.rounds()) {
      depth = Math.max(
        depth,
        lines.reduce((sum, line) => sum + line.visits, 0),
      );
      latest = { ...this.describe(lines.slice(0, most)), depth, done: false };
      yield latest;
    }
    yield { ...latest, done: true };
  }

  /** The lines of the search, with increasing effort. */
  *rounds() {
    this.restart();
    for (let reached = this.budget.first, done = false; !done; reached *= 2) {
      this.solve(Math.floor(reached / this.budget.share));
      for (const effort of this.steps(Math.min(reached, this.budget.effort))) {
        this.grow(effort);
        yield this.lines();
        done = this.isDone();
        if (done) break;
      }
    }
    if (this.solve(this.budget.to_solve)) {
      this.grow(this.budget.first);
      yield this.lines();
    }
  }

  /** The efforts at which to show results. */
  *steps(reached) {
    const { step } = this.budget;
    for (let effort = this.functions.effort() + step; effort < reached; effort += step) yield effort;
    yield reached;
  }

  /** Resets the tree, with a complete root. */
  restart() {
    this.added = 0;
    this.functions.begin_search();
  }

  /** Solves an ending with a budget of quilts; a new result resets the tree. */
  solve(wanted) {
    const quilts = Math.min(wanted, this.budget.to_solve);
    if (quilts <= this.tried || this.functions.is_root_solved()) return false;
    this.tried = quilts;
    const solved = this.functions.solve(quilts);
    const [isExact] = this.game.module.first("exact", 1);
    if (solved === this.nothing || (solved === this.solved && !isExact)) return false;
    this.solved = solved;
    this.isWon = !isExact;
    this.restart();
    this.functions.put_solved(solved, isExact ? quilts : 0);
    return true;
  }

  grow(effort) {
    this.added = this.functions.go_on(this.budget.simulations, effort);
  }

  isDone() {
    const isSpent = this.functions.effort() >= this.budget.effort || this.added >= this.budget.simulations;
    return isSpent || this.functions.is_finished() !== 0;
  }

  /**
   * The lines of all actions, the best first, from the view of the player to move. An action that the solver
   * proved to win is shown to win.
   */
  lines() {
    if (this.functions.legal_actions() === 1) return [this.forcedLine()];
    const count = this.functions.list_lines(this.solved);
    const figures = this.game.module.first("figures", FIGURES * count);
    const lines = Array.from({ length: count }, (_, k) => {
      const [, visits, margin, win, exact, certain] = figures.slice(FIGURES * k, FIGURES * (k + 1));
      return { visits, margin, win, exact: exact !== 0, certain: certain !== 0, actions: this.variation(k) };
    });
    if (this.isWon) lines[0] = { ...lines[0], win: 1, margin: Math.max(lines[0].margin, 0) };
    return withoutLuck(lines);
  }

  /** The line of the only legal action; the root of the search is the next position with a choice. */
  forcedLine() {
    const isSame = this.functions.read_root() === this.game.player();
    const [, visits, margin, win, exact] = this.game.module.first("figures", FIGURES);
    const [own, chance] = isSame ? [margin, win] : [-margin, 1 - win];
    return {
      visits,
      margin: own,
      win: chance,
      exact: exact !== 0,
      certain: true,
      actions: this.variation(-1),
    };
  }

  variation(k) {
    return this.game.module.first("actions", this.functions.list_line(k));
  }

  describe(lines) {
    const player = this.game.player();
    const shown = lines.map((line) => this.describeLine(line, player === 0));
    return { player, win: shown[0].win, margin: shown[0].margin, scores: null, lines: shown };
  }

  describeLine({ actions, visits, margin, win, exact, certain }, isFirst) {
    const words = this.game.words(actions);
    return {
      action: actions[0],
      word: words[0],
      win: certain ? (isFirst ? win : 1 - win) : null,
      margin: certain ? (isFirst ? margin : -margin) : null,
      scores: null,
      visits,
      exact,
      line: words,
      alike: this.game.alike(actions[0]),
    };
  }
}

/** Lines with win probabilities limited to that of the first, unless exact: `without_luck` in Python. */
const withoutLuck = (lines) =>
  lines.map((line) => (line.exact ? line : { ...line, win: Math.min(line.win, lines[0].win) }));

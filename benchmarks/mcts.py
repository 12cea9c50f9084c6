"""Measures the agent that searches: playouts per second, endings solved, and strength in small matches.

    python benchmarks/mcts.py [--simulations N] [--endings N] [--games N] [--seconds S …] [--json]
        [--write]

Speed is measured on one thread, in processor time, from positions of greedy games. "Simulations" are those
of the agent: a way down the tree, a new node, a playout, and the way back. "Playouts" are those of its
policy alone, and "random games" play uniformly random actions. Endings come from games between searching
agents. Matches are paired games of "mcts" against "greedy", and with the seconds per move given against a
tenth of them.
"""

import argparse
import json
import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from benchmarks.keeping import add_write_option, keep, of_unit
from patchwork_env.agents import GreedyAgent
from patchwork_env.agents.patchwork.endings.solver import new_solver, solve
from patchwork_env.agents.patchwork.greedy import GreedyBuffers, new_greedy_buffers, play_out
from patchwork_env.agents.patchwork.mcts import EDGES_PER_NODE, RULE, MctsAgent, new_workspace, simulate
from patchwork_env.core.checks import seed_streams
from patchwork_env.core.compile import kernel
from patchwork_env.core.random import random_below
from patchwork_env.learning.evaluation import play_matches
from patchwork_env.learning.system import describe_setup
from patchwork_env.patchwork import Game
from patchwork_env.patchwork.components import LAST_SPACE
from patchwork_env.patchwork.engine import NUM_MAPS, apply, is_over, legal, nth_legal
from patchwork_env.patchwork.state import STATE, States
from patchwork_env.search.uct import new_tree, start_tree

TURNS = (0, 10, 20, 30)
"""Stages of the game."""
GAMES = 16
"""Positions of each stage."""
BUDGETS = (10_000, 100_000, 1_000_000)
"""The budgets of the solver, in positions."""
MOST_SPACES = 32
"""The most spaces of the time track that both players together have left in an ending."""
SPACES_PER_ROW = 4


def positions(turn: int) -> list[Game]:
    """Greedy games after a number of turns."""
    games, greedy = [Game(seed=seed) for seed in range(GAMES)], GreedyAgent()
    for game in games:
        for _ in range(turn):
            if not game.is_over:
                game.play(greedy.act(game))
    return [game for game in games if not game.is_over]


@kernel(allocates=True)
def play_policy(
    states: States, buffers: GreedyBuffers, streams: npt.NDArray[np.uint64], repeats: int
) -> None:
    game = states[:1].copy()
    for k in range(repeats * len(states)):
        game[0] = states[k % len(states)]
        play_out(game, 0, buffers, streams, 0)


@kernel(allocates=True)
def play_randomly(states: States, streams: npt.NDArray[np.uint64], repeats: int) -> None:
    game, anchors = states[:1].copy(), np.empty((2, NUM_MAPS), np.uint64)
    for k in range(repeats * len(states)):
        game[0] = states[k % len(states)]
        while not is_over(game, 0):
            apply(game, 0, nth_legal(anchors, random_below(streams, 0, legal(game, 0, anchors))))


def seconds_of(function: Callable[[], object]) -> float:
    """The processor time of a call, already compiled."""
    began = time.process_time()
    function()
    return time.process_time() - began


def measure_speed(simulations: int) -> list[dict[str, float]]:
    """Per stage: simulations, playouts and random games per second."""
    tree, work = new_tree(simulations + 1, EDGES_PER_NODE * (simulations + 1), STATE), new_workspace()
    streams, buffers, repeats = seed_streams(1), new_greedy_buffers(), max(simulations // 4, 1)

    def search(states: States, number: int) -> None:
        for i in range(len(states)):
            start_tree(tree, states, i)
            simulate(tree, work, RULE, streams, number)

    def measure(states: States) -> dict[str, float]:
        playouts = repeats * len(states)
        return {
            "simulations": simulations * len(states) / seconds_of(lambda: search(states, simulations)),
            "playouts": playouts / seconds_of(lambda: play_policy(states, buffers, streams, repeats)),
            "random_games": playouts / seconds_of(lambda: play_randomly(states, streams, repeats)),
        }

    start = Game(seed=0).state
    search(start, 1)
    play_policy(start, buffers, streams, 1)
    play_randomly(start, streams, 1)
    return [{"turn": turn, **measure(np.concatenate([g.state for g in positions(turn)]))} for turn in TURNS]


def endings(number: int) -> list[Game]:
    """Positions with a choice near the end of games between searching agents."""
    agent, collected, seed = MctsAgent(1, simulations=200), list[Game](), 0
    while len(collected) < number:
        game = Game(seed=1000 + seed)
        while not game.is_over:
            if spaces_left(game) < MOST_SPACES and len(game.legal_actions()) > 1:
                collected.append(game.clone())
            game.play(agent.act(game))
        seed += 1
    return collected


def spaces_left(game: Game) -> int:
    """The spaces of the time track that both players together have left."""
    return 2 * LAST_SPACE - sum(game.positions)


def measure_solver(number: int) -> list[dict[str, float]]:
    """Per distance from the end: the number of positions, and the share that each budget solves."""
    solver, rows = new_solver(), []
    games = endings(number)
    solve(games[0].state, 0, 1, solver, False)
    for begin in range(0, MOST_SPACES, SPACES_PER_ROW):
        here = [game for game in games if begin <= spaces_left(game) < begin + SPACES_PER_ROW]
        row: dict[str, float] = {"spaces_left": begin, "positions": len(here)}
        for only_outcome in (False, True):
            for budget in BUDGETS:
                solved = [solve(game.state, 0, budget, solver, only_outcome)[0] for game in here]
                row[f"{'winner' if only_outcome else 'margin'}_{budget}"] = (
                    float(np.mean(solved)) if here else 0.0
                )
        rows.append(row)
    return rows


def measure_strength(games: int, seconds: list[float]) -> list[dict[str, object]]:
    """Win rates in paired games."""
    pairs = [("mcts", "greedy")]
    pairs += [(f"mcts:seconds={second:g}", f"mcts:seconds={second / 10:g}") for second in seconds]
    rows: list[dict[str, object]] = []
    for agent, opponent in pairs:
        result = play_matches(agent, opponent, games)
        scores = result.means(0)["score"], result.means(1)["score"]
        rows.append({"agent": agent, "opponent": opponent, "win_rate": result.win_rate, "scores": scores})
    return rows


def print_speed(rows: list[dict[str, float]]) -> None:
    """One line per stage."""
    print("\nthousand per second  simulations  playouts  random games  simulations per random game")
    for row in rows:
        figures = [row[name] / 1000 for name in ("simulations", "playouts", "random_games")]
        print(
            f"after {row['turn']:2} turns       {figures[0]:11.0f}  {figures[1]:8.0f}  {figures[2]:12.0f}",
            end="",
        )
        print(f"  {figures[0] / figures[2]:.2f}")


def print_solver(rows: list[dict[str, float]]) -> None:
    """One line per distance from the end."""
    print("\nendings solved: the margin, or at least the winner, by the number of quilts examined")
    print("spaces left  endings" + "".join(f"  {name}" for name in rows[0] if name[0] in "mw"))
    for row in rows:
        line = (
            f"{row['spaces_left']:3}-{row['spaces_left'] + SPACES_PER_ROW - 1:<3}      {row['positions']:7}"
        )
        print(line + "".join(f"  {row[name]:{len(name)}.0%}" for name in row if name[0] in "mw"))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--simulations", type=int, default=10_000, help="simulations of each search (default: 10000)"
    )
    parser.add_argument("--endings", type=int, default=300, help="to be solved, or 0 (default: 300)")
    parser.add_argument("--games", type=int, default=40, help="games of each match, even, or 0 (default: 40)")
    parser.add_argument(
        "--seconds", type=float, nargs="*", default=[0.2], help="seconds per move in matches (default: 0.2)"
    )
    parser.add_argument("--json", action="store_true", help="print the figures as JSON, last")
    add_write_option(parser)
    options = parser.parse_args()
    if options.simulations < 1 or min(options.endings, options.games, *options.seconds, 1) < 0:
        parser.error("--simulations must be positive, and --endings, --games and --seconds not negative")
    print(describe_setup())
    figures: dict[str, object] = {"speed": (speed := measure_speed(options.simulations))}
    print_speed(speed)
    if options.endings:
        figures["solver"] = (solved := measure_solver(options.endings))
        print_solver(solved)
    if options.games:
        figures["strength"] = (strength := measure_strength(options.games, options.seconds))
        print(f"\nwin rates in {options.games} paired games")
        for row in strength:
            print(f"{row['agent']} against {row['opponent']}: {row['win_rate']:.1%}, scores {row['scores']}")
    if options.write:
        named = {f"{name}, turn {row['turn']}": row[name] for row in speed for name in row if name != "turn"}
        keep("mcts", of_unit("/s", named), options.write)
    if options.json:
        print(json.dumps(figures))


if __name__ == "__main__":
    main()

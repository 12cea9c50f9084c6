"""Measures the games in OpenSpiel: copies of states, random play, observations and tree search, on one core.

    python benchmarks/open_spiel_games.py [--games NAME …] [--rounds N] [--seconds S]
        [--json] [--write]

A game may be any that ``pyspiel.load_game`` knows. Positions come from the middle of a random game; "step"
lists the legal actions, draws one of them and plays it, from Python; "simulation" is one of OpenSpiel's
compiled tree search with a random playout, from the first position on. The best round of several counts.
Seconds are those of the processor, so that other work on the machine matters little.
"""

from __future__ import annotations

import argparse
import importlib
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyspiel

import patchwork_env.integrations.open_spiel  # noqa: F401  # registers both games
from benchmarks.keeping import Figures, add_write_option, figure, keep
from patchwork_env.learning.system import describe_setup

GAMES = [
    *("python_patchwork(seed=7)", "python_patchwork", "python_nmbr9", "python_nmbr9(players=2)"),
    *("python_kuhn_poker", "chess"),
]
_TURNS, _SIMULATIONS = 20, 20


def random_steps(game: Any, rng: np.random.Generator, most: int | None = None) -> tuple[Any, int]:
    """A state after random play, to the end or for ``most`` steps, and the number of steps."""
    state, steps = game.new_initial_state(), 0
    while not state.is_terminal() and steps != most:
        legal = state.legal_actions()
        state.apply_action(legal[rng.integers(len(legal))])
        steps += 1
    return state, steps


def decision(game: Any, rng: np.random.Generator) -> Any:
    """A state in the middle of a random game in which a player is to move."""
    length = random_steps(game, rng)[1]
    while True:
        state = random_steps(game, rng, min(_TURNS, length // 2))[0]
        while state.is_chance_node():
            state.apply_action(state.legal_actions()[0])
        if not state.is_terminal():
            return state


def seconds_of(call: Callable[[], int], rounds: int, seconds: float) -> float:
    """Return the cost of one of the units that ``call`` counts, in the best round of at least so long."""
    best = float("inf")
    for _ in range(rounds):
        units, start = 0, time.process_time()
        while (elapsed := time.process_time() - start) < seconds:
            units += call()
        best = min(best, elapsed / units)
    return best


def measure(name: str, rounds: int, seconds: float) -> dict[str, float]:
    """Microseconds for a copy and an observation, and steps and simulations per second."""
    game, rng = pyspiel.load_game(name), np.random.default_rng(1)
    state = decision(game, rng)
    first = game.new_initial_state()
    while first.is_chance_node():
        first.apply_action(first.legal_actions()[0])
    evaluator = pyspiel.RandomRolloutEvaluator(1, 1)
    search = pyspiel.MCTSBot(game, evaluator, 1.4, _SIMULATIONS, 100, False, 1, False)

    def copies() -> int:
        for _ in range(100):
            state.clone()
        return 100

    def observations() -> int:
        for _ in range(100):
            state.observation_tensor(state.current_player())
        return 100

    def simulations() -> int:
        search.mcts_search(first)
        return _SIMULATIONS

    return {
        "clone_microseconds": 1e6 * seconds_of(copies, rounds, seconds),
        "observation_microseconds": 1e6 * seconds_of(observations, rounds, seconds),
        "steps_per_second": 1 / seconds_of(lambda: random_steps(game, rng)[1], rounds, seconds),
        "simulations_per_second": 1 / seconds_of(simulations, rounds, seconds),
    }


def table(figures: dict[str, dict[str, float]]) -> str:
    """The figures in Markdown."""
    lines = ["| game | clone | observation | steps/s | simulations/s |", "|---|---|---|---|---|"]
    for name, measured in figures.items():
        copy, observation, steps, simulations = measured.values()
        lines.append(
            f"| `{name}` | {copy:.1f} µs | {observation:.0f} µs | {steps:,.0f} | {simulations:,.0f} |"
        )
    return "\n".join(lines)


UNITS = {
    "clone_microseconds": ("clone", "µs"),
    "observation_microseconds": ("observation", "µs"),
    "steps_per_second": ("steps", "steps/s"),
    "simulations_per_second": ("simulations", "/s"),
}
"""The names of the figures in their file, and their units."""


def kept(figures: dict[str, dict[str, float]]) -> Figures:
    """Return the figures to keep."""
    return {
        f"{game}, {UNITS[key][0]}": figure(value, UNITS[key][1])
        for game, measured in figures.items()
        for key, value in measured.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="The games in OpenSpiel: copies, random play, search.")
    parser.add_argument(
        "--games", nargs="+", default=GAMES, metavar="NAME", help="(default: both, and two others)"
    )
    parser.add_argument("--rounds", type=int, default=5, help="the best one counts (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=0.5, help="of each round (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    add_write_option(parser)
    arguments = parser.parse_args()
    if "python_kuhn_poker" in arguments.games:
        importlib.import_module("open_spiel.python.games.kuhn_poker")  # registers it
    figures = {name: measure(name, arguments.rounds, arguments.seconds) for name in arguments.games}
    if arguments.write:
        keep("open_spiel", kept(figures), arguments.write)
    print(json.dumps(figures) if arguments.json else f"{describe_setup()}\n\n{table(figures)}")


if __name__ == "__main__":
    main()

"""Statistics of games of the champion against itself: the first player, the bonus tile, the worth of patches.

    python -m research.champion_games [--games N] [--seed S] [--value FOLDER] [--picture FILE] [--json]

The champion plays without a search, always the best successor by its value, so that many games can be played.
A patch is worth the expected final margin after buying and placing it best, minus that after advancing: the
mean over all positions in which it could be bought, by how far the player is on the time track.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from patchwork_env import agents
from patchwork_env.agents.checkpoints import read_checkpoint
from patchwork_env.agents.patchwork.placements import kind_of
from patchwork_env.agents.patchwork.value.expansion import (
    LIKELY,
    Expansion,
    Payoffs,
    best_action,
    expand_likely,
    margin_of,
    new_expansion,
)
from patchwork_env.agents.patchwork.value.features import signed
from patchwork_env.agents.patchwork.value.network import Quantized, Weights, quantized, read_value
from patchwork_env.core.batches import begin_games
from patchwork_env.core.checks import seed_streams
from patchwork_env.core.compile import kernel
from patchwork_env.learning.reports.charts import SERIES
from patchwork_env.learning.reports.plots import new_figure, save
from patchwork_env.learning.system import describe_setup
from patchwork_env.patchwork.components import (
    LAST_SPACE,
    NUM_OFFERED,
    NUM_PATCHES,
    PATCHES,
    VARIANTS,
)
from patchwork_env.patchwork.engine import apply, empty_cells, is_over, score, winner
from patchwork_env.patchwork.rules import RULES
from patchwork_env.patchwork.state import NOBODY, States

AS_TRAINED = Payoffs(outcome=0.0, margin=1.0, rival_weight=0.8)
"""The payoffs that the champion played for while it learned; see ``configs/td.yaml``."""
PHASES = 3
"""The number of parts of the time track that figures are given for: thirds."""


@kernel(allocates=True)
def play_games(
    states: States,
    weights: Quantized,
    payoffs: Payoffs,
    expansion: Expansion,
    gains: npt.NDArray[np.float64],
    counts: npt.NDArray[np.int64],
) -> None:
    """Plays all games to their ends; adds up what patches on offer gain over advancing, ``(PHASES, 33)``."""
    best_margins = np.empty(NUM_OFFERED)
    for i in range(len(states)):
        while not is_over(states, i):
            count = expand_likely(states, i, LIKELY, weights, expansion)
            if states[i]["pending_special"] == 0:
                player = signed(states[i]["current_player"])
                phase = min(signed(states[i]["position"][player]) * PHASES // LAST_SPACE, PHASES - 1)
                best_margins[:] = -np.inf
                for k in range(1, count):
                    slot = kind_of(signed(expansion.actions[k])) - 1
                    best_margins[slot] = max(best_margins[slot], margin_of(expansion, k))
                for slot in range(NUM_OFFERED):
                    if best_margins[slot] > -np.inf:
                        patch = signed(states[i]["circle"][slot])
                        gains[phase, patch] += best_margins[slot] - margin_of(expansion, 0)
                        counts[phase, patch] += 1
            apply(states, i, signed(expansion.actions[best_action(expansion, count, payoffs)]))


@kernel
def write_results(states: States, results: npt.NDArray[np.int64]) -> None:
    """Winner, bonus owner, and both players' scores and empty cells of games that are over, ``(n, 6)``."""
    for i in range(len(states)):
        results[i, 0] = winner(states, i)
        results[i, 1] = signed(states[i]["bonus_owner"])
        for player in range(2):
            results[i, 2 + player] = score(states, i, player)
            results[i, 4 + player] = empty_cells(states, i, player)


def play(weights: Weights, variant: int, games: int, seed: int) -> tuple[Any, Any, Any]:
    """Results, and the gains of patches and how often each was on offer; player 0 starts."""
    results = np.empty((games, 6), np.int64)
    states = begin_games(RULES, seed_streams(seed, games), special_patches=VARIANTS[variant])
    gains, counts = np.zeros((PHASES, NUM_PATCHES)), np.zeros((PHASES, NUM_PATCHES), np.int64)
    play_games(states, quantized(weights), AS_TRAINED, new_expansion(), gains, counts)
    write_results(states, results)
    return results, gains, counts


def share(wins: npt.NDArray[np.bool_]) -> list[float]:
    """A share with the bounds of its 95% interval, by the normal distribution."""
    mean = float(wins.mean())
    half = 1.96 * (mean * (1 - mean) / len(wins)) ** 0.5
    return [mean, mean - half, mean + half]


def figures(results: npt.NDArray[np.int64]) -> dict[str, Any]:
    """The figures that the results of one variant give."""
    won, owner, scores, empty = results[:, 0], results[:, 1], results[:, 2:4], results[:, 4:]
    margins = scores[:, 0] - scores[:, 1]
    taken = owner != NOBODY
    owners_margin = np.where(owner == 0, margins, -margins)[taken]
    return {
        "games": len(results),
        "first_player_wins": share(won == 0),
        "first_player_margin": [float(margins.mean()), float(margins.std() / len(margins) ** 0.5)],
        "winner_score": float(scores.max(1).mean()),
        "loser_score": float(scores.min(1).mean()),
        "empty_cells": float(empty.mean()),
        "bonus_taken": share(taken),
        "bonus_owner_wins": share((won == owner)[taken]),
        "bonus_owner_margin": float(owners_margin.mean()),
        "won_because_of_bonus": share((owners_margin > 0) & (owners_margin <= 7)),
    }


def table_of_patches(gains: npt.NDArray[np.float64], counts: npt.NDArray[np.int64]) -> list[dict[str, Any]]:
    """A row for each patch, the most valuable in mid-game first; None where it was never on offer."""
    means = np.divide(gains, counts, out=np.full(gains.shape, np.nan), where=counts > 0)
    rows = [
        {
            "patch": patch,
            "cells": PATCHES[patch].size,
            "buttons": PATCHES[patch].buttons,
            "time": PATCHES[patch].time,
            "income": PATCHES[patch].income,
            "worth": [float(mean) if mean == mean else None for mean in means[:, patch]],
            "offers": counts[:, patch].tolist(),
        }
        for patch in range(NUM_PATCHES)
    ]
    return sorted(rows, key=lambda row: -row["worth"][1])


def report(results: dict[str, Any]) -> None:
    """Prints the figures as tables."""
    for variant, of_variant in results["variants"].items():
        print(f"track {variant!r}, {of_variant['games']:,} games")
        for name, value in of_variant.items():
            if isinstance(value, list) and len(value) == 3:
                print(f"  {name:<22} {value[0]:.1%}  (95%: {value[1]:.1%} to {value[2]:.1%})")
            elif isinstance(value, list):
                print(f"  {name:<22} {value[0]:+.2f}  (standard error {value[1]:.2f})")
            elif isinstance(value, float):
                print(f"  {name:<22} {value:.2f}")
    print("\npatch  cells buttons time income   worth in points, by third of the track")
    for row in results["patches"]:
        patch, cells, buttons, time, income = list(row.values())[:5]
        worth = "  ".join("     -" if value is None else f"{value:+6.1f}" for value in row["worth"])
        print(f"{patch:>5} {cells:>6} {buttons:>7} {time:>4} {income:>6}   {worth}")


def draw(patches: list[dict[str, Any]], path: Path) -> None:
    """Draws what patches are worth by third of the track, the most valuable at the top."""
    figure = new_figure(7.2, 8.5)
    axes = figure.add_subplot()
    names = [
        "{patch}:  {cells} cells, {buttons} buttons, {time} time, {income} income".format(**row)
        for row in patches[::-1]
    ]
    for phase, label in enumerate(("first third of the track", "second", "last")):
        points = [(row["worth"][phase], y) for y, row in enumerate(patches[::-1])]
        known = [point for point in points if point[0] is not None]
        worths, heights = zip(*known, strict=True)
        axes.scatter(worths, heights, color=SERIES[phase], s=26, label=label, zorder=3)
    axes.axvline(0, color="0.4", linewidth=0.8)
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.set_ylim(-0.7, len(names) - 0.3)
    axes.set_xlabel("expected final margin if bought now, in points above advancing")
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right")
    save(figure, path)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--games", type=int, default=20_000, help="for each of the two tracks")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--value", type=Path, default=agents.path_of("champion"), metavar="FOLDER")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="what patches are worth, PNG or SVG")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    weights = read_value(read_checkpoint(options.value))
    results: dict[str, Any] = {"machine": describe_setup(), "variants": {}}
    gains, counts = np.zeros((PHASES, NUM_PATCHES)), np.zeros((PHASES, NUM_PATCHES), np.int64)
    for variant, name in enumerate(VARIANTS):
        played, of_variant, number = play(weights, variant, options.games, options.seed)
        results["variants"][name] = figures(played)
        gains, counts = gains + of_variant, counts + number
    results["patches"] = table_of_patches(gains, counts)
    if options.picture:
        draw(results["patches"], options.picture)
    if options.json:
        print(json.dumps(results, indent=1))
    else:
        print(results["machine"])
        report(results)


if __name__ == "__main__":
    main()

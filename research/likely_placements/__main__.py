"""Measures how well the search chooses the placements that it evaluates.

    python -m research.likely_placements [--games N] [--seed S] [--value FOLDER] [--json]

Positions are from games of the champion, `instant`, against itself. Half of them have one more action, drawn
from the likely ones, as in a search. All placements of every patch that has more than 16 are evaluated. The
loss of a choice is the utility of the best of all placements minus that of the best one chosen; the utility
of a win is 1, that of a defeat -1.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from patchwork_env import agents
from patchwork_env.agents.checkpoints import read_checkpoint
from patchwork_env.agents.patchwork.champion.agent import ChampionAgent
from patchwork_env.agents.patchwork.placements import keep_most_compact, kind_of, list_likely
from patchwork_env.agents.patchwork.value.expansion import (
    LIKELY,
    TO_WIN,
    Expansion,
    action_utility,
    expand,
    expand_likely,
    new_expansion,
)
from patchwork_env.agents.patchwork.value.network import Quantized, Weights, quantized, read_value
from patchwork_env.core.checks import check_seed
from patchwork_env.learning.system import describe_setup
from patchwork_env.patchwork import Game

_WIDTHS = (1, 2, 4, 8, LIKELY)


def positions(weights: Weights, games: int, seed: int) -> Iterator[Game]:
    """Positions of games, and others that are one likely action away from them."""
    agent = ChampionAgent(weights, TO_WIN, level="instant")
    integers = quantized(weights)
    random, expansion = np.random.default_rng(seed), new_expansion()
    for number in range(games):
        game = Game(seed=seed + number)
        while not game.is_over:
            aside = game.clone()
            if random.random() < 0.5:
                count = expand_likely(game.state, 0, LIKELY, integers, expansion)
                aside.play(int(random.choice(expansion.actions[:count])))
            if not aside.is_over:
                yield aside
            game.play(agent.act(game))


def losses_in(
    game: Game, weights: Quantized, whole: Expansion, part: Expansion
) -> list[npt.NDArray[np.float64]]:
    """The loss of every choice, for each patch with many placements: by joints or compactness, by width."""
    count = expand(game.state, 0, weights, whole)
    utilities = {int(whole.actions[k]): action_utility(TO_WIN, whole, k) for k in range(count)}
    kinds: dict[int, list[float]] = {}
    for action, value in utilities.items():
        kinds.setdefault(kind_of(action), []).append(value)
    many = [kind for kind, values in kinds.items() if len(values) > LIKELY]
    losses = {kind: np.full((2, len(_WIDTHS)), np.inf) for kind in many}
    for column, width in enumerate(_WIDTHS):
        for row, shortlist in enumerate((width, LIKELY)):
            for action in _chosen(game, shortlist, width, whole, part):
                kind = kind_of(action)
                if kind in losses:
                    loss = max(kinds[kind]) - utilities[action]
                    losses[kind][row, column] = min(losses[kind][row, column], loss)
    return list(losses.values())


def _chosen(game: Game, shortlist: int, width: int, whole: Expansion, part: Expansion) -> list[int]:
    """The ``width`` most compact of the ``shortlist`` placements of each patch that leave the most joints."""
    count = list_likely(game.state, 0, shortlist, whole.legal_set, part.ranking, part.actions)
    count = keep_most_compact(game.state, 0, width, part.actions, count, part.sort_keys)
    return [int(action) for action in part.actions[:count]]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--games", type=int, default=100, help="(default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the circles (default: %(default)s)")
    parser.add_argument("--value", type=Path, default=agents.path_of("champion"), metavar="FOLDER")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON in the last line")
    options = parser.parse_args()
    if options.games < 1:
        parser.error(f"--games is {options.games}; it must be at least 1")
    try:
        seed, weights = check_seed(options.seed), read_value(read_checkpoint(options.value))
    except (ValueError, OSError) as error:
        parser.error(str(error))
    whole, part, integers = new_expansion(), new_expansion(), quantized(weights)
    games = positions(weights, options.games, seed)
    losses = [loss for game in games for loss in losses_in(game, integers, whole, part)]
    means, found = np.mean(losses, axis=0), np.mean(np.array(losses) < 1e-6, axis=0)
    print(f"{describe_setup()}\n{len(losses):,} choices of a placement\n")
    print(f"{'chosen':>6}   {'loss: most joints':>18}  compact   {'best is among: joints':>22}  compact")
    for k, width in enumerate(_WIDTHS):
        print(
            f"{width:6}   {means[0, k]:18.4f}  {means[1, k]:7.4f}   {found[0, k]:22.0%}  {found[1, k]:7.0%}"
        )
    if options.json:
        by_width = [dict(zip(_WIDTHS, row, strict=True)) for row in means.tolist()]
        print(json.dumps({"choices": len(losses), "most_joints": by_width[0], "most_compact": by_width[1]}))


if __name__ == "__main__":
    main()

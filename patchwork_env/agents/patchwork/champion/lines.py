"""Lines of an analysis, read from the tree of a search."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.analysis import Line
from patchwork_env.agents.patchwork.champion.search import ENOUGH, SCORE, WIN, calibrated
from patchwork_env.patchwork.game import Game
from patchwork_env.search.best_first import best_edge, is_solved
from patchwork_env.search.tree import NOTHING, ROOT, Tree


def line_of(tree: Tree, game: Game, edge: int, calibrate: bool) -> Line:
    """Return the line that begins with an edge of the root."""
    record = tree.edges[edge]
    margin, win = _margin_and_win(tree, record["values"], calibrate)
    action, after = int(record["action"]), game.clone()
    after.play(action)
    visits, is_exact = int(record["visits"]), bool(record["solved"])
    variation = action, *_best_play(tree, after, int(record["child"]))
    return Line(action, visits, margin, win, is_exact, variation, is_exact or visits >= ENOUGH)


def _margin_and_win(
    tree: Tree, values: npt.NDArray[np.floating[Any]], calibrate: bool
) -> tuple[float, float]:
    win = float(values[WIN])
    return float(values[SCORE] - values[SCORE + 1]), calibrated(win, tree.states, ROOT) if calibrate else win


def line_of_forced(tree: Tree, game: Game, calibrate: bool) -> Line:
    """Return the line of the only legal action; the root is the next position with a choice, or the end."""
    root = tree.nodes[ROOT]
    margin, win = _margin_and_win(tree, root["values"], calibrate)
    if int(root["player"]) != game.current_player:
        margin, win = -margin, 1 - win
    variation = _best_play(tree, game.clone(), ROOT)
    return Line(variation[0], int(root["visits"]), margin, win, bool(is_solved(tree, ROOT)), tuple(variation))


def _best_play(tree: Tree, game: Game, node: int) -> list[int]:
    """Play the forced moves before a node and the best line below it; return what it played."""
    actions = _play_forced(game)
    while node != NOTHING and tree.nodes[node]["count"] > 0:
        edge = tree.edges[best_edge(tree, node)]
        actions.append(int(edge["action"]))
        game.play(actions[-1])
        actions += _play_forced(game)
        node = int(edge["child"])
    return actions


def _play_forced(game: Game) -> list[int]:
    actions: list[int] = []
    while len(legal := game.legal_actions()) == 1:
        actions.append(int(legal[0]))
        game.play(actions[-1])
    return actions

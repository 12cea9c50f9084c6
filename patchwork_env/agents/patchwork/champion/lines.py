"""The results of a search, for people: expected results and lines of play."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.analysis import Line
from patchwork_env.agents.patchwork.champion.simulation import SCORE, WIN
from patchwork_env.agents.patchwork.value.choice import Payoffs, action_utility
from patchwork_env.agents.patchwork.value.expansion import Expansion, expand
from patchwork_env.agents.patchwork.value.network import Weights
from patchwork_env.patchwork.game import Game
from patchwork_env.patchwork.symmetry import NUM_SYMMETRIES, turn_actions, turn_quilts
from patchwork_env.search.best_first import best_edge, is_solved
from patchwork_env.search.tree import NOTHING, ROOT, Tree


def lines_of(tree: Tree, game: Game, solved: int) -> list[Line]:
    """The actions that a search from a game considered, in its tree; the one to play comes first.

    That is ``solved`` unless it is ``NO_ACTION``. The game, which is not over, is left as it was.
    """
    if len(game.legal_actions()) == 1:
        return [_line_of_forced(tree, game)]
    begin, count = int(tree.nodes[ROOT]["begin"]), int(tree.nodes[ROOT]["count"])
    by_value = bool(is_solved(tree, ROOT))
    edges = sorted(range(begin, begin + count), key=lambda edge: _rank(tree.edges[edge], solved, by_value))
    return [_line_of(tree, game, edge) for edge in edges]


def _rank(edge: Any, solved: int, by_value: bool) -> tuple[bool, float, float]:
    """The sort key of a line; see :func:`~patchwork_env.search.best_first.best_edge`."""
    value, visits = float(edge["values"][0]), int(edge["visits"])
    return edge["action"] != solved, *((-value, -visits) if by_value else (-visits, -value))


def _line_of(tree: Tree, game: Game, edge: int) -> Line:
    record = tree.edges[edge]
    margin, win = _margin_and_win(record["values"])
    action, after = int(record["action"]), game.clone()
    after.play(action)
    variation = action, *_best_play(tree, after, int(record["child"]))
    visits, exact = int(record["visits"]), bool(record["solved"])
    return Line(action, visits, margin, win, exact, variation)


def _margin_and_win(values: npt.NDArray[np.floating[Any]]) -> tuple[float, float]:
    return float(values[SCORE] - values[SCORE + 1]), float(values[WIN])


def _line_of_forced(tree: Tree, game: Game) -> Line:
    """The line of the only legal action; the root is the next position with a choice, or the end."""
    root = tree.nodes[ROOT]
    margin, win = _margin_and_win(root["values"])
    if int(root["player"]) != game.current_player:
        margin, win = -margin, 1 - win
    variation = _best_play(tree, game.clone(), ROOT)
    visits, exact = int(root["visits"]), bool(is_solved(tree, ROOT))
    return Line(variation[0], visits, margin, win, exact, tuple(variation))


def _best_play(tree: Tree, game: Game, node: int) -> list[int]:
    """Plays the forced moves before a node and the best line below it; returns what it played."""
    actions = _play_forced(game)
    while node != NOTHING and tree.nodes[node]["count"] > 0:
        edge = tree.edges[best_edge(tree, node)]
        actions.append(int(edge["action"]))
        game.play(actions[-1])
        actions += _play_forced(game)
        node = int(edge["child"])
    return actions


def _play_forced(game: Game) -> list[int]:
    """Plays as long as there is no choice; returns what it played."""
    actions: list[int] = []
    while len(legal := game.legal_actions()) == 1:
        actions.append(int(legal[0]))
        game.play(actions[-1])
    return actions


# --- the value alone, and symmetries ------------------------------------------------------------------------


def lines_of_value(game: Game, weights: Weights, payoffs: Payoffs, expansion: Expansion) -> list[Line]:
    """A line of one action, without visits, for every legal action, in descending order of their utilities.

    The game, which is not over, is left as it was.
    """
    count = expand(game.state, 0, weights, expansion)
    order = sorted(range(count), key=lambda k: -action_utility(payoffs, expansion, k))
    parts = (values[order].tolist() for values in (expansion.actions, expansion.margins, expansion.wins))
    return [_line_of_value(game, *figures) for figures in zip(*parts, strict=True)]


def _line_of_value(game: Game, action: int, margin: float, win: float) -> Line:
    after = game.clone()
    after.play(action)
    return Line(action, 0, margin, win, after.is_over, (action,))


def alike_actions(game: Game) -> dict[int, list[int]]:
    """For every legal action, all that lead to the same position up to turns and flips, itself included.

    They are images of each other under the symmetries of the quilt of the player to move.
    """
    actions = game.legal_actions().astype(np.int64)
    images, none = [actions], np.zeros(1, np.int64)
    for symmetry in range(1, NUM_SYMMETRIES):
        turned, own = game.state.copy(), np.array([symmetry])
        turn_quilts(turned, own, none)
        if turned.tobytes() == game.state.tobytes():
            images.append(turn_actions(game.state, np.array([len(actions)]), actions, own))
    orbits = np.stack(images, axis=1).tolist()
    return {action: sorted(set(orbit)) for action, orbit in zip(actions.tolist(), orbits, strict=True)}

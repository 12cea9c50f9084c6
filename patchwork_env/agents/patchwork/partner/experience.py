"""How moves are judged with experience: by the champion's learned value, and a short look ahead."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.patchwork.champion.simulation import (
    NO_LIMIT,
    UTILITY,
    Budget,
    Settings,
    Workspace,
    grow,
    reset_search,
)
from patchwork_env.agents.patchwork.partner.decision import Thoughts, decide
from patchwork_env.agents.patchwork.partner.levels import Habits
from patchwork_env.agents.patchwork.value.expansion import Expansion, expand_likely
from patchwork_env.agents.patchwork.value.network import Weights
from patchwork_env.core.compile import kernel
from patchwork_env.core.random import Streams
from patchwork_env.patchwork.engine import legal, nth_legal
from patchwork_env.patchwork.state import States
from patchwork_env.search.tree import ROOT, Tree

_POINTS_OF_UTILITY = 15
"""What a unit of utility is worth: in mid-game, a point more wins about one game in thirty more."""


@kernel
def choose_by_experience(
    states: States,
    habits: Habits,
    weights: Weights,
    expansion: Expansion,
    thoughts: Thoughts,
    streams: Streams,
    actions: npt.NDArray[np.int64],
) -> None:
    """Writes the actions of games, none of which is over, by the value alone."""
    for i in range(len(states)):
        count = recall(states, i, habits.placements, weights, expansion, thoughts)
        actions[i] = decide(thoughts, count, habits, streams)


@kernel
def choose_ahead(
    states: States,
    habits: Habits,
    settings: Settings,
    tree: Tree,
    work: Workspace,
    thoughts: Thoughts,
    streams: Streams,
    actions: npt.NDArray[np.int64],
) -> None:
    """Writes the actions of games, none of which is over, by a short search."""
    for i in range(len(states)):
        count = think_ahead(states, i, habits.lookahead, settings, tree, work, thoughts)
        actions[i] = decide(thoughts, count, habits, streams)


@kernel
def recall(
    states: States, i: int, placements: int, weights: Weights, expansion: Expansion, thoughts: Thoughts
) -> int:
    """Judges advancing and likely placements by the value alone; returns the number of these moves."""
    count = expand_likely(states, i, placements, weights, expansion)
    for k in range(count):
        thoughts.actions[k] = expansion.actions[k]
        thoughts.worths[k] = expansion.margins[k]
    return count


@kernel
def think_ahead(
    states: States,
    i: int,
    lookahead: int,
    settings: Settings,
    tree: Tree,
    work: Workspace,
    thoughts: Thoughts,
) -> int:
    """Judges the best moves by a search of so many positions; returns their number."""
    anchors = work.expansion.anchors
    if legal(states, i, anchors) == 1:  # the search would look beyond it
        thoughts.actions[0], thoughts.worths[0] = nth_legal(anchors, 0), 0
        return 1
    reset_search(tree, work, states, i)
    grow(tree, work, settings, Budget(lookahead, NO_LIMIT), False)
    begin, count = tree.nodes[ROOT]["begin"], 0
    for edge in range(begin, begin + tree.nodes[ROOT]["count"]):
        if tree.edges[edge]["visits"]:
            thoughts.actions[count] = tree.edges[edge]["action"]
            thoughts.worths[count] = _POINTS_OF_UTILITY * tree.edges[edge]["values"][UTILITY]
            count += 1
    return count

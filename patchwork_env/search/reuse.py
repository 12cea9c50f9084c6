"""Trees of UCT that are reused from one search to the next, for any number of games of one kind."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
import numpy.typing as npt

from patchwork_env.core.compile import kernel
from patchwork_env.search.tree import NOTHING, Tree
from patchwork_env.search.uct import copy_subtree


class TreeMemory:
    """Keeps the trees of running games, and finds the subtree of a later position.

    Args:
        most_nodes: The most nodes of all trees together; beyond it, the oldest trees are forgotten.
    """

    def __init__(self, most_nodes: int) -> None:
        self.most_nodes = most_nodes
        self._trees: deque[Tree] = deque()

    @property
    def num_nodes(self) -> int:
        """The number of nodes of all trees that are kept."""
        return sum(len(tree.nodes) for tree in self._trees)

    def copy(self) -> TreeMemory:
        """Another memory of the same trees, which are not copied, since they do not change."""
        twin = TreeMemory(self.most_nodes)
        twin._trees = self._trees.copy()
        return twin

    def keep(self, tree: Tree) -> None:
        """Keeps a copy of a tree."""
        nodes, edges = tree.sizes.tolist()
        self._trees.append(
            Tree(
                tree.nodes[:nodes].copy(),
                tree.edges[:edges].copy(),
                tree.states[:nodes].copy(),
                tree.sizes.copy(),
            )
        )
        while self.num_nodes > self.most_nodes:
            self._trees.popleft()

    def recall(self, state: npt.NDArray[np.void], target: Tree) -> bool:
        """Copies the subtree of a state ``(1,)`` to ``target``, and forgets the rest of its tree.

        Returns whether a tree holds the state; if not, ``target`` is left as it was.
        """
        for tree in self._trees:
            node = int(_find(_words(tree.states), _words(state)[0]))
            if node != NOTHING:
                copy_subtree(tree, node, target)
                self._trees = deque(other for other in self._trees if other is not tree)
                return True
        return False


def _words(states: npt.NDArray[np.void]) -> npt.NDArray[Any]:
    """The contents of records, ``(n, words)``, in words of eight bytes if possible, else in bytes."""
    word = np.dtype(np.uint8 if states.itemsize % 8 else np.uint64)
    return states.view(word).reshape(len(states), states.itemsize // word.itemsize)


@kernel
def _find(words: npt.NDArray[Any], wanted: npt.NDArray[Any]) -> int:
    """The index of the first row that equals ``wanted``, or ``NOTHING``."""
    for row in range(len(words)):
        k = 0
        while k < len(wanted) and words[row, k] == wanted[k]:
            k += 1
        if k == len(wanted):
            return row
    return NOTHING

"""The errors that both games raise beside those of Python."""

from __future__ import annotations


class IllegalActionError(ValueError):
    """An action that the current player may not play."""


class TableEdgeError(RuntimeError):
    """A game of NMBR 9 spreads further than the numbering of its actions reaches."""

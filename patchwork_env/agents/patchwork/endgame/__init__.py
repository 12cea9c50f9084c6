"""Endings, solved exactly: searches call :func:`solve`, which is compiled, with a :class:`Solver`."""

from patchwork_env.agents.patchwork.endgame.solver import Solver, margin_of, new_solver, solve

__all__ = ["Solver", "margin_of", "new_solver", "solve"]

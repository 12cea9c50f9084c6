"""Endings, solved exactly: :func:`solve` in room from :func:`new_solver`, compiled, for searches to call."""

from patchwork_env.agents.patchwork.endgame.solver import NO_ACTION, Solver, margin_of, new_solver, solve

__all__ = ["NO_ACTION", "Solver", "margin_of", "new_solver", "solve"]

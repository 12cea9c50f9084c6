"""Planning with a policy and a value, for any game whose states are records: it knows no game.

A game comes as :class:`Dynamics` and what is known about it as :data:`Evaluate`; both exchange arrays of
states, so that the search of many games makes one call per simulation.
"""

from patchwork_env.search.gumbel.search import (
    Dynamics,
    Evaluate,
    Evaluation,
    GumbelSearch,
    SearchResult,
    States,
)

__all__ = ["Dynamics", "Evaluate", "Evaluation", "GumbelSearch", "SearchResult", "States"]

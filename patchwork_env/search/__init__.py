"""Planning with a policy and a value, for any game whose states are records: it knows no game.

The rules come as :class:`Dynamics`, the policy and the value as :data:`Evaluate`. Both take arrays of states,
so that the search of many games makes one call per simulation.
"""

from patchwork_env.search.gumbel import Dynamics, Evaluate, Evaluation, GumbelSearch, States
from patchwork_env.search.gumbel_tree import SearchResult

__all__ = ["Dynamics", "Evaluate", "Evaluation", "GumbelSearch", "SearchResult", "States"]

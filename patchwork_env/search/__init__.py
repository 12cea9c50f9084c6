"""Tree searches for any game whose states are records, such as :class:`GumbelSearch`.

It takes the rules as :class:`Dynamics`, the policy and the value as :data:`Evaluate`. Both take arrays of
states, so that a search of many games makes one call per simulation.
"""

from patchwork_env.search.gumbel import Dynamics, Evaluate, Evaluation, GumbelSearch, States
from patchwork_env.search.gumbel_tree import SearchResult

__all__ = ["Dynamics", "Evaluate", "Evaluation", "GumbelSearch", "SearchResult", "States"]

"""A learned value and a search with it: the strongest way to play that this library knows.

- :mod:`~patchwork_env.agents.champion.levels`: the budgets of a move;
- :mod:`~patchwork_env.agents.champion.simulation`: the tree, grown by :mod:`patchwork_env.search.best_first`;
- :mod:`~patchwork_env.agents.champion.lines`: what a search found out, for people;
- :mod:`~patchwork_env.agents.champion.agent`: the agent.
"""

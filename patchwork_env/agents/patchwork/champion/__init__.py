"""A learned value and a search with it: the strongest way to play that this library knows.

- :mod:`~patchwork_env.agents.patchwork.champion.levels`: the budgets of a move;
- ``simulation``: the tree, grown by ``best_first``;
- :mod:`~patchwork_env.agents.patchwork.champion.lines`: what a search found out, for people;
- :mod:`~patchwork_env.agents.patchwork.champion.agent`: the agent.
"""

"""A learned value and a search with it: the strongest way to play that this library knows.

- :mod:`~patchwork_env.agents.patchwork.champion.levels`: the budgets of a move;
- :mod:`~patchwork_env.agents.patchwork.champion.simulation`: the tree and how it grows;
- :mod:`~patchwork_env.agents.patchwork.champion.endings`: endings, solved exactly;
- :mod:`~patchwork_env.agents.patchwork.champion.deepening`: analyses that go on while somebody looks;
- :mod:`~patchwork_env.agents.patchwork.champion.lines`: the results of a search, for people;
- :mod:`~patchwork_env.agents.patchwork.champion.agent`: the agent.
"""

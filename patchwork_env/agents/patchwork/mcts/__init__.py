"""The agent that searches: UCT with playouts.

Every simulation goes down the tree, adds a node, plays the game to its end by a quick policy and counts the
outcome on the way back. The search is that of :mod:`patchwork_env.search.uct`, with three parts of this game:

- :mod:`~patchwork_env.agents.patchwork.mcts.candidates`: which actions a node considers, and in what order;
- :mod:`~patchwork_env.agents.patchwork.mcts.playout`: the policy of playouts, close to the greedy agent's;
- :mod:`~patchwork_env.agents.patchwork.mcts.placing`: where a patch goes in a playout.
"""

from patchwork_env.agents.patchwork.mcts.agent import MctsAgent

__all__ = ["MctsAgent"]

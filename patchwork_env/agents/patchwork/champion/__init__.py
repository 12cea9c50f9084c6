"""The champion: a best-first search guided by the learned value, with exact endings.

`search` grows the tree: it expands a leaf with the learned values of its successors, backs values up, and
reads lines of play from the tree. `proofs` solves endings with
:mod:`patchwork_env.agents.patchwork.endings`. `agent` has the agent: levels, time budgets, threads and
analyses. Start with `Search.choose` in `agent`, then read `grow` in `search`.
"""

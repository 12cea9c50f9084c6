"""The learned value of a position: the probability that the player to move wins.

`features` encodes a position as rows of two tables. `network` sums these rows and evaluates a small network
on the sum. `expansion` evaluates all successors of a position by updating sums instead of recomputing them,
and `quilt_cache` keeps the sums of quilts. Temporal-difference learning trains the value
(:mod:`patchwork_env.learning.algorithms.td`). The champion and the difficulty levels use it.
"""

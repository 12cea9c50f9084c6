"""The learned value of a position: the probability that the player to move wins.

`features` encodes a position as rows of two tables. `network` sums these rows and evaluates a small network
on the sum. `expansion` evaluates all successors of a position by changing sums instead of computing them
anew, and `quilt_cache` keeps the sums of quilts. Temporal differences train the value
(:mod:`patchwork_env.learning.algorithms.td`); the champion and the levels for people play by it.
"""

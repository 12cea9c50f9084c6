"""Temporal-difference learning of the compiled value of Patchwork by greedy self-play."""

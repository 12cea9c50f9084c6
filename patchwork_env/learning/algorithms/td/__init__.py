"""Temporal-difference learning of a compiled value by greedy self-play."""

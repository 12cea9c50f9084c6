"""Temporal-difference learning of the compiled value of NMBR 9 by greedy play."""

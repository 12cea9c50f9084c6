"""Runs: the training loop, and what lies in the folder of a run."""

"""Runs: the training loop, and the files in the folder of a run."""

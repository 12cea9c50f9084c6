"""Runs: the loop that trains, and all that lies in the folder of a run."""

"""Runs on more than one machine, with Ray."""

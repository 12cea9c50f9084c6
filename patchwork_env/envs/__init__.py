"""Environments for PettingZoo and Gymnasium, and batches for self-play, of any game."""

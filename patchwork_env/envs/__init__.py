"""Environments of PettingZoo and Gymnasium, and batches for self-play, over the rules of any game."""

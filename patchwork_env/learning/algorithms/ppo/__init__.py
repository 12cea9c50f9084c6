"""Proximal policy optimization by self-play, on lists of legal actions."""

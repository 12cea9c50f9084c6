"""Proximal policy optimization by self-play, with lists of legal actions instead of masks."""

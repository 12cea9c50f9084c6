"""Exact values of endings, by alpha-beta search.

`solver` holds the search and its table of positions, `moves` generates the moves worth trying and bounds
what a player can still gain, and `loose` treats the frequent case in which every patch that is small enough
fits.
"""

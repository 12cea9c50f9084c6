"""Exact values of endings, by alpha-beta search.

`solver` has the search and its table of positions. `moves` generates the moves worth trying and bounds the
points that a player can still gain. `loose` gives a quick bound: it assumes that every patch fits that has no
more cells than are empty.
"""

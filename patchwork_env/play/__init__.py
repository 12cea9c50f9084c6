"""A page in the browser to play and analyse on, and its server; needs the extra ``play``.

The server keeps nothing of a game: every message holds the whole game in notation. ``page/`` is the page.
"""

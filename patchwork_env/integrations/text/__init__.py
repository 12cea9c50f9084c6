"""Both games in words, for language models and terminals.

>>> from patchwork_env.integrations import text
>>> from patchwork_env.patchwork import Game
>>> game = Game(seed=7)
>>> print(text.ask(game, "moves"))  # doctest: +ELLIPSIS
It is player 0's move. 641 legal moves:
+ (advance): to space 1, for 1 button
...
>>> game.play(text.parse(game, "Answer: +"))

Moves have the words of the notation, such as ``12/3@d5``. There may be more than a thousand of them, so
placements are listed on demand, by pages. No function changes the game.
"""

from __future__ import annotations

from patchwork_env.integrations.text.answers import ask, is_request, parse, requests_text
from patchwork_env.integrations.text.view import Group, LegalMove, describe, moves, rules

__all__ = ["Group", "LegalMove", "ask", "describe", "is_request", "moves", "parse", "requests_text", "rules"]

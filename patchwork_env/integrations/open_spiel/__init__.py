"""OpenSpiel: both games for its algorithms, which this module registers when it is imported.

A greedy agent plays a random bot::

    import pyspiel
    import patchwork_env.integrations.open_spiel as open_spiel

    game = pyspiel.load_game("python_patchwork(seed=7)")
    bots = [open_spiel.bot("greedy", 0), pyspiel.make_uniform_random_bot(1, 7)]
    print(pyspiel.evaluate_bots(game.new_initial_state(), bots, 7))

The games are ``python_patchwork`` and ``python_nmbr9``.

Needs the extra ``open_spiel``.
"""

from __future__ import annotations

from patchwork_env.core.extras import from_extra

with from_extra("open_spiel", f"{__name__} needs"):
    import pyspiel

from patchwork_env.integrations.open_spiel.bots import as_agent, bot
from patchwork_env.integrations.open_spiel.nmbr9 import Nmbr9Game
from patchwork_env.integrations.open_spiel.patchwork import PatchworkGame

__all__ = ["as_agent", "bot"]

pyspiel.register_game(PatchworkGame(PatchworkGame.kind.parameters).get_type(), PatchworkGame)
pyspiel.register_game(Nmbr9Game(Nmbr9Game.kind.parameters).get_type(), Nmbr9Game)

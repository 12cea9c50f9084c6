"""How strong agents are: matches, tournaments and the gauntlet.

All of it needs nothing but the package itself.
"""

from patchwork_env.learning.evaluation.gauntlet import GauntletResult, play_gauntlet
from patchwork_env.learning.evaluation.matches import play_matches
from patchwork_env.learning.evaluation.players import load_player
from patchwork_env.learning.evaluation.results import MatchResult
from patchwork_env.learning.evaluation.tournament import Tournament

__all__ = [
    "GauntletResult",
    "MatchResult",
    "Tournament",
    "load_player",
    "play_gauntlet",
    "play_matches",
]

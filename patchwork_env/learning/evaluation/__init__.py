"""The evaluation of agents: matches, tournaments and the gauntlet.

They need no extra of the package.
"""

from typing import TYPE_CHECKING

from patchwork_env.core import lazy_names

if TYPE_CHECKING:
    from patchwork_env.learning.evaluation.gauntlet import GauntletResult, play_gauntlet
    from patchwork_env.learning.evaluation.matches import load_player, play_matches
    from patchwork_env.learning.evaluation.results import MatchResult
    from patchwork_env.learning.evaluation.tournament import Tournament

__all__ = ["GauntletResult", "MatchResult", "Tournament", "load_player", "play_gauntlet", "play_matches"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "GauntletResult": "gauntlet",
        "MatchResult": "results",
        "Tournament": "tournament",
        "load_player": "matches",
        "play_gauntlet": "gauntlet",
        "play_matches": "matches",
    },
)

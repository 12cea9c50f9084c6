"""Row with parts besides its rules, so that it is learned, measured, and played at levels."""

from patchwork_env import agents
from patchwork_env.agents.checkpoints import NETWORK
from patchwork_env.core.parts import GameParts
from patchwork_env.learning.evaluation.runners import MatchRunner
from patchwork_env.learning.reports.run_page import GameWords

PARTS = GameParts(
    greedy="tests.toy_parts.players:choose_actions",
    levels="tests.toy_parts.players:new_player",
    network="tests.toy_parts.network:RowNetwork",
    figures="tests.toy_parts.figures",
    runner="tests.toy_parts:RowRunner",
    report="tests.toy_parts:WORDS",
)
WORDS = GameWords(moves=(("3-4", "covers the cells 3 and 4"),))


class RowRunner(MatchRunner):
    """Matches of Row, whose figures are scores and turns."""

    game = "row"


agents.register_checkpoint("row", NETWORK, "patchwork_env.agents.networks:load", extra="train")

"""Row with parts besides its rules, so that it is learned, measured, and played at levels."""

from patchwork_env import agents
from patchwork_env.agents.checkpoints import NETWORK
from patchwork_env.core.parts import GameParts
from tests.toy import RULES, Game

__all__ = ["PARTS", "RULES", "Game"]

PARTS = GameParts(
    greedy="tests.toy_parts.players:choose_actions",
    levels="tests.toy_parts.players:new_player",
    network="tests.toy_parts.network:RowNetwork",
    figures="tests.toy_parts.figures",
)

agents.register_checkpoint("row", NETWORK, "patchwork_env.agents.networks:load", extra="train")

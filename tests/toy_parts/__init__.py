"""Row with parts besides its rules, so that it is learned, measured, and played at levels."""

from patchwork_env import agents
from patchwork_env.agents.checkpoints import NETWORK
from patchwork_env.core.parts import GameParts, MatchPart

PARTS = GameParts(
    greedy="tests.toy_parts.players:choose_actions",
    levels="tests.toy_parts.players:new_player",
    network="tests.toy_parts.network:RowNetwork",
    figures="tests.toy_parts.figures",
    matches="tests.toy_parts:MATCHES",
)
MATCHES = MatchPart()

agents.register_checkpoint("row", NETWORK, "patchwork_env.agents.networks:load", extra="train")

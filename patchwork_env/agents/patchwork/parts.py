"""The parts of Patchwork besides its rules."""

from patchwork_env.core.parts import GameParts

PARTS = GameParts(
    greedy="patchwork_env.agents.patchwork.greedy:choose_actions",
    levels="patchwork_env.agents.patchwork.people.levels:new_player",
    champion="champion",
    network="patchwork_env.agents.patchwork.policy.network:PatchworkNetwork",
    value="patchwork_env.learning.algorithms.td.patchwork:PatchworkValue",
    matches="patchwork_env.patchwork.figures:MATCHES",
    figures="patchwork_env.patchwork.figures",
    view="patchwork_env.integrations.text.patchwork:VIEW",
    page="patchwork_env.service.positions:PATCHWORK_PAGE",
    network_settings=("channels", "offers", "lookahead"),
)

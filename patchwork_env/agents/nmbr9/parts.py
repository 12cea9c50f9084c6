"""The parts of NMBR 9 besides its rules."""

from patchwork_env.core.parts import GameParts

PARTS = GameParts(
    greedy="patchwork_env.agents.nmbr9.greedy:choose_actions",
    levels="patchwork_env.agents.nmbr9.partner:new_player",
    champion="nmbr9_champion",
    network="patchwork_env.agents.nmbr9.policy_network:Nmbr9Network",
    value="patchwork_env.learning.algorithms.td.nmbr9:Nmbr9Value",
    matches="patchwork_env.nmbr9.figures:MATCHES",
    figures="patchwork_env.nmbr9.figures",
    view="patchwork_env.integrations.text.nmbr9:VIEW",
    page="patchwork_env.service.positions:NMBR9_PAGE",
    is_learned_alone=True,
)

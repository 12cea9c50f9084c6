"""Agents that play Patchwork; this module registers those that a spec can name."""

from patchwork_env.agents.checkpoints import MASKABLE_PPO, NETWORK, VALUE
from patchwork_env.agents.patchwork.champion.levels import AIMS, FEWEST_NODES, MOST_NODES
from patchwork_env.agents.specs import (
    LEVELS,
    boolean,
    integer,
    one_of,
    register,
    register_checkpoint,
    seconds,
)
from patchwork_env.games import PATCHWORK

_PACKAGE = "patchwork_env.agents.patchwork"
FEWEST_SIMULATIONS = 2
"""The fewest simulations of an agent that searches; with a single one there would be nothing to compare."""
ONNX_SUFFIX = ".onnx"
"""The ending of files that hold an exported policy."""
_POLICY_OPTIONS = {"sample": boolean, "simulations": integer(FEWEST_SIMULATIONS)}
_VALUE_OPTIONS = {
    "level": one_of(*LEVELS),
    "nodes": integer(FEWEST_NODES, MOST_NODES),
    "seconds": seconds,
    "aim": one_of(*AIMS),
}

register(
    "mcts",
    f"{_PACKAGE}.mcts.agent:MctsAgent",
    games=(PATCHWORK,),
    options={"simulations": integer(FEWEST_SIMULATIONS), "seconds": seconds},
)
register_checkpoint(PATCHWORK, NETWORK, f"{_PACKAGE}.policy:load", options=_POLICY_OPTIONS, extra="train")
register_checkpoint(PATCHWORK, MASKABLE_PPO, f"{_PACKAGE}.mlp:load", options=_POLICY_OPTIONS, extra="train")
register_checkpoint(PATCHWORK, VALUE, f"{_PACKAGE}.champion.agent:load_value", options=_VALUE_OPTIONS)
register(ONNX_SUFFIX, f"{_PACKAGE}.onnx_agent:load", options={"sample": boolean}, extra="onnx")

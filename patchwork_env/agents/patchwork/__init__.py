"""Agents that play Patchwork; this module registers those that a spec can name."""

from patchwork_env.agents.checkpoints import MASKABLE_PPO, NETWORK, VALUE
from patchwork_env.agents.specs import (
    VALUE_OPTIONS,
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
AIMS = ("win", "rich", "margin", "score")
"""What a search with a learned value plays for. ``win`` is the strongest. ``rich`` is to win too, but with
many points for both players. ``margin`` is the difference of the scores. ``score`` is the player's own
points, with little regard to who wins."""
ONNX_SUFFIX = ".onnx"
"""The ending of files that hold an exported policy."""
_SAMPLE = {"sample": boolean}
_POLICY_OPTIONS = {**_SAMPLE, "simulations": integer(FEWEST_SIMULATIONS)}
_VALUE_OPTIONS = {**VALUE_OPTIONS, "aim": one_of(*AIMS)}

register(
    "mcts",
    f"{_PACKAGE}.mcts:MctsAgent",
    games=(PATCHWORK,),
    options={"simulations": integer(FEWEST_SIMULATIONS), "seconds": seconds},
)
register_checkpoint(PATCHWORK, NETWORK, f"{_PACKAGE}.policy:load", options=_POLICY_OPTIONS, extra="train")
register_checkpoint(PATCHWORK, MASKABLE_PPO, f"{_PACKAGE}.mlp:load", options=_SAMPLE, extra="train")
register_checkpoint(PATCHWORK, VALUE, f"{_PACKAGE}.champion:load", options=_VALUE_OPTIONS)
register(ONNX_SUFFIX, f"{_PACKAGE}.onnx_agent:load", options=_SAMPLE, extra="onnx")

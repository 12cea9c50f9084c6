"""Agents that play NMBR 9; this module registers those that a spec can name."""

from patchwork_env.agents.checkpoints import NETWORK, VALUE
from patchwork_env.agents.specs import (
    VALUE_OPTIONS,
    boolean,
    integer,
    register,
    register_checkpoint,
    seconds,
)
from patchwork_env.games import NMBR9

_PACKAGE = "patchwork_env.agents.nmbr9"

register(
    "beam",
    f"{_PACKAGE}.beam:load",
    games=(NMBR9,),
    options={"width": integer(1, 999_999), "seconds": seconds, "value": str},
    listed=False,
)
register_checkpoint(
    NMBR9, NETWORK, f"{_PACKAGE}.policy_network:load", options={"sample": boolean}, extra="train"
)
register_checkpoint(NMBR9, VALUE, f"{_PACKAGE}.champion:load", options=VALUE_OPTIONS)

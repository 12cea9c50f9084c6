"""The rules of Patchwork in the form that code without knowledge of the game uses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from patchwork_env.core.compile import kernel
from patchwork_env.core.random import Streams, random_below
from patchwork_env.core.rules import Kernels, Rules, SetUp
from patchwork_env.patchwork import engine
from patchwork_env.patchwork.actions import NUM_ACTIONS
from patchwork_env.patchwork.components import NUM_PATCHES, NUM_PLAYERS
from patchwork_env.patchwork.game import Game
from patchwork_env.patchwork.observation import LAYOUT, UPPER_BOUNDS, write_observation
from patchwork_env.patchwork.options import check_circle, check_first_player, check_variant
from patchwork_env.patchwork.state import NOBODY, STATE, States, empty_states

_RANDOM_FIRST_PLAYER, _GIVEN_CIRCLE = 1, 2
"""The bits of ``chance``: the first player is random; the circle is given instead of random."""


def set_up(options: Mapping[str, Any], given: Mapping[str, Any]) -> SetUp:
    """How games begin with given options; see :class:`~patchwork_env.core.rules.Rules`."""
    chosen = {**options, **given}
    first_player, circle = check_first_player(chosen["first_player"]), chosen.get("circle")
    states, chance = empty_states(1), 0
    if first_player == NOBODY:
        first_player, chance = 0, _RANDOM_FIRST_PLAYER
    engine.new(states, 0, check_variant(chosen["special_patches"]), first_player)
    if circle is not None:
        states["circle"][0, :NUM_PATCHES] = check_circle(circle)
        chance |= _GIVEN_CIRCLE
    return SetUp(states, chance, NUM_PLAYERS)


@kernel
def deal(states: States, i: int, streams: Streams, beginning: States, chance: int) -> None:
    """Begins a game; a given circle uses up as many random numbers as a random one."""
    first_player = int(beginning[0]["current_player"])
    if chance & _RANDOM_FIRST_PLAYER:
        first_player = random_below(streams, i, NUM_PLAYERS)
    engine.new(states, i, beginning[0]["variant"], first_player)
    engine.shuffle(states, i, streams)
    if chance & _GIVEN_CIRCLE:
        for k in range(NUM_PATCHES):
            states[i]["circle"][k] = beginning[0]["circle"][k]


@kernel(inline=True)
def num_players(states: States, i: int) -> int:
    """The number of players, always 2."""
    return NUM_PLAYERS


@kernel
def outcome(states: States, i: int, player: int) -> float:
    """1 for the winner of a game that is over, -1 for the other."""
    return 1.0 if engine.winner(states, i) == player else -1.0


@kernel
def write_mask(
    states: States, i: int, anchors: engine.LegalSet, count: int, mask: npt.NDArray[np.int8]
) -> None:
    """Writes a legal set as an action mask."""
    engine.write_mask(anchors, count > 0 and not states[i]["pending_special"], mask)


RULES = Rules(
    name="patchwork",
    title="Patchwork",
    module=__name__,
    game=Game,
    dtype=STATE,
    kernels=Kernels(
        legal_shape=(2, engine.NUM_MAPS),
        max_players=NUM_PLAYERS,
        is_over=engine.is_over,
        num_players=num_players,
        legal=engine.legal,
        is_legal=engine.is_legal,
        nth_legal=engine.nth_legal,
        write_actions=engine.write_actions,
        write_mask=write_mask,
        apply=engine.apply,
        score=engine.score,
        outcome=outcome,
        deal=deal,
        write_observation=write_observation,
    ),
    num_actions=NUM_ACTIONS,
    max_legal_actions=engine.MAX_LEGAL_ACTIONS,
    layout=LAYOUT,
    upper_bounds=UPPER_BOUNDS,
    set_up=set_up,
    pictures_module="patchwork_env.patchwork.render",
    options={"special_patches": "revised", "first_player": 0},
    reset_options=("circle", "first_player"),
    batch_options={"first_player": "random"},
)

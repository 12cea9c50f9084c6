"""The rules of NMBR 9 in the form that code without knowledge of the game uses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from patchwork_env.core.compile import kernel
from patchwork_env.core.random import Streams
from patchwork_env.core.rules import Kernels, Rules, SetUp
from patchwork_env.nmbr9 import engine
from patchwork_env.nmbr9.actions import NUM_ACTIONS, TABLE_SIZE
from patchwork_env.nmbr9.components import COPIES, MAX_PLAYERS, NUM_DIGITS
from patchwork_env.nmbr9.game import Game
from patchwork_env.nmbr9.observation import LAYOUT, UPPER_BOUNDS, write_observation
from patchwork_env.nmbr9.options import Variant, beginning
from patchwork_env.nmbr9.state import FREE, STATE, States

_SHUFFLED = 1
"""The bit of ``chance`` that says that the deck is shuffled."""


def set_up(options: Mapping[str, Any], given: Mapping[str, Any]) -> SetUp:
    """How games begin with given options; a deck given to one ``reset`` replaces that of the environment."""
    order, deck_size, players = options["order"], options["deck_size"], options["players"]
    deck = given.get("deck")
    if deck is not None:
        variant = Variant(order, deck_size=deck_size)
    else:
        deck = options["deck"]
        variant = Variant(order, options["max_digit"], options["copies"], deck_size)
    states = beginning(variant, players, deck)
    chance = _SHUFFLED if deck is None else 0
    return SetUp(states, chance, int(states[0]["num_players"]))


@kernel
def deal(states: States, i: int, streams: Streams, beginning: States, chance: int) -> None:
    """Begins a game; in free order there is nothing to shuffle."""
    states[i] = beginning[0]
    if chance & _SHUFFLED and states[i]["order"] != FREE:
        engine.shuffle(states, i, streams, 0)


@kernel(inline=True)
def num_players(states: States, i: int) -> int:
    """The number of players, 1-4."""
    return int(states[i]["num_players"])


@kernel
def outcome(states: States, i: int, player: int) -> float:
    """A player's reward at the end of a game of several players.

    The winners share a prize of 1 equally. The shares are scaled so that a sole winner gets 1 and the rewards
    of all ``n`` players add up to 0; who has no share gets ``-1 / (n - 1)``. Two players who tie get 0 each.
    """
    number, winners, best = int(states[i]["num_players"]), 0, 0
    for other in range(number):
        best = max(best, engine.score(states, i, other))
    for other in range(number):
        winners += engine.score(states, i, other) == best
    share = 1.0 / winners if engine.score(states, i, player) == best else 0.0
    return (number * share - 1.0) / (number - 1.0)


@kernel
def write_mask(states: States, i: int, maps: engine.LegalSet, count: int, mask: npt.NDArray[np.int8]) -> None:
    """Writes a legal set as an action mask."""
    engine.write_mask(maps, mask)


RULES = Rules(
    name="nmbr9",
    title="NMBR 9",
    module=__name__,
    game=Game,
    dtype=STATE,
    kernels=Kernels(
        legal_shape=(engine.NUM_MAPS, TABLE_SIZE),
        max_players=MAX_PLAYERS,
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
        redraw=engine.redraw,
    ),
    num_actions=NUM_ACTIONS,
    max_legal_actions=NUM_ACTIONS,
    layout=LAYOUT,
    upper_bounds=UPPER_BOUNDS,
    set_up=set_up,
    pictures_module="patchwork_env.nmbr9.render",
    options={
        "players": 1,
        "order": "unknown",
        "max_digit": NUM_DIGITS - 1,
        "copies": COPIES,
        "deck_size": None,
        "deck": None,
    },
    reset_options=("deck",),
    turn_options={"players": 2},
    is_simultaneous=True,
)

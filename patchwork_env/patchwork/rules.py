"""The rules of Patchwork in the form that code without knowledge of the game uses, and their options.

Checks of options raise ValueError with the offending value and what is allowed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from patchwork_env.core.checks import as_integers, check_between, check_one_of
from patchwork_env.core.game import Rules, SetUp
from patchwork_env.core.names import short_repr
from patchwork_env.patchwork import engine, observation, validity
from patchwork_env.patchwork.actions import NUM_ACTIONS
from patchwork_env.patchwork.components import NUM_PATCHES, NUM_PLAYERS, START_PATCH, VARIANTS
from patchwork_env.patchwork.state import NOBODY, STATE, empty_states


def set_up(options: Mapping[str, Any], reset_options: Mapping[str, Any]) -> SetUp:
    """How games begin; see :class:`~patchwork_env.core.game.Rules`."""
    chosen = {**options, **reset_options}
    first_player, circle = check_first_player(chosen["first_player"]), chosen.get("circle")
    states, flags = empty_states(1), 0
    if first_player == NOBODY:
        first_player, flags = 0, engine.RANDOM_FIRST_PLAYER
    engine.new(states, 0, check_variant(chosen["special_patches"]), first_player)
    if circle is not None:
        states["circle"][0, :NUM_PATCHES] = check_circle(circle)
        flags |= engine.GIVEN_CIRCLE
    return SetUp(states, flags, NUM_PLAYERS)


def check_player(player: Any, what: str = "player") -> int:
    """A player's number, 0 or 1."""
    return check_between(player, 0, NUM_PLAYERS - 1, what)


def check_variant(special_patches: Any) -> int:
    """The index in ``VARIANTS`` of a print of the time track."""
    return VARIANTS.index(check_one_of(special_patches, VARIANTS, "special_patches"))


def check_first_player(first_player: Any) -> int:
    """The number of the player who starts, 0 or 1; ``NOBODY`` for ``"random"``."""
    if isinstance(first_player, str):
        check_one_of(first_player, ("random",), "first_player, if not 0 or 1,")
        return NOBODY
    return check_player(first_player, "first_player")


def check_circle(circle: Iterable[Any]) -> list[int]:
    """The patches of a circle, which must hold each patch once and the 1x2 patch last."""
    patches = as_integers(circle, "circle", "a patch in the circle")
    if sorted(patches) != list(range(NUM_PATCHES)):
        wrong = short_repr(sorted(set(patches) ^ set(range(NUM_PATCHES))))
        raise ValueError(
            f"the circle has {len(patches)} patches; it must hold each of 0 to {NUM_PATCHES - 1} once, "
            f"and these are unknown or missing: {wrong}"
        )
    if patches[-1] != START_PATCH:
        last = f"the circle ends in patch {patches[-1]}"
        raise ValueError(f"{last}; it must end in patch {START_PATCH}, the 1x2 patch")
    return patches


RULES = Rules(
    name="patchwork",
    title="Patchwork",
    module="patchwork_env.patchwork",
    engine=(engine, observation),
    dtype=STATE,
    max_players=NUM_PLAYERS,
    num_actions=NUM_ACTIONS,
    max_legal_actions=engine.MAX_LEGAL_ACTIONS,
    legal_shape=(2, engine.NUM_MAPS),
    layout=observation.LAYOUT,
    set_up=set_up,
    options={"special_patches": "revised", "first_player": 0},
    reset_options=("circle", "first_player"),
    magic=b"PTCH",
    find_contradiction=validity.find_contradiction,
    limits=validity.limits,
)

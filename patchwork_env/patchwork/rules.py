"""``RULES`` of Patchwork: its options, its facts for general code, and the validation of records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from patchwork_env.core.checks import as_integers, check_between, check_one_of
from patchwork_env.core.names import short_repr
from patchwork_env.core.rules import Rules, SetUp
from patchwork_env.core.storage import Limits
from patchwork_env.patchwork import engine, observation, tables
from patchwork_env.patchwork.actions import NUM_ACTIONS
from patchwork_env.patchwork.components import (
    LAST_SPACE,
    NUM_CELLS,
    NUM_PATCHES,
    NUM_PLAYERS,
    PATCHES,
    QUILT_SIZE,
    START_BUTTONS,
    START_PATCH,
    VARIANTS,
)
from patchwork_env.patchwork.state import NOBODY, STATE, States, empty_states


def set_up(options: Mapping[str, Any], reset_options: Mapping[str, Any]) -> SetUp:
    """Return the set-up of games; see :class:`~patchwork_env.core.rules.Rules`."""
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
    """Return a player's number, 0 or 1."""
    return check_between(player, 0, NUM_PLAYERS - 1, what)


def check_variant(special_patches: Any) -> int:
    """Return the index in ``VARIANTS`` of an edition of the time track."""
    return VARIANTS.index(check_one_of(special_patches, VARIANTS, "special_patches"))


def check_first_player(first_player: Any) -> int:
    """Return the player who starts, 0 or 1; ``NOBODY`` for ``"random"``."""
    if isinstance(first_player, str):
        check_one_of(first_player, ("random",), "first_player, if not 0 or 1,")
        return NOBODY
    return check_player(first_player, "first_player")


def check_circle(circle: Iterable[Any]) -> list[int]:
    """Return the patches of a circle, which must hold each patch once, the 1x2 patch last."""
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


# --- validation of records ----------------------------------------------------------------------------------


def limits(states: States) -> Limits:
    """Return the lowest and the highest value of each field except the incomes."""
    most = {"num_patches": NUM_PATCHES, "circle": NUM_PATCHES - 1, "quilt": tables.FULL_WORD}
    most |= {"current_player": 1, "pending_special": 1, "bonus_owner": NOBODY, "first_finisher": NOBODY}
    most |= {"variant": len(VARIANTS) - 1, "position": LAST_SPACE, "buttons": np.iinfo(np.int16).max}
    return {name: (0, highest) for name, highest in most.items()}


def find_contradiction(states: States) -> str | None:
    """Return the reason why the first record is not a state of a game; None if none is found."""
    checks = (_in_circle, _in_quilts, _in_turn, _in_totals, _in_buttons)
    return next((problem for check in checks for problem in check(states)), None)


def _in_circle(states: States) -> Iterator[str]:
    circle, number = states["circle"][0], states["num_patches"][0]
    left = circle[:number].tolist()
    if len(set(left)) != len(left):
        yield f"the circle {left} repeats a patch"
    if circle[number:].any():
        yield "there are patches after the end of the circle"


def _in_quilts(states: States) -> Iterator[str]:
    for player, (upper, lower) in enumerate(states["quilt"][0].tolist()):
        shared_rows = tables.WORD_ROWS - tables.SECOND_WORD_ROW
        if upper >> tables.SECOND_WORD_ROW * QUILT_SIZE != lower & ((1 << shared_rows * QUILT_SIZE) - 1):
            yield f"the two words of player {player}'s quilt disagree"
    owner = int(states["bonus_owner"][0])
    squares = [engine.has_square(states, 0, player) for player in range(NUM_PLAYERS)]
    if any(squares) if owner == NOBODY else not squares[owner]:
        yield f"the owner of the bonus tile is {owner} while completed squares are {squares}"


def _in_turn(states: States) -> Iterator[str]:
    record = states[0]
    positions, player = record["position"].tolist(), int(record["current_player"])
    first = int(record["first_finisher"])
    finished = [who for who in range(NUM_PLAYERS) if positions[who] == LAST_SPACE]
    if (first != NOBODY) != bool(finished) or (finished and first not in finished):
        yield f"the first to reach the end is {first} while the positions are {positions}"
    mine, other = positions[player], positions[1 - player]
    if record["pending_special"]:
        reached = tables.SPECIALS_UP_TO[record["variant"]]
        if reached[mine] <= reached[other] or not engine.empty_cells(states, 0, player):
            yield f"player {player} has no special patch to place at the positions {positions}"
    elif mine > other or (len(finished) == NUM_PLAYERS and player == first):
        yield f"player {player} is not to move at the positions {positions}"


def _bought(states: States) -> list[int]:
    left = states["circle"][0, : states["num_patches"][0]].tolist()
    return [patch for patch in range(NUM_PATCHES) if patch not in left]


def _in_totals(states: States) -> Iterator[str]:
    """Yield a problem unless the quilts hold exactly the bought patches and special patches."""
    record, bought = states[0], [PATCHES[patch] for patch in _bought(states)]
    incomes = sum(patch.income for patch in bought)
    if sum(record["income"].tolist()) != incomes:
        yield f"the incomes {record['income']} do not add up to the {incomes} of the patches bought"
    covered = [NUM_CELLS - engine.empty_cells(states, 0, player) for player in range(NUM_PLAYERS)]
    specials = sum(covered) - sum(patch.size for patch in bought)
    passed = tables.SPECIALS_UP_TO[record["variant"], record["position"].max()]
    taken = int(passed) - int(record["pending_special"])
    lowest = 0 if NUM_CELLS in covered else taken  # a full quilt discards special patches
    if not lowest <= specials <= taken:
        pieces = f"{len(bought)} patches and at most {taken} special patches"
        yield f"{sum(covered)} cells are covered by {pieces}"


def most_buttons(position: int, income: int) -> int:
    """Return the most buttons that a player can have on a space of the time track, with some income.

    They come from the start, from advancing, and from every income mark passed. No move leads beyond this
    bound, so buttons never exceed 5 + 53 + 9 * 38, for which records and observations have room.
    """
    return START_BUTTONS + int(position) + int(tables.INCOMES_UP_TO[position]) * int(income)


def _in_buttons(states: States) -> Iterator[str]:
    buttons = states["buttons"][0].tolist()
    most = list(map(most_buttons, states["position"][0], states["income"][0]))
    paid = sum(PATCHES[patch].buttons for patch in _bought(states))
    for player in range(NUM_PLAYERS):
        if buttons[player] > most[player]:
            yield f"player {player} has {buttons[player]} buttons; at most {most[player]} are possible"
    if sum(buttons) > sum(most) - paid:
        yield f"the buttons {buttons} are more than {sum(most)} less the {paid} paid for patches"


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
    find_contradiction=find_contradiction,
    limits=limits,
)

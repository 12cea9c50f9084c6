"""How a state is stored, and how a record is recognized that no game can reach."""

from __future__ import annotations

from typing import Any

import numpy as np

from patchwork_env.core.storage import out_of_range
from patchwork_env.patchwork import engine
from patchwork_env.patchwork.components import (
    LAST_SPACE,
    NUM_CELLS,
    NUM_PATCHES,
    NUM_PLAYERS,
    PATCHES,
    QUILT_SIZE,
    START_BUTTONS,
    VARIANTS,
)
from patchwork_env.patchwork.state import NOBODY, States
from patchwork_env.patchwork.tables import INCOMES_UP_TO, SECOND_WORD_ROW, SPECIALS_UP_TO, WORD_ROWS

_WORD_BITS = WORD_ROWS * QUILT_SIZE
_SECOND_WORD_SHIFT = SECOND_WORD_ROW * QUILT_SIZE


def find_contradiction(states: States) -> str | None:
    """Says why the first record cannot be a state of a game; None if nothing speaks against it."""
    record = states[0]
    return (
        _out_of_range(states)
        or _bad_circle(record)
        or _bad_quilts(states)
        or _bad_turn(states)
        or _bad_totals(states)
        or _too_many_buttons(record)
        or _bad_bonus(states)
    )


def find_out_of_range(states: States) -> str | None:
    """Says quickly which field of some records holds what no record does; None if none does."""
    slots = np.arange(states["circle"].shape[1])
    in_circle = np.where(slots < states["num_patches"][:, None], states["circle"], 0)
    problem = _out_of_range(states)
    if problem is None and (in_circle >= NUM_PATCHES).any():
        problem = f"the circle holds patch {in_circle.max()}, allowed are 0 to {NUM_PATCHES - 1}"
    if problem is None and (states["quilt"] >> np.uint64(_WORD_BITS)).any():
        problem = f"a word of a quilt has more than {_WORD_BITS} bits"
    return problem


def _out_of_range(states: States) -> str | None:
    most = {"num_patches": NUM_PATCHES, "current_player": 1, "pending_special": 1, "bonus_owner": NOBODY}
    most |= {"first_finisher": NOBODY, "variant": len(VARIANTS) - 1, "position": LAST_SPACE}
    limits = {name: (0, highest) for name, highest in most.items()}
    return out_of_range(states, limits | {"buttons": (0, np.iinfo(np.int16).max)})


def _bad_circle(record: Any) -> str | None:
    left = record["circle"][: record["num_patches"]].tolist()
    if len(set(left)) != len(left) or any(patch >= NUM_PATCHES for patch in left):
        return f"the circle {left} repeats a patch or holds one that does not exist"
    if record["circle"][record["num_patches"] :].any():
        return "there are patches behind the end of the circle"
    return None


def _bad_quilts(states: States) -> str | None:
    for player, (upper, lower) in enumerate(states[0]["quilt"].tolist()):
        shared = lower & ((1 << (_WORD_BITS - _SECOND_WORD_SHIFT)) - 1)
        if upper >> _WORD_BITS or lower >> _WORD_BITS or upper >> _SECOND_WORD_SHIFT != shared:
            return f"the two words of player {player}'s quilt disagree"
    return None


def _bad_totals(states: States) -> str | None:
    """The patches that left the circle must lie on the quilts, with nothing else than special patches."""
    record = states[0]
    left = set(record["circle"][: record["num_patches"]].tolist())
    bought = [patch for index, patch in enumerate(PATCHES) if index not in left]
    incomes = sum(patch.income for patch in bought)
    if int(record["income"][0]) + int(record["income"][1]) != incomes:
        return f"the incomes {record['income']} do not add up to the {incomes} of the patches bought"
    covered = [NUM_CELLS - engine.empty_cells(states, 0, player) for player in range(NUM_PLAYERS)]
    specials = sum(covered) - sum(patch.size for patch in bought)
    passed = SPECIALS_UP_TO[record["variant"], record["position"].max()]
    taken = int(passed) - int(record["pending_special"])
    lowest = 0 if NUM_CELLS in covered else taken  # a full quilt discards special patches
    if not lowest <= specials <= taken:
        pieces = f"{len(bought)} patches and at most {taken} special patches"
        return f"{sum(covered)} cells are covered by {pieces}"
    return None


def most_buttons(position: int, income: int) -> int:
    """The most buttons that a player can have on a space of the time track, with some income.

    They come from the start, from advancing by at most all spaces, and from every income mark passed. A state
    within these bounds leads only to states within them, so that buttons never exceed the number
    5 + 53 + 9 * 38 for which records and observations have room.
    """
    return START_BUTTONS + int(position) + int(INCOMES_UP_TO[position]) * int(income)


def _too_many_buttons(record: Any) -> str | None:
    most = [most_buttons(*pair) for pair in zip(record["position"], record["income"], strict=True)]
    left = record["circle"][: record["num_patches"]].tolist()
    paid = sum(patch.buttons for index, patch in enumerate(PATCHES) if index not in left)
    buttons = record["buttons"].tolist()
    for player in range(NUM_PLAYERS):
        if buttons[player] > most[player]:
            return f"player {player} has {buttons[player]} buttons, of which at most {most[player]} can be"
    if sum(buttons) > sum(most) - paid:
        return f"the buttons {buttons} are more than {sum(most)} less the {paid} paid for patches"
    return None


def _bad_bonus(states: States) -> str | None:
    owner = int(states[0]["bonus_owner"])
    squares = [engine.has_square(states, 0, player) for player in range(NUM_PLAYERS)]
    if (owner == NOBODY and any(squares)) or (owner != NOBODY and not squares[owner]):
        return f"the owner of the bonus tile is {owner} while completed squares are {squares}"
    return None


def _bad_turn(states: States) -> str | None:
    record = states[0]
    positions, player = record["position"].tolist(), int(record["current_player"])
    first = int(record["first_finisher"])
    finished = [who for who in range(NUM_PLAYERS) if positions[who] == LAST_SPACE]
    if (first != NOBODY) != bool(finished) or (finished and first not in finished):
        return f"the first to reach the end is {first} while the positions are {positions}"
    mine, other = positions[player], positions[1 - player]
    if record["pending_special"]:
        reached = SPECIALS_UP_TO[record["variant"]]
        if reached[mine] <= reached[other] or not engine.empty_cells(states, 0, player):
            return f"player {player} has no special patch to place at the positions {positions}"
    elif mine > other or (len(finished) == NUM_PLAYERS and player == first):
        return f"player {player} is not to move at the positions {positions}"
    return None

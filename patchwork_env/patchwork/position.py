"""Positions as the fields of a line of text, which :mod:`~patchwork_env.patchwork.notation` describes."""

from __future__ import annotations

from collections.abc import Mapping

from patchwork_env.core.checks import check_between
from patchwork_env.core.names import short_repr
from patchwork_env.core.storage import numbers_text, parse_number, parse_numbers
from patchwork_env.patchwork.components import (
    LAST_SPACE,
    NUM_PATCHES,
    NUM_PLAYERS,
    QUILT_SIZE,
    VARIANTS,
)
from patchwork_env.patchwork.notation import parse_quilt, quilt_text
from patchwork_env.patchwork.rules import check_player, check_variant
from patchwork_env.patchwork.state import NOBODY, States, empty_states
from patchwork_env.patchwork.tables import FULL_WORD, SECOND_WORD_ROW

_NOBODY = "-"
_PAIRS = {"positions": ("position", LAST_SPACE), "buttons": ("buttons", 2**15 - 1)}
_PAIRS |= {"incomes": ("income", 2**8 - 1)}
"""The fields of two numbers, each with its name in the record and the highest number that fits there."""
_OWNERS = ("bonus_owner", "first_finisher")


def quilt_bits(states: States, player: int) -> int:
    """A quilt of the first record as an integer, whose bit ``9 * row + column`` is set for a covered cell."""
    upper, lower = states["quilt"][0, player].tolist()
    bits: int = upper | lower << SECOND_WORD_ROW * QUILT_SIZE
    return bits


def write_position(states: States) -> dict[str, str]:
    """The fields that describe the first record."""
    record = states[0]
    owners = {name: int(record[name]) for name in _OWNERS}
    return {
        "variant": VARIANTS[record["variant"]],
        "player": str(record["current_player"]),
        "pending_special": str(record["pending_special"]),
        **{field: numbers_text(record[name].tolist()) for field, (name, _) in _PAIRS.items()},
        **{name: _NOBODY if owner == NOBODY else str(owner) for name, owner in owners.items()},
        "quilts": ",".join(quilt_text(quilt_bits(states, player)) for player in range(NUM_PLAYERS)),
        "circle": numbers_text(record["circle"][: record["num_patches"]].tolist()),
    }


def read_position(fields: Mapping[str, str]) -> States:
    """An array of one record, still to be checked, for such fields; the inverse of :func:`write_position`.

    Raises:
        ValueError: A field has a value that it cannot have.
    """
    states = empty_states(1)
    states["variant"] = check_variant(fields["variant"])
    states["current_player"] = _read_player(fields["player"])
    states["pending_special"] = check_between(
        parse_number(fields["pending_special"]), 0, 1, "pending_special"
    )
    for field, (name, most) in _PAIRS.items():
        numbers = parse_numbers(fields[field])
        if len(numbers) != NUM_PLAYERS or max(numbers) > most:
            raise ValueError(f"{field} is {short_repr(fields[field])}; it needs two numbers of 0 to {most}")
        states[name] = numbers
    for name in _OWNERS:
        states[name] = NOBODY if fields[name] == _NOBODY else _read_player(fields[name])
    _read_quilts(fields["quilts"], states)
    _read_circle(fields["circle"], states)
    return states


def _read_player(text: str) -> int:
    return check_player(parse_number(text))


def _read_quilts(text: str, states: States) -> None:
    quilts = [parse_quilt(quilt) for quilt in text.split(",")]
    if len(quilts) != NUM_PLAYERS:
        raise ValueError(f"there are two quilts with a comma between them, not {len(quilts)}")
    for player, bits in enumerate(quilts):
        states["quilt"][0, player] = bits & int(FULL_WORD), bits >> SECOND_WORD_ROW * QUILT_SIZE


def _read_circle(text: str, states: States) -> None:
    circle = parse_numbers(text)
    if len(circle) > NUM_PATCHES or any(patch >= NUM_PATCHES for patch in circle):
        raise ValueError(f"the circle {short_repr(circle)} holds patches that do not exist")
    states["circle"][0, : len(circle)] = circle
    states["num_patches"] = len(circle)

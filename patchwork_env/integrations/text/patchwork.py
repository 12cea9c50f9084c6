"""Patchwork in words."""

from __future__ import annotations

import re
from collections.abc import Iterator

from patchwork_env.core.names import counted
from patchwork_env.core.polyomino import Cells, extent
from patchwork_env.integrations.text.view import Group, LegalMove, View, listed
from patchwork_env.patchwork.actions import ADVANCE, DISTINCT, FIRST_SPECIAL, ORIENTED, fits, placement
from patchwork_env.patchwork.components import (
    BONUS_POINTS,
    BONUS_SQUARE,
    INCOME_SPACES,
    LAST_SPACE,
    PATCHES,
    PENALTY_PER_EMPTY_CELL,
    QUILT_SIZE,
)
from patchwork_env.patchwork.game import Game
from patchwork_env.patchwork.notation import COLUMNS, move_text

_DETAILS = "'orientation 3', 'row 2', 'column d' and 'page 2'"
ADVANCING, SPECIAL = "advance", "special patch"
_FORMS = (
    "'+' to advance, '12/3@d5' to buy patch 12 and put it in orientation 3 at d5, '*d5' for a special patch"
)
_BUYING = re.compile("([0-9]+)/([0-9]+)@([a-i])([1-9])")
_WORD = re.compile(rf"{_BUYING.pattern}|\*[a-i][1-9]|\+")


def _rules(game: Game) -> str:
    size, square = f"{QUILT_SIZE}x{QUILT_SIZE}", f"{BONUS_SQUARE}x{BONUS_SQUARE}"
    return f"""\
Patchwork, for two players. Each has a quilt of {size} cells, columns a-i from the left and rows 1-9 from \
the top, and a token on a time track with the spaces 0-{LAST_SPACE}.
- The player who is further behind on the track moves; on a shared space, the one who came last. So a player \
may move several times in a row.
- A move is one of two. Advance: go to the space in front of the opponent's, and get a button for each \
space moved. Or buy one of the three offered patches: pay its buttons, put it on empty cells of your \
quilt, turned and flipped as you like, and go as many spaces as its time.
- The patches lie in a circle. After one is bought, the next three are offered.
- At each income space ({listed(INCOME_SPACES)}) that you reach or pass, you get as many buttons as the \
income on your quilt.
- The first player to reach or pass a special patch on the track places it at once: one cell, for free.
- The first player to cover a whole square of {square} cells has {BONUS_POINTS} points more.
- The game is over when both are on space {LAST_SPACE}. Your score is your buttons, {BONUS_POINTS} for the \
square, and {PENALTY_PER_EMPTY_CELL} less for each empty cell. The higher score wins; on equal scores, \
that of the player who was first on space {LAST_SPACE}.
Moves: {_FORMS}.
The cell is that of the top-left corner of the patch's bounding box. Orientation 0 is as drawn; 1, 2 and 3 \
are 1, 2 and 3 quarter turns clockwise; 4 to 7 are the same after a left-right flip."""


def _situation(game: Game, player: int) -> Iterator[str]:
    for owner in (player, 1 - player):
        name = "You" if owner == player else f"Player {owner}"
        ahead = next((space for space in INCOME_SPACES if space > game.positions[owner]), None)
        income = f"next income at {ahead}" if ahead else "no income to come"
        buttons = counted(game.buttons[owner], "button")
        yield f"{name}: space {game.positions[owner]} of {LAST_SPACE}, {income}, {buttons}."
    yield f"Special patches still on the track: {listed(game.special_spaces)}."
    if game.pending_special and not game.is_over:
        yield "A special patch must be placed now, on any empty cell."


def _groups(game: Game) -> tuple[Group, ...]:
    choices: dict[str, list[LegalMove]] = {}
    offered = game.offered
    for action in game.legal_actions().tolist():
        choice = _choice(action, offered)
        choices.setdefault(choice.group, []).append(choice)
    if game.pending_special:
        return tuple(Group(SPECIAL, "on any empty cell", tuple(of_it)) for of_it in choices.values())
    groups = [Group(ADVANCING, _gain(game), tuple(choices[ADVANCING]))] if ADVANCING in choices else []
    for patch in () if game.is_over else offered:
        name = _name(patch)
        of_it = tuple(choices.get(name, ()))
        groups.append(
            Group(name, _price(patch) + ("" if of_it else f"; {_why_not_bought(game, patch)}"), of_it)
        )
    return tuple(groups)


def _choice(action: int, offered: tuple[int, ...]) -> LegalMove:
    word = move_text(action, offered)
    if action == ADVANCE:
        return LegalMove(action, word, ADVANCING)
    if action >= FIRST_SPECIAL:
        return LegalMove(action, word, SPECIAL, 0, word[2], word[1])
    slot, orientation, _, _ = placement(action)
    return LegalMove(action, word, _name(offered[slot]), orientation, word[-1], word[-2])


def _gain(game: Game) -> str:
    after, player = game.clone(), game.current_player
    after.play(ADVANCE)
    gained = after.buttons[player] - game.buttons[player]
    return f"to space {after.positions[player]}, for {counted(gained, 'button')}"


def _price(patch: int) -> str:
    cells, buttons, time, income = PATCHES[patch]
    return f"{counted(buttons, 'button')}, {time} time, {income} income, {counted(len(cells), 'cell')}"


def _why_not_bought(game: Game, patch: int) -> str:
    buttons = game.buttons[game.current_player]
    return (
        f"too expensive, you have {buttons}"
        if PATCHES[patch].buttons > buttons
        else "there is no room for it"
    )


def _name(patch: int) -> str:
    return f"patch {patch}"


def _shapes(piece: str) -> tuple[Cells, ...]:
    found = re.fullmatch("patch ([0-9]{1,2})", piece)
    return ORIENTED[int(found[1])] if found and int(found[1]) < len(PATCHES) else ()


def _why_not(game: Game, word: str) -> str:
    if game.pending_special:
        if word.startswith("*"):
            return f"the cell {word[1:]} is covered"
        return "a special patch must be placed first, such as '*d5'"
    if word.startswith("*"):
        return "there is no special patch to place now"
    patch, orientation, column, row = _BUYING.fullmatch(word).groups()  # type: ignore[union-attr]
    if len(patch) > 9 or int(patch) not in game.offered:  # the notation allows 9 digits
        return f"patch {patch[:3]} is not offered; the offered patches are {listed(game.offered)}"
    if len(orientation) > 1 or int(orientation) not in DISTINCT[int(patch)]:
        return f"there is no orientation {orientation[:2]}; orientations are {listed(DISTINCT[int(patch)])}"
    if PATCHES[int(patch)].buttons > game.buttons[game.current_player]:
        return (
            f"patch {patch} is {_why_not_bought(game, int(patch))} of {PATCHES[int(patch)].buttons} buttons"
        )
    return _why_no_room(game, DISTINCT[int(patch)][int(orientation)], int(row) - 1, COLUMNS.index(column))


def _why_no_room(game: Game, cells: Cells, row: int, column: int) -> str:
    height, width = extent(cells)
    if not fits(cells, row, column):
        return f"it is {height} high and {width} wide, and would leave the quilt"
    quilt = game.quilt(game.current_player)
    covered = [f"{COLUMNS[column + c]}{row + r + 1}" for r, c in cells if quilt[row + r, column + c]]
    return f"it would cover {listed(covered)}, which {'is' if len(covered) == 1 else 'are'} covered already"


VIEW = View(
    *(_rules, _situation, lambda game, player: str(game), _groups, _shapes),
    *("patch", _DETAILS, _WORD, _why_not, _FORMS),
)

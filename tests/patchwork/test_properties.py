"""What holds in every game, whatever is played."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchwork_env.patchwork import PATCHES, Game
from patchwork_env.patchwork.components import INCOME_SPACES, SPECIAL_SPACES
from tests.patchwork.naive import BONUS_SQUARES, Cell
from tests.patchwork.strategies import MOST_TURNS, STYLES, games, random_action, set_ups

SEEDS = st.integers(0, 2**32 - 1)


def covered(game: Game, player: int) -> set[Cell]:
    return {(int(row), int(column)) for row, column in np.argwhere(game.quilt(player))}


def turns(game: Game, seed: int, style: str) -> Iterator[tuple[Game, int, Game]]:
    """Plays a game to its end; yields each turn as the game before, the action, and the game after."""
    rng = random.Random(seed)
    while not game.is_over:
        before = game.clone()
        action = random_action(game, rng, style)
        game.play(action)
        yield before, action, game


def marks_passed(marks: tuple[int, ...], before: Game, after: Game, player: int) -> int:
    return sum(before.positions[player] < mark <= after.positions[player] for mark in marks)


@pytest.mark.slow
@given(set_ups(), SEEDS, STYLES)
def test_cells_are_conserved(game: Game, seed: int, style: str) -> None:
    specials = 0
    for before, action, after in turns(game, seed, style):
        player, move = before.current_player, before.decode(action)
        assert not move.cells & covered(before, player)
        assert covered(after, player) == covered(before, player) | move.cells
        assert covered(after, 1 - player) == covered(before, 1 - player)
        bought = set(range(33)) - set(after.circle)
        specials += move.kind == "special"
        patches = sum(PATCHES[patch].size for patch in bought)
        assert len(covered(after, 0)) + len(covered(after, 1)) == patches + specials
        assert set(before.circle) - set(after.circle) == ({move.patch} if move.kind == "buy" else set())


@given(set_ups(), SEEDS, STYLES)
def test_income_arithmetic(game: Game, seed: int, style: str) -> None:
    for before, action, after in turns(game, seed, style):
        player, move = before.current_player, before.decode(action)
        moved = after.positions[player] - before.positions[player]
        patch = PATCHES[move.patch] if move.patch is not None else None
        assert after.incomes[player] == before.incomes[player] + (patch.income if patch else 0)
        paid = patch.buttons if patch else 0
        received = moved if move.kind == "advance" else 0
        received += marks_passed(INCOME_SPACES, before, after, player) * after.incomes[player]
        assert after.buttons[player] == before.buttons[player] - paid + received >= 0
        assert after.buttons[1 - player] == before.buttons[1 - player]
        assert after.incomes[1 - player] == before.incomes[1 - player]


@given(set_ups(), SEEDS, STYLES)
def test_tokens_move_as_far_as_the_rules_say(game: Game, seed: int, style: str) -> None:
    for before, action, after in turns(game, seed, style):
        player, move = before.current_player, before.decode(action)
        start, other = before.positions[player], before.positions[1 - player]
        goal = {
            "advance": other + 1,
            "buy": start + (PATCHES[move.patch].time if move.patch is not None else 0),
            "special": start,
        }[move.kind]
        assert after.positions[player] == min(goal, 53)
        assert after.positions[1 - player] == other


@given(set_ups(), SEEDS, STYLES)
def test_turn_order(game: Game, seed: int, style: str) -> None:
    """Who is behind moves; on a shared space the last to arrive; a special patch comes before all."""
    for before, _, after in turns(game, seed, style):
        player = before.current_player
        if after.is_over:
            continue
        mine, other = after.positions[player], after.positions[1 - player]
        stays = after.pending_special or mine <= other
        assert after.current_player == (player if stays else 1 - player)


@given(set_ups(), SEEDS, STYLES)
def test_special_patches_are_placed_at_once(game: Game, seed: int, style: str) -> None:
    """The first to reach one takes it; the next action places it, costs nothing and moves nothing."""
    spaces = SPECIAL_SPACES[game.special_patches]
    for before, action, after in turns(game, seed, style):
        player = before.current_player
        furthest = max(before.positions)
        taken = [space for space in spaces if furthest < space <= after.positions[player]]
        assert len(taken) <= 1
        assert set(before.special_spaces) - set(after.special_spaces) == set(taken)
        assert after.pending_special == (bool(taken) and len(covered(after, player)) < 81)
        if before.pending_special:
            assert before.decode(action).kind == "special"
            assert len(before.legal_actions()) == 81 - len(covered(before, player))
            unmoved = ("positions", "buttons", "incomes", "circle", "special_spaces")
            assert all(getattr(before, name) == getattr(after, name) for name in unmoved)
        else:
            assert before.decode(action).kind != "special"


@given(set_ups(), SEEDS, STYLES)
def test_at_most_one_bonus_tile(game: Game, seed: int, style: str) -> None:
    """It goes at once to the first complete square, stays there, and is worth 7 points."""
    for before, _, after in turns(game, seed, style):
        player = before.current_player
        complete = any(square <= covered(after, player) for square in BONUS_SQUARES)
        expected = player if before.bonus_owner is None and complete else before.bonus_owner
        assert after.bonus_owner == expected
    for player in (0, 1):
        tile = 7 if game.bonus_owner == player else 0
        assert game.scores()[player] == game.buttons[player] + tile - 2 * (81 - len(covered(game, player)))


@given(set_ups(), SEEDS, STYLES)
def test_there_is_always_a_winner(game: Game, seed: int, style: str) -> None:
    first_to_finish = None
    for number, (before, _, after) in enumerate(turns(game, seed, style), 1):
        assert before.winner() is None
        assert number <= MOST_TURNS
        if first_to_finish is None and 53 in after.positions:
            first_to_finish = before.current_player
        assert after.first_finisher == first_to_finish
    first, second = game.scores()
    assert game.winner() == (first_to_finish if first == second else int(second > first))
    assert game.positions == (53, 53)
    assert not game.pending_special


# --- copies -----------------------------------------------------------------------------------------------


@given(games())
def test_layouts_show_the_pieces(game: Game) -> None:
    """Each cell shows the last move that covered it; pieces from before a stored state are unknown (34)."""
    expected = np.full((2, 9, 9), -1)
    again = Game.from_notation(game.notation().partition("\n")[0])
    for action in game.history:
        move = again.decode(action)
        for cell in move.cells:
            expected[again.current_player][cell] = 33 if move.patch is None else move.patch
        again.play(action)
    for player in (0, 1):
        assert (game.layout(player) == expected[player]).all()
        stored = Game.from_bytes(game.to_bytes()).layout(player)
        assert (stored == np.where(game.quilt(player), 34, -1)).all()


# --- notation ---------------------------------------------------------------------------------------------


@given(games(), st.data())
def test_damaged_notation_gives_value_error_or_another_game(game: Game, data: st.DataObject) -> None:
    text = game.notation()
    place = data.draw(st.integers(0, len(text) - 1))
    text = text[:place] + data.draw(st.characters()) + text[place + 1 :]
    try:
        again = Game.from_notation(text)
    except ValueError:
        return
    assert Game.from_notation(again.notation()) == again

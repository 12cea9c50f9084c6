"""The engine and the naive game side by side: comparisons, events, policies and made-up positions."""

from __future__ import annotations

import copy
import random
from collections import Counter

import numpy as np

from patchwork_env.patchwork import NUM_ACTIONS, Game, Move
from patchwork_env.patchwork.components import VARIANTS
from patchwork_env.patchwork.state import NOBODY, empty_states
from tests.patchwork.naive import (
    ALL_CELLS,
    FIRST_SPECIAL_ACTION,
    LAST_SPACE,
    PATCHES,
    SPECIAL_SPACES,
    NaiveGame,
)


def random_circle(rng):
    return [*rng.sample(range(1, 33), 32), 0]


def both(circle, first_player, variant):
    game = Game(circle=circle, first_player=first_player, special_patches=variant)
    return game, NaiveGame(list(circle), first_player, variant)


def assert_same(game, naive, moves):
    """Compare everything public except moves and layouts, see the functions below."""
    assert game.is_over == naive.is_over
    assert game.is_over or game.current_player == naive.current_player
    assert game.pending_special == naive.pending_special
    assert list(game.positions) == naive.positions
    assert list(game.buttons) == naive.buttons
    assert list(game.incomes) == naive.incomes
    assert list(game.circle) == naive.circle
    assert list(game.offered) == naive.circle[:3]
    assert list(game.special_spaces) == naive.special_spaces
    assert game.bonus_owner == naive.bonus_owner
    assert game.first_finisher == naive.first_finisher
    assert game.scores() == naive.scores()
    assert game.winner() == naive.winner()
    for player in (0, 1):
        rows, columns = np.nonzero(game.quilt(player))
        assert set(zip(rows.tolist(), columns.tolist(), strict=True)) == naive.quilts[player]
    legal = list(moves)
    assert game.legal_actions().tolist() == legal
    mask = game.action_mask()
    assert mask.dtype == np.int8
    assert mask.shape == (NUM_ACTIONS,)
    assert np.flatnonzero(mask).tolist() == legal
    assert mask.sum() == len(legal)


def assert_same_moves(game, naive, moves, actions):
    """Compare decoded and encoded legal actions."""
    for action in actions:
        kind = "buy" if action else "advance"
        if action >= FIRST_SPECIAL_ACTION:
            kind = "special"
        move = game.decode(action)
        assert move == Move(kind, naive.patch_of(action), moves[action])
        assert game.encode(move) == action


def assert_same_layouts(game, naive):
    """Compare the piece on each cell."""
    for player in (0, 1):
        layout = game.layout(player).tolist()
        for row, column in ALL_CELLS:
            assert layout[row][column] == naive.layouts[player].get((row, column), -1)


def game_at(naive, variant):
    """The engine's game at the position of a naive one, whether play can reach it or not."""
    states = empty_states(1)
    record = states[0]
    for player in (0, 1):
        for row, column in naive.quilts[player]:
            if row < 7:
                record["quilt"][player, 0] |= np.uint64(1 << (9 * row + column))
            if row >= 2:
                record["quilt"][player, 1] |= np.uint64(1 << (9 * (row - 2) + column))
    record["buttons"], record["position"], record["income"] = naive.buttons, naive.positions, naive.incomes
    record["circle"][: len(naive.circle)] = naive.circle
    record["num_patches"] = len(naive.circle)
    record["current_player"] = naive.current_player
    record["pending_special"] = naive.pending_special
    record["bonus_owner"] = NOBODY if naive.bonus_owner is None else naive.bonus_owner
    record["first_finisher"] = NOBODY if naive.first_finisher is None else naive.first_finisher
    record["variant"] = VARIANTS.index(variant)
    return Game.unchecked(states)


def play_out(game, naive, policy, rng):
    """Play both to the end, compare every state, and count the :func:`events`."""
    seen: Counter[str] = Counter()
    while True:
        moves = naive.legal_moves()
        assert_same(game, naive, moves)
        if naive.is_over:
            break
        action = policy(naive, moves, rng)
        assert_same_moves(game, naive, moves, [action])
        before = snapshot(naive)
        game.play(action)
        naive.play(action)
        seen.update(events(before, action, naive))
    if naive.scores()[0] == naive.scores()[1]:
        seen["tie"] += 1
    return seen


def replay(record):
    """Play a recorded game with both; after the end of the record both players advance."""
    actions = iter(record.actions)
    game, naive = both(record.circle, 0, "revised")

    def as_recorded(naive, moves, rng):
        action = next(actions, None)
        return always_advance(naive, moves, rng) if action is None else action

    return play_out(game, naive, as_recorded, random.Random(0))


def snapshot(naive):
    """A copy with the parts that :func:`events` reads; `copy.deepcopy` would make the tests slow."""
    twin = copy.copy(naive)
    twin.positions = list(naive.positions)
    twin.special_spaces = list(naive.special_spaces)
    twin.quilts = [set(quilt) for quilt in naive.quilts]
    return twin


def events(before, action, after):
    """The rare events of a move, from the positions before and after it."""
    player = before.current_player
    patch = before.patch_of(action)
    placed = "patch" if patch is not None else "special patch"
    found = {
        f"bonus tile by a {placed}": before.bonus_owner is None and after.bonus_owner is not None,
        "special patch discarded": len(before.special_spaces) > len(after.special_spaces)
        and not after.pending_special,
        "two patches left": len(after.circle) == 2,
        "full quilt": len(before.quilts[player]) < 81 == len(after.quilts[player]),
    }
    return [name for name, occurred in found.items() if occurred]


# --- policies ---------------------------------------------------------------------------------------------


def at_random(naive, moves, rng):
    return rng.choice(list(moves))


def always_advance(naive, moves, rng):
    return 0 if 0 in moves else rng.choice(list(moves))


def largest_patch(naive, moves, rng):
    return max(moves, key=lambda action: (len(moves[action]), rng.random()))


def least_time(naive, moves, rng):
    """The purchase that costs least time; advances only if no purchase is possible."""
    patches = {action: naive.patch_of(action) for action in moves}
    times = {action: 0 if patch is None else -PATCHES[patch][2] for action, patch in patches.items()}
    return max(moves, key=lambda action: (action > 0, times[action], rng.random()))


def tightest(naive, moves, rng):
    """The purchase whose edges touch most covered cells and borders, for each cell of the patch."""
    quilt = naive.quilts[naive.current_player]

    def contact(cells):
        around = [(r + dr, c + dc) for r, c in cells for dr, dc in ((0, 1), (1, 0), (0, -1), (-1, 0))]
        closed = sum(cell in quilt or cell not in ALL_CELLS for cell in around if cell not in cells)
        return closed / len(cells) + len(cells) / 2

    return max(moves, key=lambda action: (contact(moves[action]) if moves[action] else 0, rng.random()))


# --- positions that no game reaches, or hardly any --------------------------------------------------------


def crowded_position(rng):
    """A consistent, unreachable position near the end: few patches, nearly full quilts, many buttons."""
    variant = rng.choice(VARIANTS)
    naive = NaiveGame(rng.sample(range(33), rng.randrange(7)), 0, variant)
    behind = rng.randrange(2)
    naive.positions[behind] = rng.randrange(LAST_SPACE)
    naive.positions[1 - behind] = min(LAST_SPACE, naive.positions[behind] + rng.randrange(7))
    naive.last_mover = behind if naive.positions[0] == naive.positions[1] else 1 - behind
    if LAST_SPACE in naive.positions:
        naive.first_finisher = naive.positions.index(LAST_SPACE)
    naive.special_spaces = [space for space in SPECIAL_SPACES[variant] if space > max(naive.positions)]
    naive.buttons = [rng.randrange(40), rng.randrange(40)]
    naive.incomes = [rng.randrange(20), rng.randrange(20)]
    for quilt in naive.quilts:
        quilt |= ALL_CELLS - set(_a_hole(rng, rng.choice((0, 1, 2, 3, 5, 8, 12, 40))))
    complete = [player for player in (0, 1) if naive.has_square(player)]
    naive.bonus_owner = rng.choice(complete) if complete else None
    return naive, variant


def _a_hole(rng, size):
    """Connected cells, so that patches fit."""
    hole = [(rng.randrange(9), rng.randrange(9))]
    while len(hole) < size:
        row, column = rng.choice(hole)
        neighbors = {(row + 1, column), (row - 1, column), (row, column + 1), (row, column - 1)}
        hole += [cell for cell in [rng.choice(sorted(neighbors))] if cell in ALL_CELLS and cell not in hole]
    return hole[:size]

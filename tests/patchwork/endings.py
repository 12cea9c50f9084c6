"""Endings for tests, their exact values by plain minimax, and policies that lead to endings."""

import numpy as np

from patchwork_env.patchwork import PATCHES, Game, engine
from patchwork_env.patchwork.state import empty_states

LAST_SPACE = 53


class TooLargeError(Exception):
    """An ending has more positions than a test has time for."""


def minimax(game, most=1000, known=None):
    """The margin of the player to move under best play, and 1 if this player finishes first, else -1.

    Raises:
        TooLargeError: There are more than ``most`` positions.
    """
    if game.is_over:
        own, other = game.scores()[game.current_player], game.scores()[1 - game.current_player]
        return own - other, 1 if game.first_finisher == game.current_player else -1
    known = {} if known is None else known
    key = game.state.tobytes()
    if key not in known:
        if len(known) >= most:
            raise TooLargeError
        known[key] = 0, 0  # counts as a position before its value is known
        known[key] = max(value_of(game, action, most, known) for action in game.legal_actions().tolist())
    return known[key]


def value_of(game, action, most=1000, known=None):
    """The value of an action for the player who takes it."""
    following = game.clone()
    following.play(action)
    margin, first = minimax(following, most, known)
    return (margin, first) if following.current_player == game.current_player else (-margin, -first)


def made_up_ending(rng):
    """A position near the end, of few small patches, often with a 7x7 square that lacks few cells."""
    states = empty_states(1)
    engine.new(states, 0, rng.randrange(2), rng.randrange(2))
    small = [k for k, patch in enumerate(PATCHES) if patch.size <= 5]
    circle = rng.sample(small, rng.randrange(5))
    states[0]["num_patches"] = len(circle)
    states[0]["circle"] = 0
    states[0]["circle"][: len(circle)] = circle
    positions = [rng.randint(44, LAST_SPACE - 1), rng.randint(44, LAST_SPACE)]
    if rng.random() < 0.5:
        positions.reverse()
    states[0]["position"] = positions
    if positions[0] != positions[1]:
        states[0]["current_player"] = int(np.argmin(positions))
    if LAST_SPACE in positions:
        states[0]["first_finisher"] = positions.index(LAST_SPACE)
    for player in range(2):
        states[0]["buttons"][player] = rng.randrange(9)
        states[0]["income"][player] = rng.randrange(12)
        _cover(states, player, rng)
    squares = [engine.has_square(states, 0, player) for player in range(2)]
    if any(squares):
        states[0]["bonus_owner"] = squares.index(True)
    elif rng.random() < 0.3:
        states[0]["bonus_owner"] = rng.randrange(2)
    mover = states[0]["current_player"]
    if rng.random() < 0.2 and engine.empty_cells(states, 0, mover):
        states[0]["pending_special"] = 1
    return Game.unchecked(states)


def _cover(states, player, rng):
    """Cover a random part of a quilt."""
    rows, columns = np.indices((9, 9))
    covered = np.array([rng.random() < 0.8 for _ in range(81)]).reshape(9, 9)
    if rng.random() < 0.7:
        top, left = rng.randrange(3), rng.randrange(3)
        square = (rows >= top) & (rows < top + 7) & (columns >= left) & (columns < left + 7)
        holes = rng.sample([tuple(cell) for cell in np.argwhere(square)], rng.randint(1, 4))
        start = rng.choice(holes)
        holes += [
            (start[0] + down, start[1] + right) for down, right in ((0, 1), (1, 0)) if rng.random() < 0.7
        ]
        covered |= square
        for row, column in holes:
            if row < 9 and column < 9:
                covered[row, column] = False
    bits = sum(1 << int(cell) for cell in np.flatnonzero(covered))
    states[0]["quilt"][player] = bits & (1 << 63) - 1, bits >> 18


def random_action(game, rng, style="any"):
    """A legal action: any, one that buys if possible, or for ``"packs"`` one near the top-left corner."""
    actions = game.legal_actions().tolist()
    if style == "any" or len(actions) == 1:
        return rng.choice(actions)
    purchases = actions[1:]
    if style == "packs":
        nearest = min(map(_steps_from_corner, purchases))
        purchases = [action for action in purchases if _steps_from_corner(action) == nearest]
    return rng.choice(purchases)


def _steps_from_corner(action):
    return sum(divmod((action - 1) % 81, 9))

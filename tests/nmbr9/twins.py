"""The engine and naive tables side by side."""

import numpy as np

from patchwork_env.nmbr9 import NUM_ACTIONS, Move
from tests.nmbr9.naive import NaiveTable


def at_random(moves, rng):
    return rng.choice(list(moves))


def as_high_as_possible(moves, rng):
    return max(moves, key=lambda move: (moves[move].level, rng.random()))


def compact(moves, rng):
    """Close to the first tile, on the table itself half of the time."""
    low = rng.random() < 0.5
    return min(
        moves,
        key=lambda move: (low and moves[move].level > 0, abs(move.row) + abs(move.column), rng.random()),
    )


def corner(game, player):
    """The row and column of the top-left corner of the first tile on a table."""
    cells = game.placements(player)[0].cells
    return min(row for row, _ in cells), min(column for _, column in cells)


def shifted(tile, down, right):
    return Move(tile.digit, tile.level, frozenset((row + down, column + right) for row, column in tile.cells))


def as_actions(game, moves):
    """The naive moves by their actions in the engine."""
    player = game.current_player
    found = {}
    for move, tile in moves.items():
        if game.placements(player):
            down, right = corner(game, player)
        else:  # in the middle: as many rows and columns before the tile as after it, or one more
            height = 1 + max(row for row, _ in tile.cells)
            width = 1 + max(column for _, column in tile.cells)
            down, right = (67 - height) // 2, (67 - width) // 2
        action = move.orientation * 4096 + (move.row + down) * 64 + move.column + right
        found[action] = move, shifted(tile, down, right)
    return found


def assert_same(game, tables, moves):
    """Compare everything public; return the moves by legal action."""
    actions = as_actions(game, moves)
    assert game.legal_actions().tolist() == sorted(actions)
    mask = game.action_mask()
    assert mask.dtype == np.int8
    assert mask.shape == (NUM_ACTIONS,)
    assert np.flatnonzero(mask).tolist() == sorted(actions)
    assert mask.sum() == len(actions)
    for player, table in enumerate(tables):
        if table.tiles:
            down, right = corner(game, player)
            assert game.placements(player) == tuple(shifted(tile, down, right) for tile in table.tiles)
    assert game.scores() == tuple(table.score() for table in tables)
    return actions


def play_out(game, policy, rng):
    """Play a game to its end beside naive tables, and compare every state."""
    tables = [NaiveTable() for _ in range(game.num_players)]
    for turn in range(game.num_rounds * game.num_players):
        number, player = divmod(turn, game.num_players)
        assert not game.is_over
        assert (game.current_player, game.round) == (player, number)
        if game.order != "free":
            assert game.digit == game.deck[number]
        elif player == 0:
            chosen = [choose(game, table, rng) for table in tables]
            assert game.current_player == 0
        if game.order == "free":
            assert game.digit == chosen[player]
        moves = tables[player].legal_moves(game.digit)
        actions = assert_same(game, tables, moves)
        wanted = policy(moves, rng)
        action, move = next((a, engine) for a, (naive, engine) in actions.items() if naive == wanted)
        assert game.decode(action) == move
        assert game.encode(move) == game.parse_move(game.move_text(action)) == action
        game.play(action)
        tables[player].tiles.append(moves[wanted])
    assert game.is_over
    assert game.legal_actions().tolist() == []
    assert_same(game, tables, {})
    best = max(table.score() for table in tables)
    assert game.winners() == tuple(p for p, table in enumerate(tables) if table.score() == best)
    return tables


def choose(game, table, rng):
    """Choose a random tile for the current player among those left; return its digit."""
    left = list(game.deck)
    for tile in table.tiles:
        left.remove(tile.digit)
    assert game.digit is None
    assert game.legal_actions().tolist() == [16384 + digit for digit in sorted(set(left))]
    digit = rng.choice(left)
    assert game.decode(16384 + digit) == Move(digit)
    assert game.encode(Move(digit)) == 16384 + digit
    game.play(16384 + digit)
    return digit

"""Tables of all phases of the game, and naive counts on them."""

import numpy as np

from patchwork_env.agents.nmbr9 import greedy
from patchwork_env.nmbr9 import Game, engine

BESIDE = ((0, 1), (1, 0), (0, -1), (-1, 0))


def played(turns, **options):
    """Return a game in which each player has placed a number of tiles greedily."""
    game = Game(**options)
    while game.round < turns:
        game.play(greedy.choose_action(game.state, 0))
    return game


def positions(skills, orders=("unknown",), players=1):
    """Return all positions before the end; each skill is the share of greedy moves of a game, else random."""
    rng, found = np.random.default_rng(0), []
    for seed, skill in enumerate(skills):
        game = Game(seed=seed, order=orders[seed % len(orders)], players=1 + seed % players)
        while not game.is_over:
            found.append(game.clone())
            sensible, legal = rng.random() < skill, game.legal_actions()
            game.play(greedy.choose_action(game.state, 0) if sensible else int(rng.choice(legal)))
    return found


def with_digit(game, digit):
    """Return the same table with another tile in hand."""
    state = game.state.copy()
    state["num_rounds"], state["num_cards"] = 20, 20
    state["deck"][0, game.round] = digit
    return Game.from_state(state)


def levels_of(game):
    """Return the number of legal placements by level."""
    levels = [engine.level_of(game.state, 0, int(action)) for action in game.legal_actions()]
    return np.bincount(levels, minlength=engine.MAX_LEVELS + 2)


def contact_of(game, action):
    """Return the level of a placement, and the number of edges that it shares with tiles of this level."""
    move = game.decode(action)
    near = set().union(*(tile.cells for tile in game.placements(0) if tile.level == move.level))
    return move.level, sum((r + down, c + right) in near for r, c in move.cells for down, right in BESIDE)

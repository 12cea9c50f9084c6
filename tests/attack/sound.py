"""What must hold for an object that came of a mutated input: it plays to its end and can be stored."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.random import Generator

from patchwork_env.core.names import shorten
from patchwork_env.core.rules import Rules
from patchwork_env.errors import TableEdgeError


def refused_or(make: Any, given: Any, errors: Any = ValueError) -> Any:
    """What ``make(given)`` returns; None if it refuses that with one of ``errors`` and few words."""
    try:
        return make(given)
    except errors as error:
        message = str(error)
        assert message, f"{shorten(given)} was refused without a message"
        assert len(message) < 2000, f"{shorten(given)} gave a message of {len(message)} characters"
        return None


def play(rules: Rules, game: Any, random: Generator, moves: int | None = None) -> None:
    """Plays random moves until the game is over or cut off, or so many."""
    while not game.is_over and moves != 0:
        try:
            game.play(random.choice(game.legal_actions()))
        except TableEdgeError:
            return
        moves = None if moves is None else moves - 1


def require_sound(rules: Rules, game: Any, random: Generator) -> None:
    """Plays a game from a few moves on to its end, and checks it before, between and after.

    Raises:
        AssertionError: Something about the game is inconsistent.
    """
    for moves in (0, int(random.integers(40)), None):
        play(rules, game, random, moves)
        _require_consistent(rules, game, random)


def _require_consistent(rules: Rules, game: Any, random: Generator) -> None:
    mask, legal = game.action_mask(), game.legal_actions()
    assert np.array_equal(np.flatnonzero(mask), legal), "mask and legal actions differ"
    assert game.is_over == (not len(legal)), "a game that is not over has legal actions"
    for player in range(game.num_players):
        observation = game.observation(player)
        assert ((observation >= 0) & (observation <= rules.upper_bounds)).all(), "observation out of bounds"
    for stored in (
        rules.game.from_bytes(game.to_bytes()),
        rules.game.from_position(game.position_text()),
        rules.game.from_notation(game.notation()),
    ):
        assert stored == game, "a game differs when it is read back"
    if len(legal):
        actions = random.choice(legal, 3)
        assert [game.encode(move) for move in game.decode_all(actions)] == actions.tolist()
        assert [game.parse_move(game.move_text(action)) for action in actions] == actions.tolist()
    repr(game), game.scores(), game.winners()


def started(rules: Rules, random: Generator, **options: Any) -> Any:
    """A random game after some random moves."""
    game = rules.game(seed=int(random.integers(2**63)), **options)
    play(rules, game, random, int(random.integers(60)))
    return game


def pick(random: Generator, options: Iterable[Any]) -> Any:
    """One of the options, whatever their types."""
    options = list(options)
    return options[random.integers(len(options))]

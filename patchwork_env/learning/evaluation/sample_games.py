"""The games that a match kept, as plain data and as pictures."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from patchwork_env.core.game import BaseGame
from patchwork_env.drawing.pixel_drawing import Frame
from patchwork_env.games import rules_of
from patchwork_env.learning.evaluation.results import MatchResult

_Game = TypeVar("_Game", bound=BaseGame[Any])

_WIDTH = 960
_SMALL = 3
"""The number of earlier positions, which are drawn in a row below the last one."""


def sample_games(result: MatchResult) -> list[dict[str, Any]]:
    """The games that a result kept, as plain data."""
    return [
        {
            "opponent": result.opponent,
            "players": list(players_of(result, i)),
            "scores": list(game.scores()),
            "winner": winner_of(game),
            "notation": game.notation(),
        }
        for i, game in enumerate(result.kept)
    ]


def winner_of(game: BaseGame[Any]) -> int | None:
    """The seat of the player who won a game that is over; None for a tie."""
    winners = game.winners()
    return winners[0] if len(winners) == 1 else None


def players_of(result: MatchResult, i: int) -> tuple[str, str]:
    """The names of the players of game ``i``, by seat."""
    agent, opponent = result.agent, result.opponent
    return (agent, opponent) if result.games.seats[i] == 0 else (opponent, agent)


def position_after(game: _Game, turns: int) -> _Game:
    """The game as it was after the first turns of its history: after none, some or all of them."""
    position = game.root()
    for action in game.history[:turns]:
        position.play(action)
    return position


def milestones(game: _Game, count: int) -> list[_Game]:
    """``count`` positions at even distances within the history, neither the first nor the last one."""
    turns = len(game.history)
    return [position_after(game, round((k + 1) * turns / (count + 1))) for k in range(count)]


def picture(game: BaseGame[Any], names: tuple[str, str]) -> Frame:
    """Draws the last position, 960 pixels wide, above three earlier ones, each 320 pixels wide.

    ``names`` are those of the players, by seat.

    Raises:
        MissingExtraError: Pillow is not installed.
    """
    draw = rules_of(game.state).pictures.rgb_array
    small = [draw(position, _WIDTH // _SMALL, names) for position in milestones(game, _SMALL)]
    return np.concatenate([draw(game, _WIDTH, names), np.concatenate(small, axis=1)])

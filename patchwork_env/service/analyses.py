"""Analyses as the page draws them: from the side of player 0, ready for JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from patchwork_env.agents import Agent
from patchwork_env.agents.analysis import (
    Analyst,
    IncrementalAnalyst,
    Line,
    ScoreLine,
    Scorer,
    without_luck,
    words_of,
)
from patchwork_env.core.game import BaseGame
from patchwork_env.core.names import short_repr

Entry = dict[str, Any]

_SEED = 0  # the seed of what is drawn in place of what the player to move cannot know


def analyses_of(game: BaseGame, agent: Agent, most: int) -> Iterator[Entry]:
    """Ever deeper analyses of a running game by an agent, of at most so many lines; the last is ``done``."""
    if not isinstance(agent, IncrementalAnalyst | Analyst):
        raise ValueError(
            f"agent {short_repr(agent.name)} cannot analyse; those can that search with a learned value, "
            "such as 'champion:analysis'"
        )
    game = game.determinize(_SEED)
    rounds: Iterable[Sequence[Any]] = (
        agent.deepen(game) if isinstance(agent, IncrementalAnalyst) else [agent.search(game)]
    )
    latest: Entry | None = None
    depth = 0
    for lines in rounds:
        depth = max(depth, sum(int(line.visits) for line in lines))
        shown = (
            _by_score(game, agent, lines[:most]) if isinstance(agent, Scorer) else _by_win(game, lines[:most])
        )
        latest = {"player": game.current_player, **shown, "depth": depth, "done": False}
        yield latest
    if latest is not None:
        yield {**latest, "done": True}


def _by_win(game: BaseGame, lines: Sequence[Line]) -> Entry:
    """What a search for two players found."""
    shown = [_line(game, line) for line in without_luck(lines)]
    return {"win": shown[0]["win"], "margin": shown[0]["margin"], "scores": None, "lines": shown}


def _line(game: BaseGame, line: Line) -> Entry:
    is_first = game.current_player == 0
    words, movers = words_of(game, line.variation), _movers(game, line.variation)
    return {
        "action": int(line.action),
        "word": words[0],
        "win": float(line.win if is_first else 1 - line.win),
        "margin": float(line.margin if is_first else -line.margin),
        "scores": None,
        "visits": int(line.visits),
        "exact": bool(line.exact),
        "line": list(words),
        "movers": movers,
    }


def _movers(game: BaseGame, actions: Sequence[int]) -> list[int]:
    """Who plays each move of a line."""
    position, movers = game.clone(), []
    for action in actions:
        movers.append(position.current_player)
        position.play(action)
    return movers


def _by_score(game: BaseGame, agent: Scorer, lines: Sequence[ScoreLine]) -> Entry:
    """What a search for points found; the other players may expect the same whatever is played."""
    expected = agent.expected_scores(game.public())
    shown = [_score_line(game, line, expected) for line in lines]
    return {"win": None, "margin": shown[0]["margin"], "scores": shown[0]["scores"], "lines": shown}


def _score_line(game: BaseGame, line: ScoreLine, expected: Sequence[float]) -> Entry:
    scores = [*expected]
    scores[game.current_player] = line.score
    word = game.move_text(line.action)
    return {
        "action": line.action,
        "word": word,
        "win": None,
        "margin": scores[0] - max(scores[1:]) if len(scores) > 1 else None,
        "scores": scores,
        "visits": line.visits,
        "exact": line.exact,
        "line": [word],
        "movers": [game.current_player],
    }

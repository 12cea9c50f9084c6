"""Odd answers of language models, and odd calls of the tools that they may use."""

from __future__ import annotations

import asyncio
from typing import Any

from numpy.random import Generator

from patchwork_env import games
from patchwork_env.core.game import BaseGame
from patchwork_env.errors import OpponentError
from patchwork_env.integrations.language_models import TextAgent
from patchwork_env.integrations.mcp.session import Session
from patchwork_env.integrations.mcp.tools import TOOLS
from patchwork_env.testing import check_position
from tests.attack.mutations import mutate_text, mutate_tree
from tests.attack.sound import SPECS, pick, require_message, started

BATCH = 20
_ANSWERS = (
    "<think>answer: +</think>\nanswer: placements of patch 12 row 3",
    "**Answer:** `12/0@a1`\n```\n+\n```",
    "answer: shapes of tile 7",
    "move: 7/3@-2,5.",
    "<thinking>" * 50 + "answer: *d5",
)
_DOCUMENTED = (ValueError, OpponentError, OSError, ImportError)


def answers(random: Generator) -> int:
    """Whatever a model answers, a legal action comes of it, and the counts agree."""
    rules = games.rules_of(pick(random, (games.PATCHWORK, games.NMBR9)))
    game = started(rules, random)
    if game.is_over:
        return 1
    asked = TextAgent(lambda prompt: _answer(game, random), retries=1, questions=2)
    before = game.to_bytes()
    for _ in range(BATCH // 2):
        assert asked.act(game) in game.legal_actions()
    assert game.to_bytes() == before
    usage = asked.usage
    legal = usage.decisions - usage.fallbacks
    assert usage.calls == legal + usage.questions + usage.illegal_answers, str(usage)
    assert usage.illegal_answers == usage.retries + usage.fallbacks, str(usage)
    return usage.calls


def _answer(game: BaseGame, random: Generator) -> str:
    known = game.move_text(random.choice(game.legal_actions()))
    return mutate_text(pick(random, (*_ANSWERS, known)), random, pick(random, (*_ANSWERS, known)))


def tool_calls(random: Generator) -> int:
    """Calls with odd, missing and exchanged arguments: an answer, or an error after which nothing changed."""
    return asyncio.run(_call_tools(random))


async def _call_tools(random: Generator) -> int:
    session = Session()
    for game in (games.PATCHWORK, games.NMBR9):
        await session.call("new_game", {"game": game, "opponent": "random", "seed": int(random.integers(9))})
    for _ in range(BATCH):
        tool, arguments = _template(session, random)
        if random.random() < 0.6:
            arguments = mutate_tree(arguments, random) or {}
        if not isinstance(arguments, dict):  # which no message of the protocol can hold
            arguments = {}
        if tool == "analyse":  # which would think for longer otherwise
            arguments |= {"agent": pick(random, SPECS[2:4]), "seconds": 0.01}
        await _require_answer(session, tool, arguments, random)
    return BATCH


def _template(session: Session, random: Generator) -> tuple[str, dict[str, Any]]:
    """A tool with arguments that are as they must be, or nearly."""
    game_id = pick(random, ("patchwork-1", "nmbr9-2", "patchwork-3"))
    own = {"game_id": game_id, "move": _word(session, game_id, random)}
    new = {"game": pick(random, games.GAMES), "opponent": pick(random, (*SPECS, None)), "seat": 1, "seed": 7}
    more = {"variant": "2014", "players": 2, "order": "free", "notation": "patchwork/1 state=00"}
    where = {"group": "patch 12", "piece": "patch 12", "orientation": 1, "row": 3, "column": "d"}
    where |= {"level": 0, "page": 1}
    values = own | new | more | where | {"agent": pick(random, (*SPECS, None)), "lines": 3, "seconds": 0.01}
    tool = TOOLS[name := pick(random, TOOLS)]
    given = [key for key in tool.allowed if random.random() < 0.4]
    return name, {key: values[key] for key in (*tool.needed, *given)}


def _word(session: Session, game_id: str, random: Generator) -> str:
    """A legal move of a game, if there is one."""
    try:
        game = session.game(game_id)
    except ValueError:
        return "+"
    return "+" if game.is_over else game.move_text(random.choice(game.legal_actions()))


async def _require_answer(session: Session, tool: str, arguments: dict[str, Any], random: Generator) -> None:
    before = _held(session)
    try:
        assert (await session.call(tool, arguments)).strip(), "the answer says nothing"
    except _DOCUMENTED as error:
        require_message(error)
        assert _held(session) == before, f"a refused call of {tool} changed a game"
    for name, game in _held(session).items():
        if before.get(name) != game:
            check_position(game)


def _held(session: Session) -> dict[str, BaseGame]:
    return {name: table.game for name, table in session._tables.items()}


ATTACKS = {"model_answers": answers, "tool_calls": tool_calls}

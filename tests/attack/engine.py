"""Mutated queries to the engine, and answers of a program that is an agent: sound answers, or one error."""

from __future__ import annotations

import io
import json
from collections import deque
from typing import Any

from numpy.random import Generator

from patchwork_env import games
from patchwork_env.agents.program import ProgramAgent
from patchwork_env.errors import OpponentError
from patchwork_env.protocol.client import _Inbox
from patchwork_env.protocol.command import serve
from patchwork_env.protocol.engine import Engine
from patchwork_env.protocol.queries import NEEDED
from patchwork_env.service.players import Players
from patchwork_env.testing import check_position
from tests.attack.mutations import mutate_bytes, mutate_text, mutate_tree
from tests.attack.sound import SPECS, pick, refused_or, require_message, started

BATCH = 40


def queries(random: Generator) -> int:
    """Lines with queries of every method, one after the other in one stream, with odd fields and bytes."""
    templates = [_template(method, random) for method in NEEDED]
    lines = []
    for number in range(BATCH):
        query = _changed(pick(random, templates), pick(random, templates), random)
        if isinstance(query, dict) and random.random() < 0.8:
            query = {**query, "id": str(number)}
        line = json.dumps(query).encode()
        lines.append(mutate_bytes(line, random).replace(b"\n", b" ") if random.random() < 0.1 else line)
    answers = io.BytesIO()
    players = Players()
    assert serve(io.BytesIO(b"\n".join(lines)), answers, lambda send: Engine(players, send, threads=2))
    for line in answers.getvalue().splitlines():
        _require_answer(json.loads(line), random)
    return BATCH


def _changed(query: dict[str, Any], other: dict[str, Any], random: Generator) -> Any:
    """A query with odd values, those of another query, or another notation; its budget stays small."""
    kind = random.integers(3)
    if kind == 0:
        changed = mutate_tree(query, random)
    elif kind == 1 and "notation" in query:
        changed = {**query, "notation": mutate_text(query["notation"], random, other.get("notation", ""))}
    else:
        changed = query | {key: other[key] for key in sorted(query.keys() & other.keys()) if key != "method"}
    if isinstance(changed, dict) and changed.get("method") in ("choose", "analyse"):
        changed = {**changed, "time_limit": 5, "agent": query.get("agent", "greedy")}
        for name in ("nodes", "seconds", "simulations", "level"):
            changed.pop(name, None)
    return changed


def _template(method: str, random: Generator) -> dict[str, Any]:
    rules = games.rules_of(pick(random, (games.PATCHWORK, games.NMBR9)))
    game = started(rules, random)
    query: dict[str, Any] = {"id": "t", "method": method}
    if method in ("query_agents", "query_components"):
        return {**query, "game": rules.name}
    if method.startswith(("query", "terminate")):
        return {**query, **({"terminate_id": "3", "plies": [0]} if method == "terminate" else {})}
    legal = game.legal_actions().tolist()
    about = pick(
        random,
        (
            {"notation": game.notation(), "plies": [game.num_moves, 0] if game.num_moves else [0]},
            {"game": rules.name, "state": game.to_bytes().hex(), "moves": legal[:1]},
            {"game": rules.name, "options": {"seed": 3}, "moves": ["+"], "plies": [0]},
        ),
    )
    asked = {"agent": pick(random, SPECS), "priority": 2} if method in ("choose", "analyse") else {}
    more = {"choose": {"seed": 3}, "analyse": {"lines": 2, "report_every": 0.001}}.get(method, {})
    return {**query, **about, **asked, **more}


def _require_answer(answer: dict[str, Any], random: Generator) -> None:
    if "error" in answer:
        require_message(ValueError(answer["error"]))
    elif "position" in answer:
        rules = games.rules_of(answer["position"]["game"])
        game = rules.game.from_notation(answer["notation"])
        check_position(game)
        assert game == rules.game.from_bytes(bytes.fromhex(answer["state"]))
    else:
        assert isinstance(answer["id"], str)
        assert "warning" in answer or "done" in answer or "terminated" in answer or len(answer) > 1


def programs(random: Generator) -> int:
    """What a program might write, as a client sorts it in: a legal move, or one error."""
    game = started(games.rules_of(pick(random, (games.PATCHWORK, games.NMBR9))), random)
    legal = game.legal_actions().tolist()
    if not legal:
        return 1
    agent, word = ProgramAgent("false"), game.move_text(pick(random, legal))
    for _ in range(BATCH):
        inbox = _Inbox(deque(maxlen=9))
        inbox.expect("1", 1)
        answers = (
            {"id": "1", "move": pick(random, (word, legal[0]))},
            {"id": "1", "done": False},
            {"error": "x"},
        )
        for _ in range(3):
            answer = mutate_tree(pick(random, answers), random)
            line = json.dumps(answer).encode()
            inbox.receive(mutate_bytes(line, random) if random.random() < 0.2 else line)
        action = refused_or(_action, agent, game, inbox, errors=(OpponentError,))
        assert action is None or action in legal
    return BATCH


def _action(agent: ProgramAgent, game: Any, inbox: _Inbox) -> int:
    """The action of the last answer, as the client and the agent read it."""
    waiting = inbox.asked["1"].answers
    while not waiting.empty():
        answer = waiting.get()
        if answer is None or "error" in answer:
            raise OpponentError(inbox.failure or "the program ended, or answered with an error")
        if answer.get("done", True):
            return agent._read(game, answer)
    raise OpponentError("no answer")


ATTACKS = {"engine_queries": queries, "engine_programs": programs}

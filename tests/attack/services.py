"""Mutated requests and answers: of the engine, language models, their tools and the page; specs of agents."""

from __future__ import annotations

import asyncio
import functools
import io
import json
from typing import Any

import numpy as np
import pytest

from patchwork_env import agents, games
from patchwork_env.errors import OpponentError
from patchwork_env.integrations.language_models import TextAgent
from patchwork_env.integrations.mcp.session import Session
from patchwork_env.protocol.command import serve
from patchwork_env.protocol.engine import Engine
from patchwork_env.protocol.queries import NEEDED
from patchwork_env.service.agents import AgentPool
from patchwork_env.testing import check_position
from tests.attack.mutations import ODD_TEXTS, mutate_bytes, mutate_text, mutate_tree
from tests.attack.sound import SPECS, pick, refused_or, require_message, started

BATCH = 40
_GAMES = (games.PATCHWORK, games.NMBR9)


# --- agents -------------------------------------------------------------------------------------------------

_SPECS = (
    *("random", "greedy", "mcts:simulations=400", "champion:level=fast,aim=score", "champion:fast", "uct"),
    *("runs/quick/final:simulations=64,sample=true", "policy.onnx:sample=true", "beam:width=8", "a/b/c"),
)


def specs(random):
    """Specs of agents: an agent, or an error that ``agents.load`` documents."""
    documented = (ValueError, FileNotFoundError)
    for _ in range(BATCH):
        spec = mutate_text(pick(random, _SPECS), random, pick(random, _SPECS))
        agent = refused_or(agents.load, spec, errors=documented)
        assert agent is None or isinstance(agent, agents.Agent)
        refused_or(agents.path_of, spec, errors=documented)


# --- the engine ---------------------------------------------------------------------------------------------


def engine_queries(random):
    """A stream of lines with queries of every method, with odd fields and bytes."""
    templates = [_query(method, random) for method in NEEDED]
    lines = []
    for number in range(BATCH):
        query = _changed(pick(random, templates), pick(random, templates), random)
        if isinstance(query, dict) and random.random() < 0.8:
            query = {**query, "id": str(number)}
        line = json.dumps(query).encode()
        lines.append(mutate_bytes(line, random).replace(b"\n", b" ") if random.random() < 0.1 else line)
    answers, players = io.BytesIO(), AgentPool()
    assert serve(io.BytesIO(b"\n".join(lines)), answers, lambda send: Engine(players, send, threads=2))
    for line in answers.getvalue().splitlines():
        _require_answer(json.loads(line))


def _changed(query, other, random):
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
    return changed


def _query(method, random):
    """A valid query."""
    rules = games.rules_of(pick(random, _GAMES))
    game = started(rules, random)
    query: dict[str, Any] = {"id": "t", "method": method}
    if method in ("query_agents", "query_components"):
        return {**query, "game": rules.name}
    if method.startswith(("query", "terminate")):
        return {**query, **({"terminate_id": "3"} if method == "terminate" else {})}
    abouts = (
        {"notation": game.notation(), "plies": [game.num_moves, 0] if game.num_moves else [0]},
        {"notation": game.notation(), "moves": game.legal_actions().tolist()[:1]},
        {"game": rules.name, "options": {"seed": 3}, "moves": ["+"], "plies": [0]},
    )
    asked = {"agent": pick(random, SPECS)} if method in ("choose", "analyse") else {}
    more = {"choose": {"seed": 3}, "analyse": {"lines": 2, "report_every": 0.001}}.get(method, {})
    return {**query, **pick(random, abouts), **asked, **more}


def _require_answer(answer):
    if "error" in answer:
        require_message(ValueError(answer["error"]))
    elif "position" in answer:
        rules = games.rules_of(answer["position"]["game"])
        game = rules.game.from_notation(answer["notation"])
        check_position(game)
    else:
        assert isinstance(answer["id"], str)
        assert "done" in answer or "terminated" in answer or len(answer) > 1


# --- language models ----------------------------------------------------------------------------------------

_ANSWERS = (
    "<think>answer: +</think>\nanswer: placements of patch 12 orientation 3 row 3 page 2",
    *("**Answer:** `12/0@a1`\n```\n+\n```", "Move: **12/3@d5**", "<answer>12/3@d5</answer><|im_end|>"),
    *("answer: shapes of tile 7", "move: 7/3@-2,5.", "<thinking>" * 50 + "answer: *d5"),
    '{"move": "7/3@-2,5", "reason": "\\boxed{+}"}',
)


def model_answers(random):
    """Odd answers of a model: the action must be legal, and the counts must agree."""
    game = started(games.rules_of(pick(random, _GAMES)), random)
    if game.is_over:
        return
    legal, before = game.legal_actions(), game.to_bytes()

    def answer(prompt):
        known = (*_ANSWERS, game.move_text(random.choice(legal)))
        return mutate_text(pick(random, known), random, pick(random, known))

    asked = TextAgent(answer, retries=1, questions=2)
    actions, usage = asked.act_and_count(np.repeat(game.state, BATCH // 4))
    assert np.isin(actions, legal).all()
    assert game.to_bytes() == before
    assert usage.calls == usage.decisions - usage.fallbacks + usage.questions + usage.illegal_answers, str(
        usage
    )
    assert usage.illegal_answers == usage.retries + usage.fallbacks, str(usage)


def tool_calls(random):
    """Calls with odd, missing and exchanged arguments: an answer, or an error that changes nothing."""
    asyncio.run(_call_tools(random))


async def _call_tools(random):
    session = Session()
    for game in _GAMES:
        await session.call("new_game", {"game": game, "opponent": "random", "seed": int(random.integers(9))})
    for _ in range(BATCH // 2):
        tool, arguments = _tool(session, random)
        if random.random() < 0.6:
            arguments = mutate_tree(arguments, random) or {}
        if not isinstance(arguments, dict):  # messages of the protocol hold objects only
            arguments = {}
        if tool == "analyse":  # would take longer otherwise
            arguments |= {"agent": pick(random, SPECS[2:4]), "seconds": 0.01}
        before = _held(session)
        try:
            assert (await session.call(tool, arguments)).strip(), "the answer says nothing"
        except (ValueError, OpponentError, OSError, ImportError) as error:
            require_message(error)
            assert _held(session) == before, f"a refused call of {tool} changed a game"
        for name, held in _held(session).items():
            if before.get(name) != held:
                check_position(held)


def _tool(session, random):
    """A tool with valid, or nearly valid, arguments."""
    name, game = pick(random, [*_held(session).items(), ("patchwork-9", None)])
    over = game is None or game.is_over
    values = {"game_id": name, "move": "+" if over else game.move_text(random.choice(game.legal_actions()))}
    values |= {
        "game": pick(random, games.GAMES),
        "opponent": pick(random, (*SPECS, None)),
        "seat": 1,
        "seed": 7,
    }
    values |= {"variant": "2014", "players": 2, "order": "free", "notation": "patchwork/1 state=00"}
    values |= {"request": "placements of patch 12 in row 3", "agent": pick(random, (*SPECS, None))}
    values |= {"lines": 3, "seconds": 0.01}
    schema = session.tools[name := pick(random, session.tools)].json_schema()
    given = [
        key for key in schema["properties"] if key in schema.get("required", ()) or random.random() < 0.4
    ]
    return name, {key: values[key] for key in given}


def _held(session):
    return {name: table.game for name, table in session._tables.items()}


# --- the page -----------------------------------------------------------------------------------------------


@functools.cache
def _page() -> Any:
    from tests.play.client import Client

    return Client()


def page_requests(random):
    """Requests with other methods, paths and headers: only files of the page, and only for the page."""
    pytest.importorskip("starlette")
    from patchwork_env.play.assembly import assembled
    from patchwork_env.play.server import PAGE
    from tests.play.client import HEADERS

    files = {path.read_bytes() for path in PAGE.rglob("*") if path.is_file()} | {assembled(PAGE).encode()}
    paths = ("/", "/js/main.js", "/index.html", "/api/open", "/js/../../command.py", "/%2e%2e/server.py")
    for _ in range(BATCH):
        path, method = (
            mutate_text(pick(random, paths), random),
            pick(random, ("GET", "POST", "HEAD", "PUT", "\0")),
        )
        name = pick(random, HEADERS)
        foreign = (*ODD_TEXTS, "http://evil.example", "evil.example:8053", mutate_text(HEADERS[name], random))
        given = HEADERS | {name: pick(random, foreign).encode("latin-1", "replace").decode("latin-1")}
        body = b'{"game": "patchwork", "seed": 1}' if method == "POST" else b""
        answer = _page().ask(path, body, method=method, headers=given)
        assert answer.status < 500, f"status {answer.status}: {answer.body[:200]!r}"
        if given[name] != HEADERS[name]:
            assert method != "POST" or name == "content-type" or answer.status == 403
            assert name != "host" or answer.status == 403
        if answer.status == 200 and method == "GET":
            assert answer.body in files, f"{path!r} gave {answer.body[:100]!r}"


ATTACKS = {
    attack.__name__: attack for attack in (specs, engine_queries, model_answers, tool_calls, page_requests)
}

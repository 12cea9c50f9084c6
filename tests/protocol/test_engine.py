"""The engine over streams: answers, errors, concurrent queries, and its end."""

from __future__ import annotations

import io
import itertools
import json
import os
import threading
from collections import defaultdict
from typing import Any

import pytest

from patchwork_env import __version__, agents, nmbr9, patchwork
from patchwork_env.core.messages import MOST_BYTES
from patchwork_env.protocol.command import serve
from patchwork_env.protocol.engine import Engine, Task
from patchwork_env.service import positions
from patchwork_env.service.agents import AgentPool
from patchwork_env.service.positions import components_of
from tests.play import odd_agents

ODD = "tests.play.odd_agents"
GAME = patchwork.Game(seed=7)
NEW = {"game": "patchwork", "options": {"seed": 7}}
hanging = odd_agents.hanging


class Answers(list[dict[str, Any]]):
    """The answers of an engine, with a method to wait for them."""

    def __init__(self):
        self.changed = threading.Condition()

    def __call__(self, answer):
        with self.changed:
            self.append(json.loads(json.dumps(answer)))
            self.changed.notify_all()

    def wait(self, number):
        with self.changed:
            assert self.changed.wait_for(lambda: len(self) >= number, 120), self
            return list(self)


def asked(*queries, trusted=(), **options):
    """Return all answers to some queries, in the order of their arrival."""
    text = "".join(json.dumps(query) + "\n" for query in queries)
    return answers_to(text.encode(), trusted, **options)


def answers_to(text, trusted=(), **options):
    answers = io.BytesIO()
    players = AgentPool(trusted, "--allow")
    assert serve(io.BytesIO(text), answers, lambda send: Engine(players, send, **options))
    return [json.loads(line) for line in answers.getvalue().splitlines()]


def only(*queries, **options):
    (answer,) = asked(*queries, **options)
    return answer


# --- queries ----------------------------------------------------------------------------------------------


def test_it_tells_of_itself():
    version, offered, components = asked(
        {"id": "a", "method": "query_version"},
        {"id": "b", "method": "query_agents", "game": "nmbr9"},
        {"id": "c", "method": "query_components", "game": "patchwork"},
    )
    assert version == {"id": "a", "version": __version__, "protocol": 1, "games": ["patchwork", "nmbr9"]}
    assert {"spec": "nmbr9_champion:fast", "kind": "champion", "level": "fast"} in offered["agents"]
    assert components == {"id": "c", "components": json.loads(json.dumps(components_of("patchwork")))}


@pytest.mark.parametrize(
    ("fields", "game"),
    [
        (NEW, GAME),
        ({"notation": GAME.notation()}, GAME),
        ({"notation": GAME.position_text(), "game": "patchwork"}, GAME),
        (
            {"game": "nmbr9", "options": {"deck": [1, 2], "players": 2}, "moves": ["1/0@0,0"]},
            nmbr9.Game.from_notation("nmbr9/1 players=2 order=unknown rounds=2 deck=1,2\n1/0@0,0"),
        ),
    ],
)
def test_positions_are_set_up_in_every_way(fields, game):
    ply = len(fields.get("moves", ()))
    told, legal = asked(
        {"id": "a", "method": "position", **fields}, {"id": "b", "method": "legal_moves", **fields}
    )
    assert positions.read_game(told.pop("notation")) == game
    position = json.loads(json.dumps(positions.positions_of(game)[-1]))
    assert told == {"id": "a", "ply": ply, "done": True, "position": position}
    actions = game.legal_actions().tolist()
    moves = {"legal_moves": list(map(game.move_text, actions)), "legal_actions": actions}
    assert legal == {"id": "b", "ply": ply, "done": True, "player": game.current_player, **moves}


def test_whole_games_are_asked_about_at_once():
    moves: list[Any] = ["+", 0, "+"]
    query = {"id": "a", "method": "choose", "agent": "greedy", **NEW, "moves": moves, "plies": [3, 0]}
    game, greedy, expected = GAME.clone(), agents.load("greedy"), {}
    for ply in range(4):
        action = greedy.act(game)
        expected[ply] = (game.current_player, game.move_text(action), action)
        game.play(0)
    told = {answer["ply"]: (answer["player"], answer["move"], answer["action"]) for answer in asked(query)}
    assert told == {ply: expected[ply] for ply in (0, 3)}


def test_a_seed_repeats_a_choice():
    query = {"id": "a", "method": "choose", "agent": "random", **NEW}
    chosen = [only({**query, "seed": seed})["move"] for seed in (1, 2, 3, 1, 2, 3)]
    assert chosen[:3] == chosen[3:]
    assert chosen[0] == GAME.move_text(agents.load("random", seed=1).act(GAME))


def test_an_analysis_has_as_many_lines_as_were_asked_for():
    answer = only({"id": "a", "method": "analyse", **NEW, "agent": "champion:nodes=300", "lines": 2})
    best = agents.load("champion:nodes=300").search(GAME)[0]  # type: ignore[attr-defined]
    assert (answer["id"], answer["ply"], answer["done"], answer["player"]) == ("a", 0, True, 0)
    assert len(answer["lines"]) == 2
    assert answer["lines"][0]["action"] == best.action


# --- errors -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"method": "chose"}, "did you mean 'choose'?"),
        ({"method": None}, "the message lacks 'method'"),
        ({"sed": 3}, "unknown field 'sed'; did you mean 'seed'?"),
        ({"game": None, "options": None}, "names no game"),
        ({"options": {"sede": 7}}, "no option 'sede'; it has seed, variant"),
        ({"options": {"seed": "x"}}, "seed must be an integer"),
        ({"notation": GAME.notation()}, "'notation' and 'options'; give one"),
        ({"options": None, "notation": "patchwork/1"}, "circle"),
        ({"options": None, "notation": "chess/1"}, "allowed are 'patchwork', 'nmbr9'"),
        ({"options": None, "notation": nmbr9.Game(1).notation()}, "nmbr9, not of patchwork"),
        ({"moves": "+"}, "must be a list"),
        ({"moves": ["+", "*a1"]}, "entry 2 of moves: '*a1'"),
        ({"moves": [10**30]}, "entry 1 of moves: action 1000"),
        ({"plies": [0, 1]}, "there is no ply 1 in plies; the game has 0 moves"),
        ({"plies": []}, "at least one ply"),
        ({"plies": [10**6 + 1]}, "an entry of plies is 1000001; allowed are 0 to 1000000"),
        ({"plies": [0, 0]}, "each once"),
        ({"agent": 3}, "must be a string"),
        ({"agent": "nmbr9_champion:instant"}, "plays nmbr9, not patchwork"),
        ({"agent": f"{ODD}:raises"}, "would run code; start the server with --allow"),
        ({"seed": 2**64}, "allowed are 0 to"),
        ({"time_limit": "1"}, "finite number"),
        ({"time_limit": 0}, "finite number above 0"),
        ({"time_limit": 10**6}, "must be at most 100,000"),
    ],
)
def test_errors_name_what_is_wrong(fields, words):
    answer = only({"id": "a", "method": "choose", "agent": "greedy", **NEW, **fields})
    assert answer["id"] == "a"
    assert words in answer["error"]
    assert len(answer["error"]) < 600


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"nonsense", "the message is damaged"),
        (b'{"method": "choose"}', "the message lacks 'id'"),
        (b'{"id": 7, "method": "choose"}', "id must be a string"),
        (b'{"id": "' + b"x" * 300 + b'"}', "300 characters"),
        (b'{"id": "' + b"x" * MOST_BYTES, "the line has more than 1,048,576 bytes"),
    ],
)
def test_lines_that_are_no_queries_are_answered_and_forgotten(line, words):
    after = b'\r\n \n{"id": "b\\ud800", "method": "query_version"}'  # without a newline at its end
    wrong, right = answers_to(line + after)
    assert "id" not in wrong
    assert words in wrong["error"]
    assert right["id"] == "b\ud800"


def test_a_byte_order_mark_before_the_first_line_does_not_count_and_a_line_may_have_a_mebibyte():
    begins, ends = '\ufeff{"id": "a", "method":'.encode(), b'"query_version"}'
    (answer,) = answers_to(begins + ends.rjust(MOST_BYTES - len(begins)))
    assert answer["id"] == "a"


@pytest.mark.parametrize(("name", "words"), odd_agents.FAILURES.items())
def test_an_agent_that_fails_harms_nothing(name, words):
    spec = f"{ODD}:{name}"
    query = {"id": "a", "method": "choose", **NEW}
    wrong, right = asked({**query, "agent": spec}, {**query, "id": "b", "agent": "greedy"}, trusted=(spec,))
    assert (wrong["id"], wrong["ply"], "done" in wrong) == ("a", 0, False)
    assert words in wrong["error"]
    assert right["move"]


def test_figures_that_json_does_not_have_are_an_error():
    answer = only({"id": "a", "method": "analyse", "agent": f"{ODD}:numb", **NEW}, trusted=(f"{ODD}:numb",))
    assert (answer["id"], answer["ply"]) == ("a", 0)
    assert "the answer cannot be encoded" in answer["error"]


def test_the_engine_survives_errors_of_its_own(monkeypatch):
    monkeypatch.setattr(positions, "components_of", lambda game: 1 / 0)
    broken = {"id": "a", "method": "query_components", "game": "patchwork"}
    wrong, right = asked(broken, {"id": "b", "method": "query_version"})
    assert wrong == {"id": "a", "error": "ZeroDivisionError: division by zero"}
    assert right["version"]


def test_games_that_are_over_have_no_choice():
    over = {"id": "a", "game": "nmbr9", "options": {"deck": [1]}, "moves": ["1/0@0,0"]}
    legal, wrong = asked({"method": "legal_moves", **over}, {"method": "choose", **over})
    assert (legal["player"], legal["legal_moves"]) == (None, [])
    assert wrong == {"id": "a", "ply": 1, "error": "the game is over"}


# --- many queries at once ---------------------------------------------------------------------------------


def endless(id, **fields):
    query = {"id": id, "method": "analyse", "agent": f"{ODD}:endless", **NEW, **fields}
    return json.dumps(query).encode()


def ask(engine, **query):
    engine.handle(json.dumps(query).encode())


@pytest.fixture
def new_engine(request):
    """Makes engines whose agents stop at the end of a test."""

    def make(threads):
        engine = Engine(AgentPool([f"{ODD}:endless", f"{ODD}:hangs"]), answers := Answers(), threads=threads)
        request.addfinalizer(engine.close)
        return engine, answers

    return make


def test_partial_answers_come_until_a_query_is_terminated(new_engine):
    engine, answers = new_engine(1)
    engine.handle(endless("a", report_every=0.001))
    first, second = answers.wait(2)[:2]
    assert [first["done"], second["done"]] == [False, False]
    assert first["depth"] < second["depth"]
    assert first["lines"][0]["word"] == "+"
    ask(engine, id="t", method="terminate", terminate_id="a")
    last, done = answers[-2:]
    assert (last["id"], last["done"], last["terminated"], last["lines"][0]["word"]) == ("a", True, True, "+")
    assert done == {"id": "t", "method": "terminate", "terminate_id": "a", "terminated": 1}
    ask(engine, id="t", method="terminate", terminate_id="a")
    assert answers[-1]["terminated"] == 0
    engine.wait()


def test_partial_answers_keep_their_interval(new_engine, monkeypatch):
    """The clock of a thread advances by a second at each reading."""
    clocks = defaultdict[int, Any](itertools.count)
    monkeypatch.setattr(f"{Engine.__module__}.monotonic", lambda: next(clocks[threading.get_ident()]))
    engine, answers = new_engine(1)
    engine.handle(endless("a", report_every=10))
    assert [answer["depth"] for answer in answers.wait(3)[:3]] == [10, 20, 30]


def test_a_task_has_one_last_answer():
    answers = Answers()
    task = Task("a", 0, lambda task: {}, answers, lambda task: None, time_limit=None)
    assert [task.terminate(), task.terminate(), task.run()] == [True, False, None]
    assert len(answers) == 1


def test_positions_that_wait_have_no_results_when_all_queries_are_terminated(new_engine):
    engine, answers = new_engine(1)
    engine.handle(endless("a", moves=["+", "+"], plies=[0, 1, 2]))
    ask(engine, id="t", method="terminate")
    assert answers.wait(4)[-1] == {"id": "t", "method": "terminate", "terminated": 3}
    waiting = [answer for answer in answers if answer.get("ply")]
    gone = [{"id": "a", "ply": ply, "done": True, "terminated": True, "no_results": True} for ply in (1, 2)]
    assert sorted(waiting, key=lambda answer: answer["ply"]) == gone


def test_queries_do_not_wait_for_each_other(new_engine):
    engine, answers = new_engine(2)
    engine.handle(endless("a"))
    for id in "bc":
        ask(engine, id=id, method="choose", agent="greedy", moves=["+"], plies=[0, 1], **NEW)
    assert {answer["id"] for answer in answers.wait(4)} == {"b", "c"}
    engine.handle(endless("d"))
    ask(engine, id="e", method="legal_moves", **NEW)
    assert [answer["id"] for answer in answers.wait(5)[4:]] == ["e"]


def test_an_agent_that_hangs_is_given_up_at_the_time_limit(new_engine):
    engine, answers = new_engine(2)
    ask(engine, id="a", method="choose", agent=f"{ODD}:hangs", time_limit=0.01, **NEW)
    ask(engine, id="b", method="choose", agent="greedy", time_limit=100_000, **NEW)
    first, second = sorted(answers.wait(2), key=lambda answer: str(answer["id"]))
    assert first == {"id": "a", "ply": 0, "done": True, "terminated": True, "no_results": True}
    assert second["move"]
    engine.wait()
    assert all(each.finished.wait(9) for each in threading.enumerate() if isinstance(each, threading.Timer))
    odd_agents.release.set()
    assert len(answers) == 2


def test_an_analysis_tells_at_the_time_limit_what_it_has_found(new_engine):
    positions.play(GAME.clone(), 0)  # compiles what the engine needs
    engine, answers = new_engine(1)
    engine.handle(endless("a", time_limit=0.5))
    (last,) = answers.wait(1)
    assert (last["done"], last["terminated"], last["player"]) == (True, True, 0)
    assert last["depth"] >= 1


# --- the end ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ends", [False, True])
def test_it_ends_when_the_reader_is_gone(ends):
    reading, writing = os.pipe()
    queries, asking = os.pipe()
    os.close(reading)
    with os.fdopen(queries, "rb") as source, os.fdopen(asking, "wb", 0) as stream:
        stream.write(endless("a", report_every=0.001) + b"\n")
        if ends:
            stream.close()
        target = os.fdopen(writing, "wb", 0)
        with target:
            players, before = AgentPool([f"{ODD}:endless"]), set(threading.enumerate())
            assert not serve(source, target, lambda send: Engine(players, send, threads=1))
            assert ends or all(each.daemon for each in threading.enumerate() if each.name == "queries")
    for thread in set(threading.enumerate()) - before:
        thread.join(60)
        assert not thread.is_alive()

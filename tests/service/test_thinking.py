"""Moves and analyses by agents for the page: answers, failures, and streams without a reader."""

import asyncio
import json
import threading

import pytest

from patchwork_env import agents, nmbr9, patchwork
from patchwork_env.agents.options import LEVELS
from patchwork_env.service import thinking
from patchwork_env.service.agents import AgentPool
from tests.play import odd_agents
from tests.play.client import HEADERS, Client, Exchange, one_client

GAME = patchwork.Game(seed=7)
NOTATION = GAME.notation()
ODD = "tests.play.odd_agents"
client, hanging = one_client, odd_agents.hanging


def choose(client, agent, **fields):
    answer = client.ask("/api/choose", {"notation": NOTATION, "agent": agent, **fields})
    assert answer.status == 200
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    return answer.events


def test_agents_choose_what_they_choose_elsewhere(client):
    action = agents.load("greedy").act(GAME)
    assert choose(client, "greedy") == [{"choice": {"action": action, "word": GAME.move_text(action)}}]
    for seed in range(3):
        action = agents.load("random", seed=seed).act(GAME)
        assert choose(client, "random", seed=seed)[0]["choice"]["action"] == action


@pytest.mark.parametrize(
    ("spec", "words"),
    [("greedi", "did you mean 'greedy'?"), ("nmbr9_champion:instant", "plays nmbr9, not patchwork")],
)
def test_invalid_agents_are_errors_of_the_stream(client, spec, words):
    (event,) = choose(client, spec)
    assert list(event) == ["error"]
    assert words in event["error"].partition(" failed: ")[0]
    listed = client.ask("/api/agents", {"game": "patchwork", "agent": spec})
    assert (listed.status, words in listed.json["error"]) == (400, True)


def test_games_that_are_over_have_no_choice(client):
    over = nmbr9.Game(deck=[1])
    over.play(int(over.legal_actions()[0]))
    message = {"notation": over.notation(), "agent": "greedy"}
    for route in ("choose", "analyse"):
        assert client.ask(f"/api/{route}", message).events == [{"error": "the game is over"}]


def test_only_what_the_command_line_named_runs_code(tmp_path):
    client = Client(f"{ODD}:illegal", "program:true")
    made = tmp_path / "made"
    for spec in (f"{ODD}:raises", f"program:touch {made}", "program:true:seconds=3", "program:".ljust(4096)):
        for route in ("choose", "analyse"):
            answer = client.ask(f"/api/{route}", {"notation": NOTATION, "agent": spec})
            assert (answer.status, "would run code" in answer.json["error"]) == (400, True)
    assert not made.exists()
    listed = client.ask("/api/agents", {"game": "patchwork"}).json
    assert listed[0] == {"spec": f"{ODD}:illegal", "kind": "other"}


def test_an_agent_that_hangs_is_given_up_and_the_others_go_on(monkeypatch):
    monkeypatch.setattr(thinking, "NOTICE_AFTER", 0.01)
    client = Client(f"{ODD}:hangs", patience=0.01)
    for _ in range(4):
        (event,) = choose(client, f"{ODD}:hangs")
        assert "sent nothing for 0.01 seconds" in event["error"]
    (event,) = choose(client, f"{ODD}:hangs")
    assert "is busy with 4 other requests" in event["error"]
    patient = Client(patience=60)
    patient.streams._busy = client.streams._busy
    assert "choice" in choose(patient, "greedy")[0]


def analyse(client, notation, **fields):
    events = client.ask("/api/analyse", {"notation": notation, **fields}).events
    assert [event["analysis"]["done"] for event in events] == [False] * (len(events) - 1) + [True]
    return [event["analysis"] for event in events]


def test_an_analysis_gets_deeper_and_ends_as_the_search_does(client):
    game = patchwork.Game(seed=7)
    game.play(int(game.legal_actions()[3]))  # player 1 is to move
    found = analyse(client, game.notation(), agent="champion:nodes=5000", lines=3)
    assert [analysis["depth"] for analysis in found] == sorted(analysis["depth"] for analysis in found)
    assert len({analysis["depth"] for analysis in found}) > 2
    last, best = found[-1], found[-1]["lines"][0]
    expected = agents.load("champion:nodes=5000").search(game)
    assert len(last["lines"]) == 3
    assert best["action"] == expected[0].action
    assert (last["player"], last["scores"]) == (1, None)
    assert (last["win"], last["margin"]) == (best["win"], best["margin"])
    assert last["win"] == pytest.approx(1 - expected[0].win, abs=0.1)
    assert last["margin"] == pytest.approx(-expected[0].margin, abs=3)
    for line in last["lines"]:
        assert line["word"] == line["line"][0] == game.move_text(line["action"])
        going_on, movers = game.clone(), []
        for word in line["line"]:
            movers.append(going_on.current_player)
            going_on.play(going_on.parse_move(word))
        assert line["movers"] == movers
        expected_words = agents.load("champion").symmetric_moves(game)[line["action"]]
        assert {line["word"], *line["alike"]} == set(map(game.move_text, expected_words))
    assert any(line["alike"] for line in last["lines"])  # the quilt is empty
    few = [line for line in last["lines"][1:] if line["visits"] < 1500]
    assert few
    assert all(line["win"] is line["margin"] is None for line in few)


def test_nmbr9_is_analysed_by_expected_scores(client):
    game = nmbr9.Game(seed=7, players=3)
    for index in (3, 2, 14, 3, 2, 14, 0):  # player 0 has the most points, player 2 the fewest
        legal = game.legal_actions()
        game.play(int(legal[index % len(legal)]))
    found = analyse(client, game.notation(), agent="nmbr9_champion:nodes=2000", lines=4)
    assert len(found) > 2
    last = found[-1]
    assert (last["player"], last["win"], len(last["lines"])) == (1, None, 4)
    assert last["margin"] == pytest.approx(last["scores"][0] - last["scores"][1])
    assert 60 < last["scores"][2] < last["scores"][1] < last["scores"][0] < 120
    assert last["scores"][1] == last["lines"][0]["scores"][1]
    assert {line["word"] for line in last["lines"]} <= set(map(game.move_text, game.legal_actions()))


def test_agents_that_cannot_analyse_are_an_error(client):
    (event,) = client.ask("/api/analyse", {"notation": NOTATION, "agent": "greedy"}).events
    assert "agent 'greedy' cannot analyse" in event["error"]
    free = nmbr9.Game(order="free").notation()
    (event,) = client.ask("/api/analyse", {"notation": free}).events
    assert "it does not choose digits" in event["error"]


def test_figures_of_any_type_are_told_if_they_are_numbers():
    client = Client(f"{ODD}:vague", f"{ODD}:numb")
    then = GAME.clone()
    then.play(0)
    for game, win, margin in ((GAME, 0.25, 1.0), (then, 0.75, -1.0)):  # from player 0's side
        figures = {"player": game.current_player, "win": win, "margin": margin, "scores": None}
        line = {"action": 0, "word": "+", "line": ["+"], "visits": 0, "exact": True, "alike": []}
        line |= {"win": win, "margin": margin, "scores": None, "movers": [game.current_player]}
        expected = {**figures, "lines": [line], "depth": 0, "done": True}
        assert analyse(client, game.notation(), agent=f"{ODD}:vague")[-1] == expected
    events = client.ask("/api/analyse", {"notation": NOTATION, "agent": f"{ODD}:numb"}).events
    assert all("the answer cannot be encoded" in event["error"] for event in events)


def test_an_analysis_ends_with_its_reader():
    client = Client(f"{ODD}:endless")
    message = json.dumps({"notation": NOTATION, "agent": f"{ODD}:endless"}).encode()

    async def leave_after(events):
        exchange = Exchange(client.app, "POST", "/api/analyse", message, HEADERS)
        asking = asyncio.create_task(exchange.run())
        for _ in range(1 + events):
            await exchange.parts.get()
        exchange.leave()
        await asking

    asyncio.run(leave_after(3))
    assert odd_agents.closed.wait(60)


@pytest.mark.parametrize("game", ["patchwork", "nmbr9"])
def test_the_listed_agents_can_be_loaded(game):
    own = ["partner:level=3", "greedy", "gredy", "uct:simulations=2", "nmbr9_champion:nodes=9"]
    listed, usual = AgentPool(own).listed(game), AgentPool().listed(game)
    specs = [entry["spec"] for entry in listed]
    assert len(set(specs)) == len(specs)
    first = own[3:] if game == "nmbr9" else own[3:4]
    assert listed == [{"spec": spec, "kind": "other"} for spec in first] + usual
    levels = [entry["level"] for entry in listed if entry["kind"] in ("partner", "champion")]
    assert levels == [1, 2, 3, 4, 5, *LEVELS]
    assert {"random", "uct:seconds=1"} < set(specs)
    assert ("ppo" in specs) == (game == "patchwork")
    for spec in specs:
        if not spec.startswith("ppo"):  # which would take seconds to import PyTorch
            agents.load(spec).check_game(game)


def test_agents_are_kept_but_not_all_of_them():
    players = AgentPool()
    with players.borrow("greedy") as first, players.borrow("greedy") as second:
        assert first is not second
    with players.borrow("greedy") as again:
        assert again in (first, second)
    with pytest.raises(ZeroDivisionError), players.borrow("greedy") as broken:
        raise ZeroDivisionError
    with players.borrow("greedy") as third, players.borrow("greedy") as fourth:
        assert broken not in (third, fourth)
    for number in range(2, 30):
        with players.borrow(f"mcts:simulations={number}"):
            pass
    idle = [spec for spec, _ in players._idle]
    assert len(idle) == 8
    assert "greedy" not in idle


def test_agents_are_ready_before_they_are_asked(monkeypatch):
    """Every step waits for a pause, so that no request waits for more than one step."""
    monkeypatch.setattr(thinking, "ANALYSIS", "instant")
    players, streams, steps = AgentPool(["greedy"]), thinking.Streams(pause=0), []

    def note(owner, name):
        work = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda *given: steps.append((name, *given)) or work(*given))

    note(streams, pause := "wait_for_pause")
    note(players, "choice")
    note(thinking, table := "positions_of")
    note(thinking, analysis := "analyses_of")
    thinking.Thinking(players, streams).warm_up("patchwork")
    order = [table, pause, "choice", pause, analysis, pause, table, table, analysis]
    assert [name for name, *_ in steps] == order
    assert steps[2][2:] == ("greedy", 0)
    ending = steps[-1][1]
    for _ in range(3):
        ending.play(ending.legal_actions()[0])
    assert ending.is_over
    assert {spec for spec, _ in players._idle} == {"greedy", "champion:instant"}
    thinking.Thinking(AgentPool(["no such agent"]), streams).warm_up("patchwork")  # which is ignored


def test_agents_are_prepared_only_during_pauses(monkeypatch):
    streams, slept, was_stopped = thinking.Streams(pause=0.2), [], []

    def sleep(seconds):
        slept.append(seconds)
        if len(slept) == 3:
            at_work = [thread for thread in threading.enumerate() if thread.name == "agent"]
            streams.stop()
            for thread in at_work:
                assert thread.daemon
                thread.join(60)

    async def work_and_wait():
        stream = streams.stream(lambda tell, stopped: was_stopped.append(stopped.wait(20)), "work", 1)
        assert await anext(stream) == {"progress": "thinking", "key": "thinking"}
        waiting = asyncio.create_task(asyncio.to_thread(streams.wait_for_pause))
        assert [event async for event in stream] == []
        await waiting

    monkeypatch.setattr("time.sleep", sleep)
    asyncio.run(work_and_wait())
    streams.wait_for_pause()  # four looks, as after the work
    assert (slept, was_stopped, streams._busy.total()) == ([0.05] * 10, [True], 0)

"""The tools of the MCP server without the library: whole games, bad calls, cancelled calls."""

from __future__ import annotations

import asyncio
import itertools
import re
from types import SimpleNamespace

import pytest

from patchwork_env.integrations.mcp import session as sessions
from patchwork_env.integrations.mcp.session import Session
from patchwork_env.patchwork import Game
from patchwork_env.service.agents import AgentPool
from tests.play import odd_agents

FIRST = "patchwork-1"
TOO_LONG = "seconds is 61: Input should be less than or equal to"
TRUSTED, hanging = "tests.play.odd_agents:hangs", odd_agents.hanging


@pytest.fixture
def session():
    return Session(AgentPool([TRUSTED]))


def ask(session, tool, **arguments):
    """Return the text of a tool."""
    return asyncio.run(session.call(tool, arguments))


def test_an_opponent_answers_and_undo_goes_back_to_the_clients_own_move(session):
    told = ask(session, "new_game", opponent="greedy", seat=1, seed=7)
    assert "greedy answered: player 0: " in told
    assert "You are player 1, against player 0" in told
    before = session.game(FIRST)
    assert "Player 1 played +. " in ask(session, "play", game_id=FIRST, move="+")
    assert session.game(FIRST).current_player == 1
    assert "You are player 1, against player 0" in ask(session, "undo", game_id=FIRST)
    assert session.game(FIRST).history == before.history
    with pytest.raises(ValueError, match="there is no move of yours to take back"):
        ask(session, "undo", game_id=FIRST)
    assert session.game(FIRST).history == before.history
    ask(session, "new_game", seed=7)  # without an opponent the client plays every seat
    for move in ("+", "12/0@a1"):
        ask(session, "play", game_id="patchwork-2", move=move)
    ask(session, "undo", game_id="patchwork-2")
    assert session.game("patchwork-2").history == (0,)


def test_games_go_on_from_their_notation(session):
    game = Game(seed=7)
    game.play(0)
    told = ask(session, "new_game", notation=game.notation(), opponent="greedy", seat=1)
    assert "You are player 1, against player 0" in told
    assert session.game(FIRST) == game
    while not game.is_over:
        game.play(int(game.legal_actions()[0]))
    seat = 1 - game.current_player
    ask(session, "new_game", notation=game.notation(), opponent="greedy", seat=seat)
    assert f"You are player {seat}, " in ask(session, "ask", game_id="patchwork-2", request="position")
    with pytest.raises(ValueError, match="variant is '2014'; a game with a notation has its own variant"):
        ask(session, "new_game", notation=game.notation(), variant="2014")


def test_hints_and_analyses_leave_the_game_as_it_was(session):
    ask(session, "new_game", seed=7)
    hint = ask(session, "hint", game_id=FIRST, agent="champion:nodes=50")
    assert hint.startswith("champion:nodes=50 would play ")
    told = ask(session, "analyse", game_id=FIRST, agent="champion:nodes=50", lines=2, seconds=0.1)
    head, *lines = told.splitlines()
    assert head.startswith("Player 0 to move, after ")
    assert len(lines) == 2
    assert re.match(r"- (\S+): wins \d+\.\d%, margin [+-]\d+\.\d, [\d,]+ visits", lines[0])
    assert session.game(FIRST) == Game(seed=7)
    ask(session, "new_game", game="nmbr9", seed=7)
    told = ask(session, "analyse", game_id="nmbr9-2", agent="nmbr9_champion:nodes=50", seconds=1e-9)
    assert re.search(r"- 0/\d@0,0: score \d+\.\d, ", told), "the first analysis is waited for"


def test_analyses_are_from_the_side_of_the_player_to_move(session):
    game = Game(seed=7)
    game.play(game.parse_move("12/0@a1"))
    ask(session, "new_game", notation=game.notation())
    told = ask(session, "analyse", game_id=FIRST, agent="champion:nodes=200", lines=1)
    assert told.startswith("Player 1 to move")
    shown = float(re.search(r"wins ([\d.]+)%", told)[1]) / 100
    (first,) = list(AgentPool().analyses(game, "champion:nodes=200", 1))[-1]["lines"]
    assert shown == pytest.approx(1 - first["win"], abs=0.1)


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("plya", {}, "there is no tool 'plya'; did you mean 'play'"),
        ("play", {"game_id": FIRST}, "move: Missing required argument; the arguments are game_id, move"),
        ("play", {"game_id": FIRST, "move": "+", "mov": "+"}, "mov is '+': Unexpected keyword argument; "),
        ("play", {"game_id": FIRST, "move": 3}, "move is 3: Input should be a valid string"),
        ("play", {"game_id": FIRST, "move": "12/0@i9"}, "is not legal: it is 2 high and 3 wide"),
        ("play", {"game_id": "p-9", "move": "+"}, "there is no game 'p-9'; the games are: patchwork-1"),
        ("new_game", {"players": 3}, "patchwork has no option 'players'; it has seed, variant"),
        ("new_game", {"seat": 2}, "seat is 2; allowed are 0 to 1"),
        ("new_game", {"opponent": "nmbr9_champion:fast"}, "plays nmbr9, not patchwork"),
        ("new_game", {"opponent": "os:getcwd"}, "would run code"),
        ("new_game", {"notation": "patchwork/1 nonsense"}, "nonsense"),
        ("hint", {"game_id": FIRST, "agent": "os:getcwd"}, "would run code"),
        ("new_game", {"opponent": "hf:owner/name"}, "start the server with --opponent"),
        ("analyse", {"game_id": FIRST, "agent": "greedy"}, "agent 'greedy' cannot analyse"),
        ("ask", {"game_id": FIRST, "request": "placements of patch 99"}, "there is no 'patch 99' now"),
        ("analyse", {"game_id": FIRST, "seconds": 61}, TOO_LONG),
    ],
)
def test_bad_calls_are_told_what_is_wrong_and_change_nothing(session, tool, arguments, message) -> None:
    ask(session, "new_game", seed=7)
    with pytest.raises(Exception, match=re.escape(message)):
        ask(session, tool, **arguments)
    assert session.game(FIRST) == Game(seed=7)
    with pytest.raises(ValueError, match=r"the games are: patchwork-1$"):
        session.game("patchwork-2")


def test_games_are_bounded_and_can_be_forgotten(session, monkeypatch):
    monkeypatch.setattr(sessions, "MOST_GAMES", 3)
    for _ in range(3):
        ask(session, "new_game")
    with pytest.raises(ValueError, match="there are 3 games already"):
        ask(session, "new_game")
    assert "2 of at most 3 games" in ask(session, "end_game", game_id=FIRST)
    assert ask(session, "new_game").startswith("game_id: patchwork-4\n")
    with pytest.raises(ValueError, match="there is no game 'patchwork-1'"):
        ask(session, "show", game_id=FIRST)


def test_other_calls_are_answered_while_an_agent_thinks_and_cancelling_leaves_the_game_as_it_was(session):
    async def both():
        await session.call("new_game", {"opponent": TRUSTED, "seed": 7})
        thinking = asyncio.create_task(session.call("play", {"game_id": FIRST, "move": "12/0@a1"}))
        await asyncio.sleep(0.05)
        shown = await session.call("show", {"game_id": FIRST})
        assert not thinking.done()
        thinking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await thinking
        return shown

    assert "player 0's move" in asyncio.run(both())
    assert session.game(FIRST) == Game(seed=7)


def test_an_analysis_ends_after_its_seconds(monkeypatch):
    """The clock advances by a second at each reading."""
    spec = "tests.play.odd_agents:endless"
    session, clock = Session(AgentPool([spec])), SimpleNamespace(monotonic=itertools.count().__next__)
    monkeypatch.setattr(sessions, "time", clock)

    async def analyse():
        await session.call("new_game", {"seed": 7})
        search = session.call("analyse", {"game_id": FIRST, "agent": spec, "seconds": 60})
        return await asyncio.wait_for(search, 20)

    assert spec in asyncio.run(analyse())


def test_cancelling_an_analysis_ends_its_search():
    spec = "tests.play.odd_agents:endless"
    session = Session(AgentPool([spec]))

    async def give_up():
        await session.call("new_game", {"seed": 7})
        search = session.call("analyse", {"game_id": FIRST, "agent": spec, "seconds": 60})
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(search, 0.05)
        return await asyncio.to_thread(odd_agents.closed.wait, 30)

    assert asyncio.run(give_up())

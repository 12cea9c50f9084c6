"""The MCP server with the library's own client: in the same process, and over stdin and stdout."""

import asyncio
import json
import re
import sys
from functools import partial
from pathlib import Path

import pytest

pytest.importorskip("mcp")
pytest.importorskip("mcp_types")

from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError

from patchwork_env.integrations.mcp.server import create_server
from patchwork_env.integrations.mcp.session import Session
from patchwork_env.patchwork import Game
from tests.integrations.test_language_models import WORD

pytestmark = pytest.mark.libraries

PAGE = (Path(__file__).parents[3] / "docs" / "use" / "mcp.md").read_text(encoding="utf-8")
NOISY = "tests.play.odd_agents:talks"
FIRST = "patchwork-1"


async def ask(client, tool, **arguments):
    """Return the text of a tool; ValueError if it is an error."""
    result = await client.call_tool(tool, arguments)
    (content,) = result.content
    if result.is_error:
        raise ValueError(content.text)
    return content.text


async def play_through(ask, game_id):
    """Play the middle one of the listed placements until the game is over; return the last text."""
    told = await ask("show", game_id=game_id)
    while "The game is over" not in told:
        words = WORD.findall(await ask("ask", game_id=game_id, request="placements"))
        words = words or WORD.findall(await ask("ask", game_id=game_id, request="moves"))
        told = await ask("play", game_id=game_id, move=words[len(words) // 2])
    return told


def run(talk, server=None, **options):
    """Run a conversation of a client with a server."""

    async def connected():
        async with Client(server or create_server(), **options) as client:
            return await talk(client)

    return asyncio.run(connected())


@pytest.mark.parametrize(("mode", "game"), [("auto", "patchwork"), ("legacy", "nmbr9")])
def test_whole_games_are_played_in_every_version_of_the_protocol(mode, game):
    async def talk(client):
        told = await ask(client, "new_game", game=game, opponent="greedy", seed=3)
        assert "Moves: '" in told  # the rules
        game_id = re.match("game_id: (.*)", told)[1]
        await ask(client, "hint", game_id=game_id, agent="greedy")
        end = await play_through(partial(ask, client), game_id)
        return end, await ask(client, "show", game_id=game_id)

    end, shown = run(talk, mode=mode)
    assert "The game is over" in end
    assert f"In notation:\n{game}/1 " in shown


def test_errors_are_for_the_model_to_read_and_each_connection_has_games_of_its_own():
    server = create_server()

    async def both():
        async with Client(server) as one, Client(server) as other:
            await ask(one, "new_game", seed=7)
            with pytest.raises(ValueError, match=r"did you mean 'play'\?"):
                await ask(one, "plya")
            with pytest.raises(ValueError, match="'12/0@i9' is not legal"):
                await ask(one, "play", game_id=FIRST, move="12/0@i9")
            with pytest.raises(ValueError, match="the games are: none; new_game begins one"):
                await ask(other, "show", game_id=FIRST)
            return await ask(one, "show", game_id=FIRST)

    assert Game(seed=7).notation().strip() in asyncio.run(both())


def test_the_session_of_the_page_can_be_replayed():
    rows = re.findall(r"^\| `(\w+) (\{.*?\})` \| `(.*?)` \|$", PAGE, re.MULTILINE)
    assert len(rows) == 7

    async def talk(client):
        await ask(client, "new_game", opponent="greedy", seed=7)
        return [await client.call_tool(tool, json.loads(arguments)) for tool, arguments, _ in rows]

    for result, (tool, _, expected) in zip(run(talk), rows, strict=True):
        assert expected in result.content[0].text, tool


def test_the_page_names_all_tools_and_arguments():
    listed = re.findall(r"^\| `(\w+)\((.*?)\)` \|", PAGE, re.MULTILINE)
    assert {name: tuple(arguments.split(", ")) for name, arguments in listed} == {
        name: tuple(arguments.json_schema()["properties"]) for name, arguments in Session().tools.items()
    }


def test_over_stdin_and_stdout_with_an_opponent_that_writes_to_stdout():
    """In a separate process: games, concurrent calls, a call that times out, and a clean exit."""
    program = "import sys; from patchwork_env.cli import main; sys.exit(main())"
    (configured,) = re.findall(r'^\{"mcpServers": .*', PAGE, re.MULTILINE)
    arguments = json.loads(configured)["mcpServers"]["patchwork"]["args"]
    server = StdioServerParameters(
        command=sys.executable,
        args=["-c", program, *arguments, "--opponent", NOISY],
        env={"PYTHONPATH": ":".join(sys.path)},
    )

    async def talk(client):
        await ask(client, "new_game", opponent=NOISY, seed=7)
        thinking = asyncio.create_task(ask(client, "analyse", game_id=FIRST, seconds=60))
        await asyncio.sleep(0.1)
        told = await ask(client, "play", game_id=FIRST, move="12/0@a1")
        assert not thinking.done()
        with pytest.raises(MCPError, match=r"[Tt]imed out"):
            await client.call_tool("analyse", {"game_id": FIRST, "seconds": 60}, read_timeout_seconds=0.3)
        thinking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await thinking
        return told, await ask(client, "show", game_id=FIRST)

    told, shown = run(talk, stdio_client(server))
    assert f"{NOISY} answered: player 1: " in told
    assert "It is player 0's move" in shown

"""The server of the Model Context Protocol, over the library ``mcp``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from inspect import getdoc
from typing import Any

from patchwork_env.core.extras import from_extra

with from_extra("mcp", "the MCP server needs"):
    import mcp_types as types  # versions before 2 lack it
    from mcp.server.lowlevel import Server
    from mcp.server.stdio import stdio_server

from patchwork_env import __version__
from patchwork_env.core.documents import one_line
from patchwork_env.core.messages import reason_of
from patchwork_env.integrations.mcp.session import MOST_GAMES, Session
from patchwork_env.service.agents import AgentPool

NAME = "patchwork-env"
_LONGEST_ERROR = 2000
_INSTRUCTIONS = f"""\
The board games Patchwork and NMBR 9, with exact rules, strong opponents and analysis. new_game begins a game
and returns its rules. show returns the position, ask lists placements, and play plays a move. Up to
{MOST_GAMES} games are held, by their game_id, until end_game or until the server ends."""


def create_server(trusted: Collection[str] = ()) -> Any:
    """Return an ``mcp.server.Server``, in which every connection has its own games.

    Agents ``module:name`` run code, so clients may name only the ``trusted`` ones.
    """

    @asynccontextmanager
    async def lifespan(server: Any) -> AsyncIterator[Session]:
        session = Session(AgentPool(trusted))
        try:
            yield session
        finally:
            session.thinking.streams.stop()

    return Server(
        NAME,
        version=__version__,
        instructions=_INSTRUCTIONS,
        lifespan=lifespan,
        on_list_tools=_list_tools,
        on_call_tool=_call_tool,
    )


async def serve(trusted: Collection[str] = ()) -> None:
    """Serve one client over stdin and stdout until stdin ends; all other output goes to stderr."""
    server = create_server(trusted)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


async def _list_tools(context: Any, params: Any) -> Any:
    session = context.lifespan_context
    tools = [
        types.Tool(
            name=name,
            description=getdoc(getattr(session, name)),
            input_schema=arguments.json_schema(),
            annotations=types.ToolAnnotations(
                read_only_hint=name in session.only_read, destructive_hint=False, open_world_hint=False
            ),
        )
        for name, arguments in session.tools.items()
    ]
    return types.ListToolsResult(tools=tools)


async def _call_tool(context: Any, params: Any) -> Any:
    try:
        answer = await context.lifespan_context.call(params.name, params.arguments)
    except Exception as error:  # the model reads the error
        return _result(one_line(reason_of(error), _LONGEST_ERROR), is_error=True)
    return _result(answer)


def _result(text: str, *, is_error: bool = False) -> Any:
    return types.CallToolResult(content=[types.TextContent(text=text)], is_error=is_error)

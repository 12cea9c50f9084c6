"""``patchwork-env play``: its address, its server, and its end."""

from __future__ import annotations

import io
import json
import os
import signal
import socket
import sys
import threading
import webbrowser
from http.client import HTTPConnection
from typing import Any
from urllib.request import Request, urlopen

import pytest

from patchwork_env import cli
from patchwork_env.core.progress import Compilation
from patchwork_env.patchwork import Game
from patchwork_env.play import command, server
from patchwork_env.play.command import report_compilations
from patchwork_env.service.thinking import Thinking
from tests.play import odd_agents

ENDLESS = "tests.play.odd_agents:endless"


@pytest.fixture
def taken():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening


@pytest.mark.parametrize(("number", "game"), [(signal.SIGINT, "patchwork"), (signal.SIGTERM, "nmbr9")])
def test_the_page_is_served_until_a_signal(taken, monkeypatch, capsys, number, game):
    usual, handler, visits, streams = taken.getsockname()[1], signal.getsignal(signal.SIGTERM), [], []
    pipe = io.TextIOWrapper(io.BytesIO())

    def visit(address):
        """Get the page as a browser, begin an analysis that never ends, and send the signal."""
        headers = {"Content-Type": "application/json", "Origin": address.partition("/?")[0]}
        message = json.dumps({"notation": Game(seed=7).notation(), "agent": ENDLESS}).encode()
        try:
            visits.append(pipe.buffer.getvalue().decode())
            with urlopen(address) as page:
                visits.append((address, page.headers["server"], threading.current_thread().daemon))
            streams.append(urlopen(Request(f"{headers['Origin']}/api/analyse", message, headers)))
            visits.append(bool(streams[0].readline()))
            streams.append(HTTPConnection(headers["Origin"].removeprefix("http://")))
            streams[1].request("POST", "/api/open", headers={**headers, "Content-Length": "9"})  # and no body
        finally:
            os.kill(os.getpid(), number)

    odd_agents.closed.clear()
    monkeypatch.setattr("sys.stdout", pipe)
    monkeypatch.setattr(webbrowser, "open", visit)
    monkeypatch.setattr(command, "DEFAULT_PORT", usual)
    monkeypatch.setattr(command, "leave", lambda code: code)  # which may end this process
    monkeypatch.setattr(Thinking, "warm_up", lambda thinking, game: visits.append(game))
    monkeypatch.setattr(server, "_SECONDS_TO_END", 0.1)
    words, code, said = [], 0, f"port {usual} is in use, so the page has another one\n"
    if game == "nmbr9":  # which is not the first game of the agent
        taken.close()
        words, code, said = ["--game", "nmbr9"], 128 + number, ""
    assert cli.main(["play", *words, "--opponent", ENDLESS]) == code
    signal.signal(signal.SIGTERM, handler)
    for stream in streams:
        stream.close()
    assert odd_agents.closed.wait(60)
    port = int(visits[1].split("/")[2].partition(":")[2])
    opened = f"http://127.0.0.1:{port}/?game={game}&opponent={ENDLESS}"
    told = f"http://127.0.0.1:{port}/\nwith your options: {opened}\nCtrl-C ends it\n"
    assert (port > 1023, port == usual, capsys.readouterr().err) == (True, not said, said)
    assert visits == [game, told, (opened, None, True), True]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--opponent greedi", "did you mean 'greedy'?"),
        ("--game nmbr9 --opponent champion:fast", "plays patchwork, not nmbr9"),
        ("--port=-1", "the port is -1; allowed are 0 to 65535"),
        ("--port {}", "patchwork-env play: port {} cannot be used: "),
    ],
)
def test_options_that_are_errors(words, message, taken, capsys):
    port = taken.getsockname()[1]
    assert cli.main(["play", "--no-browser", *words.format(port).split()]) == 2
    assert message.format(port) in capsys.readouterr().err


def test_without_its_libraries_it_says_how_to_get_them(capsys, monkeypatch):
    monkeypatch.delitem(sys.modules, "patchwork_env.play.server", raising=False)
    monkeypatch.setitem(sys.modules, "uvicorn", None)  # as if it were not installed
    assert cli.main(["play"]) == 2
    said = "patchwork-env play: it needs uvicorn: pip install uvicorn, or the extra 'play'\n"
    assert capsys.readouterr().err == said


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("stream", [Terminal(), io.StringIO(), None], ids=["terminal", "file", "none"])
def test_every_compilation_is_told(stream, monkeypatch):
    monkeypatch.setattr("sys.stderr", stream)
    told: list[dict[str, Any]] = []
    compilation = Compilation()
    with report_compilations(told.append, lambda: bool(told[1:])):  # from the second on
        compilation.begin("first")
        compilation.begin("second")
    compilation.begin("third")
    texts = [f"compiling {name}, which is kept for later starts" for name in ("first", "second")]
    assert told == [{"progress": text, "key": "compiling"} for text in texts]
    if stream is not None:
        assert (texts[1] in stream.getvalue()) == stream.isatty()
        assert texts[0] not in stream.getvalue()
        assert stream.getvalue()[-1:] == ("\r" if stream.isatty() else "")  # the line is cleared again

"""``patchwork-env play``: its address, its server, and its end."""

from __future__ import annotations

import http.client
import io
import json
import signal
import socket
import subprocess
import sys
from typing import Any

import pytest

from patchwork_env import cli
from patchwork_env.core.progress import Compilation
from patchwork_env.patchwork import Game
from patchwork_env.play import command
from patchwork_env.play.command import report_compilations

NOTATION = Game(seed=7).notation()


class Server:
    """The command in a separate process."""

    def __init__(self, *words):
        program = [sys.executable, "-m", "patchwork_env.cli", "play", "--no-browser", "--port", "0", *words]
        self.process = subprocess.Popen(
            program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
        )
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline()
        self.presets = self.process.stdout.readline() if words else ""
        assert self.process.stdout.readline() == "Ctrl-C ends it\n"
        self.port = int(self.address.removeprefix("http://127.0.0.1:").removesuffix("/\n"))

    def ask(self, path, message):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        origin = f"http://127.0.0.1:{self.port}"
        headers = {"Content-Type": "application/json", "Origin": origin, "Connection": "close"}
        connection.request("POST", path, json.dumps(message), headers)
        return connection.getresponse()

    def end(self, number):
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out, err


@pytest.fixture
def server():
    server = Server("--game", "nmbr9", "--opponent", "greedy")
    yield server
    server.process.kill()
    server.process.communicate()


@pytest.mark.slow
def test_the_page_is_served_until_sigterm(server):
    opened = json.loads(server.ask("/api/open", {"game": "patchwork", "seed": 7}).read())
    assert opened["notation"] == NOTATION
    stream = server.ask("/api/choose", {"notation": NOTATION, "agent": "greedy"})
    assert "choice" in json.loads(stream.read().splitlines()[-1])
    with socket.create_connection(("127.0.0.1", server.port)) as other:
        other.sendall(b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n")
        assert other.recv(12) == b"HTTP/1.1 403"
    with server.ask("/api/analyse", {"notation": NOTATION, "agent": "champion:analysis"}) as going_on:
        assert going_on.readline()
        code, out, err = server.end(signal.SIGTERM)
    said = [line for line in err.splitlines() if not line.startswith("compiling")]
    assert (code, out, said) == (128 + signal.SIGTERM, "", [])
    assert server.presets.endswith(f" {server.address.strip()}?game=nmbr9&opponent=greedy\n")


@pytest.mark.slow
def test_ctrl_c_ends_it_quietly():
    assert Server().end(signal.SIGINT) == (0, "", "")


@pytest.fixture
def taken():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening


def test_a_port_that_is_taken_is_an_error(taken, capsys):
    port = taken.getsockname()[1]
    assert cli.main(["play", "--no-browser", "--port", str(port)]) == 2
    assert f"patchwork-env play: port {port} cannot be used: " in capsys.readouterr().err


def test_where_the_usual_port_is_taken_another_is_found(taken, monkeypatch):
    monkeypatch.setattr(command, "DEFAULT_PORT", taken.getsockname()[1])
    with command._listening_socket(None) as found:
        assert found.getsockname()[0] == "127.0.0.1"
        assert found.getsockname()[1] != taken.getsockname()[1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--opponent greedi", "did you mean 'greedy'?"),
        ("--game nmbr9 --opponent champion:fast", "plays patchwork, not nmbr9"),
        ("--port=-1", "the port is -1; allowed are 0 to 65535"),
    ],
)
def test_options_that_are_errors(words, message, capsys):
    assert cli.main(["play", "--no-browser", *words.split()]) == 2
    assert message in capsys.readouterr().err


def test_without_its_libraries_it_says_how_to_get_them(capsys, monkeypatch):
    monkeypatch.delitem(sys.modules, "patchwork_env.play.server", raising=False)
    monkeypatch.setitem(sys.modules, "uvicorn", None)  # as if it were not installed
    assert cli.main(["play"]) == 2
    assert (
        capsys.readouterr().err
        == "patchwork-env play: it needs uvicorn: pip install uvicorn, or the extra 'play'\n"
    )


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
    assert told == [{"progress": text, "key": "compiling", "count": k + 1} for k, text in enumerate(texts)]
    if stream is not None:
        assert (texts[1] in stream.getvalue()) == stream.isatty()
        assert texts[0] not in stream.getvalue()
        assert not stream.getvalue().endswith("\n")  # a file gets no line that is cleared again

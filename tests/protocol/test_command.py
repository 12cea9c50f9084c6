"""``patchwork-env engine`` as a process: its streams, its end, and its use as an agent."""

import contextlib
import json
import os
import signal
import sys

import pytest

from patchwork_env import agents, cli
from patchwork_env.agents.program import ProgramAgent
from patchwork_env.errors import OpponentError
from patchwork_env.patchwork import Game
from patchwork_env.protocol import command
from tests.play import odd_agents

TALKS, ILLEGAL = (f"{odd_agents.__name__}:{name}" for name in ("talks", "illegal"))
NEW = {"game": "patchwork", "options": {"seed": 7}}


@contextlib.contextmanager
def standard_streams(folder, monkeypatch):
    """Files in a folder are the standard input and output of this process within the block."""
    paths, own, made = (folder / "queries", folder / "answers"), (os.dup(0), os.dup(1)), []
    handler, new_streams = signal.getsignal(signal.SIGTERM), command.own_streams
    monkeypatch.setattr(command, "leave", lambda code: code)  # which may end this process
    monkeypatch.setattr(command, "own_streams", lambda: made.extend(new_streams()) or made)
    monkeypatch.setattr("sys.stdin", open(0, closefd=False))  # noqa: SIM115
    monkeypatch.setattr("sys.stdout", sys.stdout)
    for number, path in enumerate(paths):
        with path.open("wb+") as file:
            os.dup2(file.fileno(), number)
    try:
        yield paths
    finally:
        for number, kept in enumerate(own):
            os.dup2(kept, number)
            os.close(kept)
        for stream in made:
            stream.close()
        signal.signal(signal.SIGTERM, handler)


def test_only_answers_are_on_its_output_and_it_ends_with_its_input(tmp_path, monkeypatch, capfd):
    asked = [("a", {}), ("b", {"agent": "greedy"}), ("c", {"agent": ILLEGAL})]
    texts = [json.dumps({"id": id, "method": "choose", **NEW, **fields}) for id, fields in asked]
    with standard_streams(tmp_path, monkeypatch) as (queries, answers):
        queries.write_text("\n".join(texts))
        assert cli.main(["engine", "--threads", "1", "--agent", TALKS, "--allow", ILLEGAL]) == 0
        assert os.path.samestat(os.fstat(0), os.stat(os.devnull))
        first, second, third = map(json.loads, answers.read_text().splitlines())  # although it is still open
    assert (first["id"], first["action"]) == ("a", 0)
    assert (second["id"], second["action"]) == ("b", agents.load("greedy").act(Game(seed=7)))
    assert "action 1945 is not legal" in third["error"]
    assert sorted(capfd.readouterr().err.splitlines()) == ["a line", "a print", "read: ''"]


@pytest.mark.parametrize("number", [0, 1])
def test_closed_streams_are_an_error(tmp_path, monkeypatch, capfd, number):
    with standard_streams(tmp_path, monkeypatch):
        os.close(number)
        assert cli.main(["engine"]) == 2
    assert "the standard input and output must be open" in capfd.readouterr().err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_at_a_signal(tmp_path, monkeypatch, number):
    monkeypatch.setattr(command, "serve", lambda *streams: signal.raise_signal(number))
    with standard_streams(tmp_path, monkeypatch):
        assert cli.main(["engine"]) == 128 + number


@pytest.mark.slow
def test_it_is_an_agent_itself_and_answers_a_client():
    words = [sys.executable, "-m", "patchwork_env.cli", "engine", "--agent", "greedy"]
    agent, game = ProgramAgent(words, start_seconds=600), Game(seed=7)  # it may have to compile
    assert agent.act(game) == agents.load("greedy").act(game)
    client = agent._client
    assert client is not None
    several = list(client.answers(client.send("choose", **NEW, moves=["+"], plies=[0, 1]), 60))
    assert sorted(answer["ply"] for answer in several) == [0, 1]
    process = client._program._process
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 128 + signal.SIGTERM
    with pytest.raises(OpponentError, match="ended with exit code 143"):
        agent.act(game)


def test_invalid_options_are_refused_at_once(capsys):
    assert cli.main(["engine", "--agent", "gredy"]) == 2
    assert "did you mean 'greedy'?" in capsys.readouterr().err
    assert cli.main(["engine", "--threads", "0"]) == 2
    assert "the number of threads is 0; allowed are 1 to 64" in capsys.readouterr().err

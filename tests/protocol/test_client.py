"""The client: answers by query, the end of programs, and errors."""

import gc
import io
import json
import os
import re
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from patchwork_env.core.messages import MOST_BYTES
from patchwork_env.errors import OpponentError
from patchwork_env.protocol import programs
from patchwork_env.protocol.client import Client, split_command

ECHO = ["cat"]
"""A program that answers every query with the query itself."""
DEAF = ["sh", "-c", """trap "" TERM; sleep 60 & echo $! >&2; wait; sleep 60"""]
"""A program that reads nothing, ignores SIGTERM, and writes the process id of a child."""


def test_answers_are_sorted_by_their_ids():
    with Client(ECHO) as client:
        first, second = (client.send("analyse", number=number, done=False) for number in (1, 2))
        client.send("analyse", number=3, id=first)
        assert next(client.answers(second, 30))["number"] == 2
        assert [answer["number"] for answer in client.answers(first, 30)] == [1, 3]


def test_commands_are_split_as_shells_do_and_name_a_program():
    assert split_command("'./my engine' --level 3") == ["./my engine", "--level", "3"]
    assert split_command(["./my engine", ""]) == ["./my engine", ""]
    assert split_command(r"./a\ b # c&d", "linux") == ["./a b", "#", "c&d"]
    windows = r'"C:\my tools\engine.exe" --log C:\logs\new'
    assert split_command(windows, "win32") == [r"C:\my tools\engine.exe", "--log", r"C:\logs\new"]
    for wrong in ("", "  ", "'a", "''", [], ["a", "\0"], "a\0", [3], 3):
        with pytest.raises(ValueError, match=r"command|No closing"):
            split_command(wrong)  # type: ignore[arg-type]
    with pytest.raises(OpponentError, match=r"program '\./none' cannot be started: .*No such file"):
        Client("./none")


def test_a_program_is_asked_and_ends(tmp_path):
    with Client(["tee", str(tmp_path / "said")]) as client:
        assert client.ask("choose", timeout=30, moves=[0]) == {"id": "1", "method": "choose", "moves": [0]}
        client.terminate("1")
        client.terminate()
        assert client._inbox.asked == {}
        assert [client.ask("legal", 30)["id"] for _ in range(2)] == ["4", "5"]
        with pytest.raises(OpponentError, match=r"program 'tee' gave no answer within 0\.01 seconds"):
            list(client.answers(client.send("analyse", plies=[0, 1]), 0.01))
        with pytest.raises(OpponentError, match="answered with an error: 'x'"):
            client.ask("choose", 30, error="x")
        for wrong in ([], 3):  # for which an engine has an error, its only answer
            assert client.ask("choose", 30, plies=wrong)["plies"] == wrong
        longest = "+" * (MOST_BYTES - len('{"id":"10","method":"choose","notation":""}') - 1)
        assert client.ask("choose", 30, notation=longest)["notation"] == longest
        with pytest.raises(ValueError, match="it must have less than"):
            client.ask("choose", notation=longest + "+")
        process = client._program._process
    assert process.returncode == 0
    queries = map(json.loads, (tmp_path / "said").read_text().splitlines())
    assert [query["terminate_id"] for query in queries if query["method"] == "terminate"] == ["1", None]
    with pytest.raises(OpponentError, match="was closed"):
        client.ask("choose")
    client.close()


def is_running(process):
    """Whether a process is running; a zombie is not."""
    with suppress(FileNotFoundError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def comes(condition):
    """Wait some seconds for a condition; return whether it became true."""
    return any(condition() or time.sleep(0.01) for _ in range(1000))


def test_a_program_that_hangs_is_killed_with_all_that_it_started():
    client = Client(DEAF)
    client.send("choose", notation="+" * 500_000)  # more than a pipe holds
    began = time.monotonic()
    for seconds in (0, 0.05):
        with pytest.raises(OpponentError, match=f"gave no answer within {seconds} seconds"):
            client.ask("choose", seconds)
    assert time.monotonic() - began < 1
    assert comes(client._program.last_errors)
    client.close(patience=0.05)
    assert client._program._process.returncode == -9
    child = client._program.last_errors()
    assert comes(lambda: not is_running(child)), "what the program started goes on"
    client._program._process.returncode = -1
    assert client._program.how_it_ended() == "was ended by SIGHUP"


def test_a_program_that_does_not_end_with_its_input_may_still_end_itself(monkeypatch):
    client = Client(["sh", "-c", """trap "exit 3" TERM; sleep 60 & echo ready >&2; wait"""])
    assert comes(client._program.last_errors)
    client.close()
    assert client._program._process.returncode == 3
    monkeypatch.delattr(os, "killpg")  # as on Windows, where programs are killed at once
    with Client(["sleep", "60"]) as client:
        client.close(patience=0.01)
    assert client._program._process.returncode == -9


def test_a_garbage_collected_client_ends_its_program():
    client = Client(ECHO)
    process = client._program._process
    client.ask("choose", 30)
    del client
    gc.collect()
    assert process.returncode == 0


def test_all_programs_end_with_the_process(monkeypatch):
    """The process itself is ended if it has threads; those of its programs do not keep it from ending."""
    clients, codes = [Client(ECHO), Client(DEAF)], []
    streams = [io.TextIOWrapper(io.BytesIO()) for _ in range(2)]
    monkeypatch.setattr("sys.stdout", streams[0])
    monkeypatch.setattr("sys.stderr", streams[1])
    monkeypatch.setattr(os, "_exit", codes.append)
    for number, expected in ((1, []), (2, [7])):
        monkeypatch.setattr(threading, "active_count", lambda number=number: number)
        assert [stream.write("said") for stream in streams] == [4, 4]
        assert (programs.leave(7), codes) == (7, expected)
    assert [stream.buffer.getvalue() for stream in streams] == [b"saidsaid"] * 2
    monkeypatch.setattr("sys.stdout", None)  # as after own_streams, if the standard error stream is closed
    assert programs.leave(7) == 7
    assert all(client._program._process.returncode is not None for client in clients)
    assert all(client._program._reads_errors.daemon for client in clients)


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("seq 12 >&2; exit 3", "with exit code 3; its last errors: 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12"),
        (r"printf '\377' >&2; kill -9 $$", "was ended by SIGKILL; its last errors: \ufffd"),
        ("exit 0", "ended with exit code 0"),
        ("echo hello", r"answered 'hello\n': the message is damaged"),
        ("echo '[]'", "a message must be an object"),
        (r"printf '\377\n'", "not in UTF-8"),
        ("""echo '{"error": "what?"}'""", "answered with an error: 'what?'"),
    ],
)
def test_how_a_program_ended_or_what_nonsense_it_wrote_is_told(script, words):
    with Client(["sh", "-c", script]) as client:
        for _ in range(2):  # no more answers after an invalid one
            with pytest.raises(OpponentError, match="^program 'sh' .*" + re.escape(words)):
                client.ask("choose", 30)

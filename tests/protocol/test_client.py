"""The client: answers are matched to queries, programs end with it, and what goes wrong is one line."""

from __future__ import annotations

import gc
import json
import re
import time
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from patchwork_env.core.messages import MOST_BYTES
from patchwork_env.errors import OpponentError
from patchwork_env.protocol import programs
from patchwork_env.protocol.client import Client, _Inbox, words_of

ECHO = ["sh", "-c", 'while read -r line; do echo "$line"; done']
"""A program that answers every query with the query itself."""
DEAF = ["sh", "-c", """trap "" TERM; sleep 60 & echo "{\\"warning\\": $!}"; wait; sleep 60"""]
"""A program that reads nothing, cannot be asked to end, and tells of a child."""


@pytest.fixture
def inbox() -> _Inbox:
    inbox = _Inbox(deque(maxlen=2))
    inbox.expect("1", 1)
    inbox.expect("2", 2)
    return inbox


def receive(inbox: _Inbox, **answer: Any) -> dict[str, Any]:
    inbox.receive(json.dumps(answer).encode())
    return answer


def waiting(inbox: _Inbox, number: str) -> list[dict[str, Any] | None]:
    answers = inbox.asked[number].answers
    return [answers.get_nowait() for _ in range(answers.qsize())]


def test_answers_are_sorted_by_their_ids(inbox: _Inbox) -> None:
    late = receive(inbox, id="2", ply=1)
    receive(inbox, id="9", move="+")
    receive(inbox, id=[1])
    inbox.receive(b" \n")
    part, last = receive(inbox, id="1", done=False), receive(inbox, id="1", done=True)
    assert waiting(inbox, "1") == [part, last]
    assert waiting(inbox, "2") == [late]
    inbox.forget("1")
    receive(inbox, id="1")
    assert set(inbox.asked) == {"2"}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"hello\n", r"answered 'hello\\n': the message is damaged"),
        (b"[]\n", "a message is an object"),
        (b"\xff\n", "no text in UTF-8"),
        (b'{"id": "1", "id": "1"}\n', "appears twice"),
        (b'{"error": "what?"}\n', "answered with an error: 'what[?]'"),
        (None, "^$"),
    ],
)
def test_nothing_comes_after_nonsense(inbox: _Inbox, line: bytes | None, words: str) -> None:
    before = receive(inbox, id="2", ply=0)
    inbox.receive(line)
    inbox.receive(b"more nonsense")
    assert waiting(inbox, "2")[:2] == [before, None]
    assert waiting(inbox, "1")[0] is None
    inbox.expect("3", 1)
    assert waiting(inbox, "3") == [None]
    assert inbox.failure is not None
    assert re.search(words, inbox.failure)


def test_answers_that_nobody_reads_do_not_fill_the_memory(
    inbox: _Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("patchwork_env.protocol.client._MOST_WAITING", 3)
    for _ in range(4):
        receive(inbox, id="1", done=False)
    assert [answer is None for answer in waiting(inbox, "1")] == [False, False, False, True]
    assert inbox.failure is not None
    assert "3 answers wait" in inbox.failure


def test_commands_are_split_as_shells_do() -> None:
    assert words_of("'./my engine' --level 3") == ["./my engine", "--level", "3"]
    assert words_of(["./my engine", ""]) == ["./my engine", ""]
    for wrong in ("", "  ", "'a", "''", [], ["a\0"], "a\0", [3], 3):
        with pytest.raises(ValueError, match=r"command|No closing"):
            words_of(wrong)  # type: ignore[arg-type]


def test_a_program_is_asked_and_ends() -> None:
    with Client(ECHO) as client:
        answer = client.ask("choose", 30, moves=["+"])
        assert answer == {"id": "1", "method": "choose", "moves": ["+"]}
        assert client.ask("choose", timeout=30, seconds=2)["seconds"] == 2
        client.terminate("1")
        client.terminate()
        assert client._inbox.asked == {}
        assert [client.ask("legal", 30)["id"] for _ in range(2)] == ["5", "6"]
        several = client.send("analyse", plies=[0, 1])
        assert next(client.answers(several, 30))["id"] == several
        with pytest.raises(OpponentError, match=r"program 'sh' gave no answer within 0\.01 seconds"):
            list(client.answers(client.send("analyse", plies=[0, 1]), 0.01))
        with pytest.raises(OpponentError, match="answered with an error: 'x'"):
            client.ask("choose", 30, error="x")
        with pytest.raises(ValueError, match="it must have less than"):
            client.ask("choose", notation="+" * MOST_BYTES)
        process = client._program._process
    assert process.returncode == 0
    with pytest.raises(OpponentError, match="was closed"):
        client.ask("choose")
    client.close()


def is_running(process: int) -> bool:
    """Whether a process runs; one that waits to be buried does not."""
    with suppress(FileNotFoundError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def test_a_program_that_hangs_is_killed_with_all_that_it_started() -> None:
    client = Client(DEAF)
    client.send("choose", notation="+" * 500_000)  # more than a pipe holds
    with pytest.raises(OpponentError, match=r"gave no answer within 0\.05 seconds"):
        client.ask("choose", 0.05)
    while not client.warnings:
        time.sleep(0.005)
    client.close(patience=0.05)
    assert client._program._process.returncode == -9
    (warning,) = client.warnings
    for _ in range(1000):  # what has been killed ends soon
        if not is_running(warning["warning"]):
            return
        time.sleep(0.01)
    raise AssertionError("what the program started goes on")


def test_a_client_that_nobody_holds_ends_its_program() -> None:
    client = Client(ECHO)
    process, inbox = client._program._process, client._inbox
    client.ask("choose", 30)
    del client
    gc.collect()
    assert process.returncode == 0
    assert inbox.failure is not None or inbox.asked == {}


def test_all_programs_end_with_the_process() -> None:
    clients = [Client(ECHO), Client(DEAF)]
    programs.end_all()
    assert all(client._program._process.returncode is not None for client in clients)


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo oh no >&2; echo really >&2; exit 3", "ended with exit code 3; its last words: oh no | really"),
        ("kill -9 $$", "was ended by SIGKILL"),
        ("exit 0", "ended with exit code 0"),
    ],
)
def test_how_a_program_ended_is_told(script: str, words: str) -> None:
    with Client(["sh", "-c", script]) as client, pytest.raises(OpponentError) as caught:
        client.ask("choose", 30)
    assert str(caught.value) == f"program 'sh' {words}"


def test_what_cannot_be_started_is_an_error() -> None:
    with pytest.raises(OpponentError, match=r"program '\./none' cannot be started: .*No such file"):
        Client("./none")

"""OpenEnv's client plays both games over real WebSockets: several sessions, bad answers, long messages."""

import json
import random
import re
import socket
import threading
import time
from contextlib import ExitStack, suppress

import pytest

pytest.importorskip("openenv")

import signal
import subprocess
import sys

import httpx
import uvicorn
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from patchwork_env import cli
from patchwork_env.integrations.openenv import (
    PatchworkEnv,
    TextAction,
    TextEnvironment,
    TextObservation,
    create_app,
)
from patchwork_env.integrations.openenv.environment import LONGEST_TEXT, MOST_BYTES
from patchwork_env.patchwork import Game

pytestmark = pytest.mark.older
SESSIONS = 4


@pytest.fixture(scope="module")
def address():
    """The address of a server of Patchwork, whose opponent is random."""
    app = create_app("patchwork", opponents=["random", "tests.play.odd_agents:raises"], sessions=SESSIONS)
    server = uvicorn.Server(
        uvicorn.Config(app, log_level="error", ws_max_size=MOST_BYTES, timeout_graceful_shutdown=1)
    )
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        server.should_exit = True
        thread.join(30)
        assert not thread.is_alive()


def session(address):
    return PatchworkEnv(address).sync()


def read_move(env, chance):
    """Return a random placement of the first group that has some, read from the texts; else the example."""
    told = env.step("moves").observation.text
    groups = [line for line in told.splitlines() if "such as" in line]
    if not groups:
        return str(told.splitlines()[1].split()[0])
    placements = env.step(f"placements of {groups[0].split(':')[0]}").observation.text
    words = [word for line in placements.splitlines() if " in orientation " in line for word in line.split()]
    return chance.choice([word for word in words if "@" in word or word[0] == "*"])


def play(env, seed, **options):
    """Play a game with its texts as the only input; return all observations."""
    chance, result = random.Random(seed), env.reset(seed=seed, **options)
    observations = [result.observation]
    while not result.done:
        result = env.step(TextAction(text=f"I think so.\nMove: {read_move(env, chance)}"))
        assert result.reward == result.observation.reward
        observations.append(result.observation)
    return observations


def test_a_game_by_texts_alone(address):
    with session(address) as env:
        first, *others = play(env, 7)
        last = others[-1]
    assert first.text.startswith("Patchwork")
    assert {observation.kind for observation in others[:-1]} == {"position"}
    assert (last.kind, last.done, last.player, last.legal_moves) == ("over", True, None, 0)
    replayed = Game.from_notation(last.notation)
    assert replayed.is_over
    assert last.scores == list(replayed.scores())
    assert last.winners == list(replayed.winners())
    assert replayed.root() == Game(seed=7)


def test_fields_of_an_observation(address):
    with session(address) as env:
        with pytest.raises(RuntimeError, match="this session has no episode"):
            env.step("moves")
        told = env.reset(seed=4).observation
        answered = env.step("rules").observation
    begun = Game(seed=4)
    assert (told.game, told.seat, told.player, told.move_number) == ("patchwork", 0, 0, 0)
    assert told.legal_moves == len(begun.legal_actions())
    assert told.scores == list(begun.scores())
    assert told.notation == begun.notation()
    assert (told.kind, answered.kind) == ("position", "answer")
    assert answered.requests_left == told.requests_left - 1
    schema = httpx.get(f"{address}/schema").json()
    assert set(schema["observation"]["properties"]) == set(TextObservation.model_fields)
    assert schema["action"]["additionalProperties"] is False


def test_an_answer_may_hold_any_characters(address):
    with session(address) as env:
        env.reset(seed=3, mistakes=1, penalty=0.5)
        result = env.step("\0\ud83c")
    assert (result.reward, result.done, result.observation.mistakes_left) == (-1.5, True, 0)
    assert "is not an answer; end with a line " in result.observation.text


def test_long_answers_are_read_from_their_end(address):
    with session(address) as env:
        env.reset(seed=3)
        word = read_move(env, random.Random(0))
        assert env.step(f"{'thinking… ' * MOST_BYTES}\nMove: {word}").observation.played == word


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seed": -1}, "seed is -1"),
        ({"episode_id": 3}, "episode_id is 3"),
        ({"opponent": "os:system"}, "is not offered"),
        ({"penalti": 1}, "there is no option 'penalti'; did you mean 'penalty'?"),
    ],
)
def test_refused_resets_leave_the_episode(address, options, message):
    with session(address) as env:
        env.reset(seed=5, episode_id="mine")
        with pytest.raises(RuntimeError, match=message.replace("?", r"\?")):
            env.reset(**options)
        assert env.step("moves").observation.kind == "answer"
        assert (env.state().episode_id, env.state().step_count) == ("mine", 1)


def raw(address, **options):
    return connect(f"{address.replace('http', 'ws')}/ws", **options)


def test_messages_that_are_too_long_end_the_session_alone(address):
    with session(address) as other:
        other.reset(seed=5)
        with raw(address) as stream:
            stream.send(json.dumps({"type": "step", "data": {"text": "x" * MOST_BYTES}}))
            with pytest.raises(ConnectionClosed) as caught:
                stream.recv(10)
        assert caught.value.rcvd is not None
        assert caught.value.rcvd.code == 1009
        assert other.step("moves").observation.kind == "answer"
    long = b"x" * (MOST_BYTES + 1)
    answers = [httpx.post(f"{address}/reset", content=content) for content in (long, iter([long]))]
    assert [answer.status_code for answer in answers] == [413, 411]


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ('{"type": "step", "data": {"text": 3}}', "VALIDATION_ERROR"),
        ('{"type": "step", "data": {"text": "+", "move": "+"}}', "VALIDATION_ERROR"),
        (json.dumps({"type": "step", "data": {"text": "x" * (LONGEST_TEXT + 1)}}), "VALIDATION_ERROR"),
        ('{"type": "reset", "data": {"self": 1}}', "EXECUTION_ERROR"),
        ("[" * 100_000, "SESSION_ERROR"),
    ],
    ids=lambda value: value[:40],
)
def test_odd_messages_are_answered(address, message, code):
    with raw(address) as stream:
        stream.send(message)
        answer = json.loads(stream.recv(10))
    assert (answer["type"], answer["data"]["code"]) == ("error", code)
    with session(address) as env:
        assert env.reset(seed=1).observation.kind == "position"


def is_accepted(stream):
    """Whether the server began a session; sessions that ended just now may still count."""
    with suppress(ConnectionClosed):  # right after the refusal
        stream.send('{"type": "reset"}')
    answer = json.loads(stream.recv(10))
    assert answer["type"] == "observation" or answer["data"]["code"] == "CAPACITY_REACHED"
    return bool(answer["type"] == "observation")


def test_there_are_so_many_sessions_and_no_more(address):
    accepted = 0
    with ExitStack() as open_ones:
        for _ in range(1000):
            accepted += is_accepted(open_ones.enter_context(raw(address)))
            if accepted == SESSIONS:
                break
            time.sleep(0.001)
        assert accepted == SESSIONS
        for _ in range(3):
            assert not is_accepted(open_ones.enter_context(raw(address)))


def test_pages_of_others_are_refused(address):
    with pytest.raises(InvalidStatus):
        raw(address, origin="http://evil.example")
    with raw(address, origin=address) as stream:
        stream.send('{"type": "reset"}')
        assert json.loads(stream.recv(10))["type"] == "observation"
    answers = [httpx.get(f"{address}/health", headers={"Origin": origin}) for origin in ("null", address)]
    assert [answer.status_code for answer in answers] == [403, 200]


@pytest.mark.parametrize("game", ["patchwork", "nmbr9"])
def test_without_a_server(game):
    env = TextEnvironment(game)
    moves = re.findall(r"such as (\S+);", env.reset(seed=4).text)
    assert env.step(TextAction(text=moves[-1])).played == moves[-1]
    env.close()  # as the server does after a long time without messages
    with pytest.raises(ValueError, match="this session has no episode"):
        env.step(TextAction(text="moves"))


def test_serves_until_ctrl_c():
    command = [sys.executable, "-m", "patchwork_env.cli", "openenv", "--game", "nmbr9", "--port", "0"]
    settings = ["--set", "players=2", "--set", "seat=0", "--opponent", "random"]
    with subprocess.Popen(
        [*command, *settings], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:")
        with PatchworkEnv(address).sync() as env:
            told = env.reset(seed=7).observation
            assert (told.game, told.seat, len(told.scores)) == ("nmbr9", 0, 2)
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=30) == ("", "")
        assert process.returncode == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "penalti=1"], "there is no option 'penalti'; did you mean 'penalty'?"),
        (["--set", "penalty"], "'penalty' is not a setting such as 'penalty=0.2'"),
        (["--idle-seconds", "0"], "idle_seconds is 0"),
        (["--sessions", "0"], "sessions is 0"),
        (["--opponent", "gredy"], "there is no agent 'gredy'"),
    ],
)
def test_errors_of_the_command(arguments, message, capsys):
    try:
        code = cli.main(["openenv", "--port", "0", *arguments])
    except SystemExit as ended:
        code = int(ended.code or 0)
    said = capsys.readouterr()
    assert (code, said.out) == (2, "")
    assert message in said.err

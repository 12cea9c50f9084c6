"""``patchwork-env engine`` as a process: its streams, its end, and its use as an agent."""

import json
import signal
import subprocess
import sys

import pytest

from patchwork_env import agents, cli
from patchwork_env.agents.program import ProgramAgent
from patchwork_env.errors import OpponentError
from patchwork_env.patchwork import Game
from tests.play import odd_agents

COMMAND = [sys.executable, "-m", "patchwork_env.cli", "engine"]
TALKS = f"{odd_agents.__name__}:talks"
NEW = {"game": "patchwork", "options": {"seed": 7}}


@pytest.mark.slow
def test_only_answers_are_on_its_output_and_it_ends_with_its_input():
    queries = [
        {"id": "a", "method": "choose", "agent": TALKS, **NEW},
        {"id": "b", "method": "choose", "agent": "greedy", **NEW},
    ]
    done = subprocess.run(
        [*COMMAND, "--threads", "1", "--allow", TALKS],
        input="".join(json.dumps(query) + "\n" for query in queries),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(answer["id"], answer["action"]) for answer in answers] == [
        ("a", 0),
        ("b", agents.load("greedy").act(Game(seed=7))),
    ]
    assert done.returncode == 0
    assert sorted(done.stderr.splitlines()) == ["a line", "a print", "read: ''"]


@pytest.mark.slow
def test_it_is_an_agent_itself_and_answers_a_client():
    agent = ProgramAgent([*COMMAND, "--agent", "greedy"], start_seconds=600)  # it may have to compile
    greedy, game = agents.load("greedy"), Game(seed=7)
    for _ in range(4):
        action = greedy.act(game)
        assert agent.act(game) == action
        game.play(action)
    client = agent._client
    assert client is not None
    assert client.ask("query_version", 60)["protocol"] == 1
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

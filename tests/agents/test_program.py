"""Programs as agents: they play their own moves, and their failures are reported."""

import copy
import json
import pickle
import sys
from pathlib import Path

import pytest

from examples import foreign_engine
from patchwork_env import agents, nmbr9, patchwork
from patchwork_env.agents.checkpoints import write_checkpoint
from patchwork_env.agents.program import ProgramAgent, query_of
from patchwork_env.errors import OpponentError
from patchwork_env.learning.evaluation import play_matches

ENGINE = Path(foreign_engine.__file__)
SPEC = f"program:'{sys.executable}' -S '{ENGINE}'"


@pytest.fixture
def agent():
    return agents.load(SPEC, seed=4)  # type: ignore[return-value]


@pytest.mark.parametrize("game", [patchwork.Game(seed=7), nmbr9.Game(seed=7, players=2)])
def test_it_chooses_what_the_program_chooses(agent, game):
    before = game.clone()
    for _ in range(6):
        random = copy.deepcopy(agent._random)
        query = query_of(game, int(random.integers(2**31)))
        action = agent.act(game)
        expected = foreign_engine.answer({"method": "choose", **query})["move"]
        assert action == game.parse_move(expected)
        game.play(action)
    agent.reseed(4)
    assert agent.act(before) == before.clone().parse_move(game.notation().split("\n")[1].split()[0])


def test_a_program_plays_matches():
    result = play_matches(SPEC, "random", 4)
    assert (result.agent, len(result.games)) == (SPEC, 4)
    assert result.win_rate > 0.5


def test_copies_start_a_program_of_their_own(agent):
    game = patchwork.Game(seed=7)
    assert agent._client is None
    twins = [agent, copy.deepcopy(agent), pickle.loads(pickle.dumps(agent))]
    assert len({twin.act(game) for twin in twins}) == 1
    running = [twin._client._program._process for twin in twins if twin._client]
    assert len({process.pid for process in running}) == 3
    assert copy.copy(agent)._client is None
    del twins[1:]
    assert [process.returncode for process in running] == [None, 0, 0]
    agent.close()
    assert running[0].returncode == 0
    assert agent.act(game) in game.legal_actions()


def saying(**answer):
    return f"read -r line; echo '{json.dumps(answer)}'; sleep 60"


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (saying(id="1", move="q"), "'q' is not a move"),
        (saying(id="1", move="*a1"), "not legal"),
        (saying(id="1", move=1945), "action 1945 is not legal"),
        (saying(id="1", move=True), "an action must be an integer"),
        (saying(id="1", move=["+"]), "the answer has no 'move'"),
        (saying(id="1", done=True), "the answer has no 'move'"),
        (saying(id="1", error=7), "answered with an error: 7"),
        ("yes '{}'", "gave no answer within"),
        ("yes | tr -d '\\n'", "answered 'yyyyy"),
        ("sleep 60", "gave no answer within 0.25 seconds"),
        ("exec 1>&-; sleep 60", "closed its output"),
    ],
)
def test_a_failing_program_is_ended_and_reported(script, words, monkeypatch):
    monkeypatch.setattr("patchwork_env.agents.program.GRACE", 0.05)
    if "closed" in words:
        monkeypatch.setattr("patchwork_env.protocol.programs.PATIENCE", 0.01)
    times = (0.1, 0.1) if "within" in words else (30.0, 30.0)
    agent = ProgramAgent(["sh", "-c", script], seconds=times[0], start_seconds=times[1])
    random = copy.deepcopy(agent._random)
    with pytest.raises(OpponentError) as caught:
        agent.act(patchwork.Game(seed=7))
    assert words in str(caught.value)
    assert str(caught.value).startswith("program ")
    assert "\n" not in str(caught.value)
    assert agent._client is None
    assert agent._random.bit_generator.state == random.bit_generator.state


def test_no_file_can_name_a_program(tmp_path):
    made = tmp_path / "made"
    spec = f"program:touch {made}"
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    for game, policy, words in (
        ("patchwork", spec, "those of patchwork that this library plays: 'network', 'value'"),
        (spec, "value", "is for the game"),
        ("nmbr9", "program", "those of nmbr9 that this library plays: 'network', 'value'"),
    ):
        write_checkpoint(folder, game, policy, {}, {})
        with pytest.raises(ValueError, match=words):
            agents.load(folder)
    for text in (spec, f"patchwork/1 state={spec}"):
        with pytest.raises(ValueError, match=r"starts with 'patchwork/1'|is not hexadecimal"):
            patchwork.Game.from_notation(text)
    assert not made.exists()


@pytest.mark.parametrize(
    ("spec", "kind", "words"),
    [
        ("program:", ValueError, "it must name a program"),
        ("program:'", ValueError, "No closing quotation"),
        ("program:./no such", FileNotFoundError, "there is no program './no'"),
        (f"program:{'x' * 300}", FileNotFoundError, "there is no program 'x{199}…,"),
        ("program:sh:depth=3", ValueError, "has no option 'depth'; its options: seconds, start_seconds"),
        ("program:sh:seconds=0", ValueError, "it must be a number above 0"),
    ],
)
def test_malformed_specs_start_no_program(spec, kind, words):
    with pytest.raises(kind, match=words):
        agents.load(spec)

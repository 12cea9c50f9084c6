"""The command that measures agents, from its arguments to its files."""

import json
import re
from pathlib import Path

import pytest

from patchwork_env.learning.commands import evaluate
from patchwork_env.learning.evaluation.matches import play_matches
from patchwork_env.learning.evaluation.runners import AGENT
from patchwork_env.learning.system import made_with

ROOT = Path(__file__).parents[3]


def test_the_command_measures_against_every_opponent(tmp_path, capsys):
    path = tmp_path / "figures.json"
    words = f"greedy --against random greedy --games 20 --seed 3 --special-patches 2014 --json {path}"
    assert evaluate.main(words.split()) == 0
    matches = [play_matches("greedy", name, 20, 3, special_patches="2014") for name in ("random", "greedy")]
    assert capsys.readouterr().out == "".join(match.table() + "\n" for match in matches)
    expected = {"format": "patchwork-env evaluation", "version": 1, "game": "patchwork"}
    expected |= {"weights": {"greedy": None, "random": None}, "matches": [m.as_dict() for m in matches]}
    expected["made_with"] = made_with()
    assert path.read_text() == json.dumps(expected, indent=2) + "\n"


def test_a_sequential_test_ends_each_match(tmp_path, capsys, monkeypatch):
    notes = []
    monkeypatch.setattr(evaluate.Bar, "update", lambda bar, number=1: notes.append((number, bar.note)))
    path = tmp_path / "figures.json"
    assert evaluate.main(f"greedy --against random greedy --sprt 0 20 --json {path}".split()) == 0
    matches = [play_matches("greedy", name, 20_000, sprt=(0, 20)) for name in ("random", "greedy")]
    assert capsys.readouterr().out == "".join(match.table() + "\n" for match in matches)
    written = [match["sprt"] for match in json.loads(path.read_text())["matches"]]
    assert written == [match.test.as_dict() for match in matches]
    assert notes == [(0, ""), *((len(match.games), str(match.test)) for match in matches)]
    monkeypatch.undo()
    words = "greedy --against random --sprt 0 20 --games 2 --format csv"
    assert evaluate.main(words.split()) == 0
    assert capsys.readouterr().out.splitlines()[0].endswith(",decision,LLR")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("gredy --against random", "there is no agent 'gredy'"),
        ("greedy --against random --games 21", "games is 21; it must be even"),
        ("greedy --against random --json none/here.json", "there is no folder none for here.json"),
        ("greedy --against random --sprt 20 0", "the Elo of H0 must be lower than that of H1"),
    ],
)
def test_mistakes_end_with_one_line_before_any_game(words, message, capsys):
    assert evaluate.main(words.split()) == 2
    printed, said = capsys.readouterr()
    assert (printed, said.count("\n"), said.partition(": ")[0]) == ("", 1, "training.evaluate")
    assert message in said


def test_arguments_that_cannot_be_read_end_with_the_usage(capsys):
    with pytest.raises(SystemExit, match="2"):
        evaluate.main(["greedy", "--against", "random", "--sprt", "0", "strong"])
    assert "usage: python -m training.evaluate" in capsys.readouterr().err


def test_the_documents_show_what_the_command_prints_and_writes():
    names = ("measure/evaluation", "measure/sequential", "reference/formats")
    text, sequential, formats = ((ROOT / f"docs/{name}.md").read_text(encoding="utf-8") for name in names)
    result = play_matches("greedy", "random", 1000)
    assert f"```\n{result.table()}\n```" in text
    assert {*result.as_dict(), *result.means(AGENT)} <= set(re.findall(r"`(\w+)`", formats))
    test = play_matches("greedy", "random", 400, sprt=(0, 20)).test
    assert "\n".join(f"  {line}" for line in test.lines()) in sequential
    assert {"sprt", *test.as_dict()} <= set(re.findall(r"`(\w+)`", formats))

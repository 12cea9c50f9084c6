"""The example with a scripted language model: it reads its prompts, and commands can name it."""

import sys

from examples import language_model
from patchwork_env import cli
from patchwork_env.learning.evaluation.gauntlet import read_pool


def run(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["language_model.py", *arguments])
    language_model.main()
    return capsys.readouterr().out


def test_it_plays_matches(monkeypatch, capsys):
    said = run(monkeypatch, capsys, "--games", "2", "--against", "random")
    assert "scripted against random: 2 games, 1 circle" in said
    assert "illegal_answers=0, retries=0, fallbacks=0" in said
    said = run(monkeypatch, capsys, "--game", "nmbr9", "--games", "1", "--against", "random")
    assert "scripted against random: 1 game, 1 deck" in said
    assert "wins 100.0%" in said


def test_a_command_names_it(capsys):
    others = [spec for spec in read_pool().specs if spec != "random"]
    words = ["gauntlet", "examples.language_model:player", "--games", "2", "--skip", *others]
    assert cli.main([*words, "--workers", "1"]) == 0
    assert "examples.language_model:player in gauntlet v2" in capsys.readouterr().out

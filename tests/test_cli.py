"""The command ``patchwork-env``: what it says of itself, and that it starts what it names."""

import io
import os
import signal
import subprocess
import sys

import pytest

from patchwork_env import __version__, cli
from patchwork_env.core import extras
from patchwork_env.core.commands import CommandParser, run_command
from patchwork_env.learning.config import CONFIGS
from patchwork_env.patchwork import Game


def test_the_package_is_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "patchwork_env", "--version"], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, f"patchwork-env {__version__}\n")


def test_misspelt_commands_give_the_nearest(capsys):
    assert cli.main(["trian"]) == 2
    assert capsys.readouterr().err == "patchwork-env: there is no command 'trian'; did you mean 'train'?\n"
    assert cli.main(["zzz"]) == 2
    assert "allowed are 'play', 'train', 'evaluate', " in capsys.readouterr().err
    assert cli.main([]) == 2


def test_characters_that_a_pipe_does_not_know_end_no_command(monkeypatch):
    pipe = io.TextIOWrapper(io.BytesIO(), encoding="cp1252")
    monkeypatch.setattr(sys, "stdout", pipe)
    assert run_command(CommandParser(), lambda _: print("−1 → 2") or 0, [], "program") == 0
    pipe.flush()
    assert pipe.buffer.getvalue().strip() == b"?1 ? 2"


def test_a_missing_package_is_a_sentence(capsys, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("patchwork_env.learning")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "yaml", None)  # as if it were not installed
    monkeypatch.setattr(extras, "_is_missing", lambda library: library in ("pyyaml", "optuna"))
    for words, needed in (("train quick", "pyyaml"), ("sweep quick", "optuna pyyaml")):
        assert cli.main(words.split()) == 2
        said = f"patchwork-env {words.split()[0]}: it needs yaml: pip install {needed}\n"
        assert capsys.readouterr().err == said


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_has_its_own_help_under_its_own_name(name, capsys):
    with pytest.raises(SystemExit) as caught:
        cli.main([name, "--help"])
    assert caught.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: patchwork-env {name} ")


def test_errors_begin_with_the_name_of_the_program(capsys, tmp_path):
    assert cli.main(["train", "quik", "--run-dir", str(tmp_path / "run")]) == 2
    assert capsys.readouterr().err == (
        "patchwork-env train: there is no configuration quik; did you mean quick?\n"
    )
    assert cli.main(["evaluate", "gredy", "--against", "random"]) == 2
    assert capsys.readouterr().err.startswith("patchwork-env evaluate: there is no agent 'gredy'")


@pytest.mark.parametrize(
    "words", ["", "--help", "train --list", "train --help", "evaluate greedy --against random"]
)
def test_a_command_ends_quietly_when_nobody_reads(words, monkeypatch, capfd):
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as pipe:
        monkeypatch.setattr(sys, "stdout", pipe)
        arguments = words.split() + ["--games", "2"] * words.startswith("evaluate")
        assert cli.main(arguments) == 128 + signal.SIGPIPE
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("words", "option"),
    [
        ("evaluate greedy --against random --json taken", "--json"),
        ("gauntlet random --json taken", "--json"),
        ("report . --out taken", "--out"),
        ("review game.txt --out full", "--out"),
        ("compare . --out full", "--out"),
        ("export ppo --out taken.onnx", "--out"),
        ("publish ppo ann/ppo --dry-run full", "--dry-run"),
    ],
)
def test_what_was_made_is_not_replaced_unasked(words, option, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "full").mkdir()
    (tmp_path / "game.txt").write_text(Game(seed=7).notation())
    for name in ("taken", "taken.onnx", "full/made"):
        (tmp_path / name).write_text("made before")
    assert cli.main(words.split()) == 2
    said = f" exists already: give another {option}, or replace it with --overwrite\n"
    assert capsys.readouterr().err.endswith(said)
    assert (tmp_path / "taken").read_text() == (tmp_path / "full" / "made").read_text() == "made before"
    with pytest.raises(SystemExit):
        cli.main([words.split()[0], "--help"])
    assert "--overwrite" in capsys.readouterr().out


def test_pipes_of_others_that_break_are_errors(capsys):
    def fail(_):
        raise BrokenPipeError("the engine is gone")

    assert run_command(CommandParser(), fail, [], "program") == 2
    assert capsys.readouterr().err == "program: the engine is gone\n"


def test_shipped_configurations_are_listed(capsys):
    assert cli.main(["train", "--list"]) == 0
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert listed == sorted(path.stem for path in CONFIGS.glob("*.yaml"))

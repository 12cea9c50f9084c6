"""The command ``patchwork-env``: its subcommands and its errors."""

import io
import os
import shlex
import signal
import subprocess
import sys

import pytest

from patchwork_env import __version__, cli
from patchwork_env.core import progress
from patchwork_env.core.commands import CommandParser, keep_working, run_command
from patchwork_env.core.progress import QUIET


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
    assert cli.main(["train", "quick"]) == 2
    said = "patchwork-env train: it needs yaml: pip install pyyaml, or the extra 'train'\n"
    assert capsys.readouterr().err == said


@pytest.mark.parametrize(
    "words", ["", "--help", "train --list", "train --help", "evaluate greedy --against random"]
)
def test_a_command_ends_quietly_without_a_reader(words, monkeypatch, capfd):
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as pipe:
        monkeypatch.setattr(sys, "stdout", pipe)
        monkeypatch.setenv(QUIET, "1")  # no line about compiling
        monkeypatch.setattr(progress, "perf_counter", lambda: 0.0)  # no line about progress
        arguments = words.split() + ["--games", "2"] * words.startswith("evaluate")
        assert cli.main(arguments) == 128 + signal.SIGPIPE
    assert capfd.readouterr() == ("", "")


@pytest.mark.skipif(sys.platform == "win32", reason="has no terminals of POSIX")
def test_work_continues_after_the_terminal_is_closed(monkeypatch):
    ours, theirs = os.openpty()
    os.close(ours)
    with os.fdopen(theirs, "w") as terminal:
        monkeypatch.setattr(sys, "stdout", terminal)
        with keep_working():
            print("words", flush=True)
            print("words", flush=True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("review none.txt", "there is no file none.txt"),
        ("review folder", "folder is a folder; it must be a file"),
        ("evaluate r --against random", "it has no checkpoint.json; did you mean 'r/final' or 'r/best'?"),
        ("train quick --run-dir my\\ run", "or resume it with --resume 'my run'"),
    ],
)
def test_what_cannot_be_read_is_named_in_one_line(words, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in ("r/final/checkpoint.json", "r/best/checkpoint.json", "my run/file", "folder/file"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("{}")
    assert cli.main(shlex.split(words)) == 2
    (message,) = capsys.readouterr().err.splitlines()
    assert said in message


WHOLE = {
    "train": "quick",
    "evaluate": "greedy --against random",
    "tournament": "random greedy --out folder",
    "gauntlet": "random",
    "review": "game.txt",
    "analyse": "game.txt",
    "dataset": "random --id patchwork/random-v0",
    "export": "ppo",
    "publish": "ppo ann/ppo",
}
"""Arguments with which each command would do something; none by default."""


def refused(words, capsys):
    """The message of a command that ends with an error of its arguments or values."""
    try:
        code = cli.main(words)
    except SystemExit as end:
        code = end.code
    assert code == 2, words
    return capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize("surplus", ["seed=3", "--surplus 3"])
@pytest.mark.parametrize("name", cli.COMMANDS)
def test_no_command_ignores_an_argument(name, surplus, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    whole = WHOLE.get(name, "run" if surplus.startswith("--") and name in ("report", "compare") else "")
    said = refused([name, *whole.split(), *surplus.split()], capsys)
    assert surplus.split()[0] in said
    assert name not in ("train", "openenv") or "--set" in said
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("word", "begin"), [("-V", "patchwork-env "), ("help", "usage: patchwork-env COMM")])
def test_short_forms(word, begin, capsys):
    assert cli.main([word]) == 0
    assert capsys.readouterr().out.startswith(begin)
    with pytest.raises(SystemExit):
        cli.main(["help", "train"])
    assert capsys.readouterr().out.startswith("usage: patchwork-env train ")


def test_pipes_of_others_that_break_are_errors(tmp_path, monkeypatch, capsys):
    def fail(_):
        raise BrokenPipeError("the engine is gone")

    with (tmp_path / "output").open("w") as file:
        for output in (sys.stdout, file):
            monkeypatch.setattr(sys, "stdout", output)
            assert run_command(CommandParser(), fail, [], "program") == 2
            assert capsys.readouterr().err == "program: the engine is gone\n"


def test_ctrl_c_is_one_line(capsys):
    def interrupt(_):
        raise KeyboardInterrupt

    assert run_command(CommandParser(), interrupt, [], "program") == 130
    assert capsys.readouterr().err == "program: stopped\n"

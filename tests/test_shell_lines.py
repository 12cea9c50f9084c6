"""Every shell line of the pages is valid: its arguments parse, and commands with a small budget run."""

import argparse
import glob
import json
import os
import re
import runpy
import shlex
import shutil
import sys
from functools import partial
from urllib.parse import urlsplit

import pytest

from patchwork_env import agents, cli
from patchwork_env.agents import specs
from patchwork_env.learning.commands import train
from patchwork_env.learning.config import load_config
from patchwork_env.patchwork import Game
from patchwork_env.protocol.engine import Engine
from patchwork_env.service.agents import AgentPool
from tests.learning.small_runs import small
from tests.play.client import Client
from tests.protocol.test_engine import Answers
from tests.test_documents import PROJECT, fenced, marks, missing
from tests.test_project import METADATA, targets, text

SHORTER = {
    "$seed": "4",
    "seconds=60": "seconds=0.01",
    ":strong": ":nodes=2",
    "--minutes 5": "--minutes 0.001 --workers 1",
    "'/path with spaces/engine'": "./my_engine",
}
"""The replacements of words in lines."""
_SLOW = "ppo-quick-v1 ppo-v1 mcts:simulations=400 mcts:simulations=5000 mcts:seconds=1"
BUDGETS = {
    "benchmarks/nmbr9_decks.py": "--decks 1 --workers 1",
    "analyse": "--seconds 0.01",
    "compare": "",
    "dataset": "--games 2 --workers 1",
    "evaluate": "--games 2 --workers 1",
    "examples/draw_game.py": "--width 200 --gif-width 100",
    "examples/minari_cloning.py": "--games 2 --epochs 1 --matches 2",
    "examples/openenv_client.py": "",
    "examples/own_ppo.py": "--steps 2048 --num-envs 16 --games 2",
    "export": "",
    "gauntlet": f"--games 2 --workers 1 --skip {_SLOW}",
    "publish": "--dry-run published",
    "report": "",
    "research.nmbr9_records.free_order": "--minutes 0.01 --processes 1 --file best.json",
    "research.nmbr9_records.verify": "",
    "research.placement": "--runs 1",
    "review": "--agent champion:nodes=2",
    "tournament": "--games 2 --workers 1",
    "train": "",
}
"""The additional arguments of each command that runs here; the arguments of others are only parsed."""
NOT_RUN = re.compile(r"cluster\.|hf:")
"""Lines that need a cluster or the Hub."""


class ParsedError(Exception):
    """Ends a command when its arguments are parsed."""

    def __init__(self, options):
        super().__init__()
        self.options = options


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A folder with the files of the pages: runs, a game, a configuration, a module and a program."""
    folder = tmp_path_factory.mktemp("prepared")
    for name in ("configs", "examples"):
        shutil.copytree(PROJECT / name, folder / name)
    (folder / "docs" / "images").mkdir(parents=True)
    shutil.copy(folder / "examples" / "game.txt", folder)
    (folder / "position.txt").write_text(Game(seed=7).notation(), encoding="utf-8")
    shutil.copy(folder / "configs" / "quick.yaml", folder / "my.yaml")
    functions = "def my_agent(game):\n    return game.legal_actions()[0]\n\n\nmy_function = my_agent\n"
    (folder / "my_module.py").write_text(functions)
    (folder / "my_engine").write_text(f"#!/bin/sh\nexec {sys.executable} examples/foreign_engine.py\n")
    (folder / "my_engine").chmod(0o755)
    for name, seed in (("quick", 0), ("quick", 1), ("quick", 2), ("td", 0), ("td", 1)):
        run = folder / "runs" / f"{name.replace('quick', 'ppo')}-seed{seed}"
        assert train.main([name, "--run-dir", str(run), "--set", f"seed={seed}", *small(name)]) == 0
    for copy in ("quick", "ppo", "alphazero", "NAME"):
        shutil.copytree(folder / "runs" / "ppo-seed0", folder / "runs" / copy)
    for seed, copy in enumerate("abc"):
        shutil.copytree(folder / "runs" / f"ppo-seed{seed}", folder / "runs" / copy)
    shutil.copytree(folder / "runs" / "td-seed0", folder / "runs" / "td")
    return folder


def lines(block):
    """The lines of a block, long ones in one piece; of loops what is in them."""
    joined = map(str.strip, block.replace("\\\n", " ").splitlines())
    return [line for line in joined if line and not re.match(r"#|for .*; do$|done$", line)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "block"),
    [
        pytest.param(page, block, id=f"{page}:{line}", marks=marks(block))
        for page, line, block in fenced("sh", "bash", "console")
    ],
)
def test_lines_of_a_block(page, block, prepared, tmp_path, monkeypatch):
    """One after the other, as a reader enters them, in a folder of their own."""
    folder = shutil.copytree(prepared, tmp_path / "folder")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "datasets"))
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, "my_module", raising=False)
    for line in lines(block):
        print(f"{page}: {line}")
        check(line)


def check(line):
    short = re.sub("|".join(map(re.escape, SHORTER)), lambda match: SHORTER[match[0]], line)
    words = [name for word in shlex.split(short, comments=True) for name in glob.glob(word) or [word]]
    words[0] = re.sub(r"^\.venv[\w-]*/bin/", "", words[0])
    match words:
        case ["make", *rest]:
            variables = {f"{word.partition('=')[0]} ?=" for word in rest if "=" in word}
            assert variables <= set(re.findall(r"^\w+ \?=", text("Makefile"), re.MULTILINE))
            assert {word for word in rest if "=" not in word} <= targets()
        case ["pip", "install", "torch", "--index-url", "https://download.pytorch.org/whl/cpu"]:
            pass
        case ["pip", "install", what]:
            extras = re.fullmatch(r"\.(\[[\w,]+\])?", what)
            assert extras
            assert set(re.findall(r"\w+", extras[1] or "")) <= METADATA["optional-dependencies"].keys()
        case ["curl", address, *_, "-d", message]:
            assert "choice" in Client().ask(urlsplit(address).path, json.loads(message)).events[-1]
        case ["echo", query, "|", "patchwork-env", "engine"]:
            answers = Answers()
            Engine(AgentPool(), answers, threads=1).handle(query.encode())
            assert "move" in answers.wait(1)[0]
        case ["nohup", *command, ">", _, "2>&1", "&"]:
            check(shlex.join(command))
        case ["tensorboard" | "ray", *_] | ["python", "-m", "http.server", *_]:
            pass
        case ["patchwork-env", name, *arguments]:
            check_command(line, name, arguments, lambda given: cli.main([name, *given]))
        case ["python", "-m", module, *arguments]:
            start = partial(start_script, runpy.run_module, module)
            check_command(line, module.removeprefix("training."), arguments, start)
        case ["python", script, *arguments]:
            check_command(line, script, arguments, partial(start_script, runpy.run_path, PROJECT / script))
        case [program] if os.access(PROJECT / program, os.X_OK):
            pass
        case _:
            pytest.fail(f"there is no rule for this line: {line}")


def start_script(run, name, arguments):
    """The exit code of a script with arguments."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [str(name), *arguments])
        patch.delitem(sys.modules, str(name), raising=False)  # a module that a test has imported
        try:
            run(str(name), run_name="__main__")
        except SystemExit as end:
            return end.code
    return 0


def check_command(line, name, arguments, start):
    """Parses the arguments, looks for what they name, and runs the command if that is quick."""
    options = parsed(start, arguments)
    if options is None:
        assert missing(line), line
        return
    source = getattr(options, "config", None) or getattr(options, "name", None)
    if source:
        load_config(source, options.set)
    for spec in agents_of(options):
        if spec.startswith("my_module:"):
            specs.import_agent(spec)
        elif not spec.startswith("hf:") and spec != "self":  # of an example
            agents.load(spec)
    if name in BUDGETS and not NOT_RUN.search(line) and not missing(line):
        changes = ["--set", *small(source)] if source else []
        keys = [word.partition("=")[0] for word in changes]
        arguments = [word for word in arguments if word == "--set" or word.partition("=")[0] not in keys]
        budget = [] if "--resume" in arguments else BUDGETS[name].split()
        assert not start([*with_budget(arguments, budget), *changes]), line


def with_budget(arguments, budget):
    """Arguments with the options of a budget in place of their own values of these."""
    kept, is_dropped = [], False
    for word in arguments:
        if word.startswith("--"):
            is_dropped = word in budget
        if not is_dropped:
            kept.append(word)
        is_dropped &= word.startswith("--") or "--skip" in budget
    return [*kept, *budget]


def parsed(start, arguments):
    """What the parser of a command makes of arguments; None if it is not reached."""
    parse_args = argparse.ArgumentParser.parse_args

    def parse(parser, *given):
        raise ParsedError(parse_args(parser, *given))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(argparse.ArgumentParser, "parse_args", parse)
        try:
            start(arguments)
        except ParsedError as found:
            return found.options
        except ModuleNotFoundError:
            pass
    return None


def agents_of(options):
    """The specs of all agents that options name."""
    values = [vars(options).get(name) or [] for name in ("agent", "agents", "against", "opponent")]
    return [spec for value in values for spec in ([value] if isinstance(value, str) else value)]

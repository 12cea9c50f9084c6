"""The options of all commands: their help, defaults, those that do not go together, and places of files."""

import csv
import io
import json
import os
import signal
import sys
from importlib import import_module
from types import SimpleNamespace

import pytest
import uvicorn

from patchwork_env import cli
from patchwork_env.core import progress
from patchwork_env.core.commands import CommandParser
from patchwork_env.learning.commands import gauntlet
from patchwork_env.learning.evaluation.gauntlet import read_pool
from patchwork_env.learning.evaluation.playing import GamesInPlay
from patchwork_env.learning.evaluation.tournament import Tournament
from patchwork_env.learning.system import Interruption
from patchwork_env.patchwork import Game
from patchwork_env.service.guard import LOOPBACK
from tests.test_cli import refused

GAMES, FIGURES = "--seed=0 --game --special-patches --order", "--format=text --json --overwrite"
DEFAULTS = {
    "analyse": "--moves --seconds=3.0 --threads --json --overwrite",
    "compare a": "--against=() --metric --format=text --out --figures=svg --export --overwrite",
    "compile": "--game",
    "dataset a --id b": f"--id=b --games=1000 {GAMES} --players --rewards --workers=1",
    "evaluate a --against b": f"--against=['b'] --games {GAMES} --sprt --workers=1 {FIGURES}",
    "export a": "--out=policy.onnx --overwrite",
    "gauntlet a": f"--games --skip=[] --folder --workers=7 {FIGURES}",
    "openenv": "--game=patchwork --opponent=[] --set=[] --host=127.0.0.1 --port=8054 --sessions=64"
    " --idle-seconds=1800",
    "publish a b": "--private --license=mit --dry-run --overwrite",
    "report a": "--out --overwrite",
    "review a": "--agent=champion:fast --out --overwrite",
    "tournament a --out b": f"--out=b --forfeits --games=400 {GAMES} --anchor --anchor-rating=0.0 --workers=7"
    " --format=text",
    "train": "--config --resume --set=[] --run-dir --list --explain",
}
"""The options of a command with few arguments on seven cores, and their values but for None and False."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory with a game of three moves."""
    monkeypatch.chdir(tmp_path)
    game = Game(seed=7)
    for _ in range(3):
        game.play(game.legal_actions()[0])
    (tmp_path / "game.txt").write_text(game.notation())
    return tmp_path


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_has_its_own_help_under_its_own_name(name, monkeypatch, capsys):
    parsers, shown = [], CommandParser.format_help
    monkeypatch.setattr(CommandParser, "format_help", lambda parser: parsers.append(parser) or shown(parser))
    with pytest.raises(SystemExit) as caught:
        cli.main([name, "--help"])
    assert caught.value.code == 0
    printed, text = capsys.readouterr().out, str(parsers[0].description).strip()
    assert printed.startswith(f"usage: patchwork-env {name} ")
    assert "\n" not in text or text in printed  # with its lines
    assert [action.dest for action in parsers[0]._actions if not action.help] == []


@pytest.mark.parametrize("words", DEFAULTS)
def test_options_that_are_not_given_have_their_defaults(words, monkeypatch):
    name, *arguments = words.split()
    module, calls = import_module(f"patchwork_env.learning.commands.{name}"), []
    monkeypatch.setattr(module, "usable_cores", lambda: 7, raising=False)
    monkeypatch.setattr(module, "run_command", lambda *call: calls.extend(call) or 0)
    assert cli.main([name, *arguments]) == 0
    parser, *called = calls
    assert called[:3] == [module._run, arguments, f"patchwork-env {name}"]
    assert parser.description == module.__doc__
    flags = {action.dest: action.option_strings[0] for action in parser._actions if action.option_strings}
    values = {flags[key]: value for key, value in vars(parser.parse_args(arguments)).items() if key in flags}
    shown = [flag if value is None or value is False else f"{flag}={value}" for flag, value in values.items()]
    assert " ".join(shown) == DEFAULTS[words]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("train --config quick seed=3", "keys are set with --set, as in --set seed=3"),
        ("train quick --seed 3", "unknown argument '--seed'; keys are set with --set, as in --set seed=3"),
        ("train quick --run-dri x", "unknown argument '--run-dri'; did you mean --run-dir?"),
        ("train quick --config td", "given are NAME and --config; keys are set with --set KEY=VALUE"),
        ("train", "none is given; "),
        ("tournament random greedy", "the following arguments are required: --out"),
        ("evaluate greedy", "the following arguments are required: --against"),
        ("dataset random", "the following arguments are required: --id"),
        ("train --config quick --resume run", "given are --config and --resume; "),
        ("train --explain seed --list", "given are --list and --explain; "),
        ("train --list --set seed=1", "--set would have no effect: "),
        ("train quick --set seed=1 threads=1 --set seed=2", "--set gives 'seed' twice; "),
        ("train --resume run --run-dir other", "--run-dir would have no effect: "),
        ("compare run --export out --metric score --out out", "--metric, --out would have no effect: "),
        ("compare run --figures svg", "--figures would have no effect: "),
        ("evaluate greedy --against random --overwrite", "--overwrite would have no effect: "),
        ("gauntlet random --overwrite", "--overwrite would have no effect: "),
        ("publish ppo ann/ppo --overwrite", "--overwrite would have no effect: "),
        ("publish ppo ann/ppo --dry-run out --private", "--private would have no effect: "),
        ("report run --overwrite", "--overwrite would have no effect: "),
        ("review game.txt --overwrite", "--overwrite would have no effect: "),
        ("openenv --game nmbr9 --host x --sessions 2 --set seat=0 --set seat=1", "--set gives 'seat' twice"),
        ("openenv --opponent random --idle-seconds 9 --port -1", "the port is -1; allowed are 0 to 65535"),
    ],
)
def test_arguments_that_do_not_go_together_are_named(words, said, folder, capsys):
    assert said in refused(words.split(), capsys)


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is a folder in which no user can write")
@pytest.mark.parametrize(
    "words",
    [
        "evaluate greedy --against random --json /proc/figures.json",
        "gauntlet random --json /proc/figures.json",
        "review game.txt --out /proc/review",
        "review /proc/self/fd/{}",
        "report run --out /proc/report.html",
        "compare run --out /proc/comparison",
        "compare run --export /proc/results",
        "export ppo --out /proc/policy.onnx",
        "publish ppo ann/ppo --dry-run /proc/folder",
        "tournament random greedy --out /proc/games",
    ],
)
def test_a_place_that_cannot_be_written_is_an_error_before_the_work(words, folder, monkeypatch, capsys):
    monkeypatch.setattr(GamesInPlay, "play", None)
    monkeypatch.setattr("patchwork_env.learning.reports.review.review", None)
    with (folder / "game.txt").open() as game:
        assert "cannot write to /proc" in refused(words.format(game.fileno()).split(), capsys)


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
def test_what_was_made_is_not_replaced_unasked(words, option, folder, capsys):
    (folder / "full").mkdir()
    for name in ("taken", "taken.onnx", "full/made"):
        (folder / name).write_text("made before")
    assert cli.main(words.split()) == 2
    said = f" exists already: give another {option}, or replace it with --overwrite\n"
    assert capsys.readouterr().err.endswith(said)
    assert (folder / "taken").read_text() == (folder / "full" / "made").read_text() == "made before"


@pytest.mark.parametrize(
    ("words", "made", "number"),
    [
        ("evaluate random --against random --games 2 --json figures.json", "figures.json", 2),
        ("gauntlet random --games 2 --json figures.json --skip", "figures.json", 2),
        ("tournament random greedy --games 2 --out games", "games/results.json", 2),
        ("review game.txt --agent champion:nodes=2 --out review", "review/review.json", 3),
    ],
)
def test_files_and_the_bar_need_no_reader_of_the_output(words, made, number, folder, monkeypatch, capfd):
    done = []
    monkeypatch.setattr(progress.Bar, "update", lambda bar, more=1: done.append(more))
    skipped = read_pool().specs[1:] if "--skip" in words else ()
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as pipe:
        monkeypatch.setattr(sys, "stdout", pipe)
        cli.main([*words.split(), *skipped])
    assert (folder / made).is_file()
    assert sum(done) == number


def test_the_rating_that_a_gauntlet_prints_is_in_its_file(folder, capsys):
    skipped = read_pool().specs[1:]
    words = ["gauntlet", "greedy", "--games", "2", "--json", "figures.json", "--skip", *skipped]
    assert cli.main([*words, "--format", "csv"]) == 0
    (match,) = json.loads((folder / "figures.json").read_text())["matches"]
    (row,) = csv.DictReader(capsys.readouterr().out.splitlines())
    assert (row["wins"], row["games"]) == (str(match["win_rate"]), str(match["games"])) == ("1.0", "2")


def test_a_signal_stops_the_games_and_what_was_kept_is_named(monkeypatch, capsys):
    def stop(*_, **__):
        raise Interruption(signal.SIGTERM)

    monkeypatch.setitem(sys.modules, "patchwork_env.integrations.minari", SimpleNamespace(record=stop))
    monkeypatch.setattr(gauntlet, "play_gauntlet", stop)
    monkeypatch.setattr(Tournament, "play", stop)
    for words, said in (
        ("dataset random --id a", ": there is no dataset a"),
        ("gauntlet random", ""),
        ("gauntlet random --folder a", "; the same command resumes from the games in a"),
        ("tournament random greedy --out a", ": 0 of 400 games are in a; the same command resumes"),
    ):
        with pytest.raises(SystemExit, match=str(128 + signal.SIGTERM)):
            cli.main(words.split())
        assert capsys.readouterr().out == f"stopped by SIGTERM{said}\n"


def test_a_dataset_is_recorded_as_the_options_say(monkeypatch, capsys):
    monkeypatch.setattr(progress, "_SECONDS_BEFORE_NOTICE", 0.0)
    calls, storage = [], SimpleNamespace(metadata={"dataset_size": 0.5}, data_path="datasets/a/data")

    def record(*given, progress, **options):
        calls.append((given, options))
        return SimpleNamespace(total_episodes=2000, total_steps=41_000, storage=storage)

    monkeypatch.setitem(sys.modules, "patchwork_env.integrations.minari", SimpleNamespace(record=record))
    words = "greedy random --id a --games 4 --seed 5 --game nmbr9 --players 3 --order known --rewards score"
    assert cli.main(["dataset", *words.split(), "--workers", "2"]) == 0
    options = {"game": "nmbr9", "seed": 5, "rewards": "score", "workers": 2, "order": "known", "players": 3}
    assert calls == [((["greedy", "random"], 4, "a"), options)]
    said, bar = capsys.readouterr()
    assert said == "a: 2,000 episodes with 41,000 decisions\n0.5 MB in datasets/a/data\n"
    assert bar.startswith("a: 0%, 0 of 4 games")


@pytest.mark.parametrize(("host", "names"), [("127.0.0.1", LOOPBACK), ("0.0.0.0", None)])
def test_a_server_of_episodes_says_where_it_listens(host, names, monkeypatch):
    """The rest is in tests/integrations/openenv, with the library."""
    package, pipe, served = "patchwork_env.integrations.openenv", io.TextIOWrapper(io.BytesIO()), []

    def serve(config, listening):
        served.append(config.app)
        port = listening.getsockname()[1]
        assert pipe.buffer.getvalue().decode() == f"http://{host}:{port}\n"
        given = {"opponents": ["greedy"], "sessions": 3, "idle_seconds": 9, "players": 2, "seat": "any"}
        assert config.app == ("nmbr9", given | {"hosts": names and [f"{name}:{port}" for name in names]})
        assert (config.ws_max_size, config.timeout_graceful_shutdown) == (7, 1)

    parts = SimpleNamespace(create_app=lambda game, **options: (game, options), MOST_BYTES=7)
    for module in (package, f"{package}.environment"):
        monkeypatch.setitem(sys.modules, module, parts)
    monkeypatch.setattr(uvicorn.Server, "run", lambda server, sockets: serve(server.config, *sockets))
    monkeypatch.setattr(sys, "stdout", pipe)
    words = "--game nmbr9 --opponent greedy --sessions 3 --idle-seconds 9 --set players=2 --set seat=any"
    assert cli.main(["openenv", *words.split(), "--host", host, "--port", "0"]) == 0
    assert len(served) == 1

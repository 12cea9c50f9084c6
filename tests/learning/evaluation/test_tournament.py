"""Tournaments from the command to the files: pairs, resuming, ladders, plots, bad input."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from patchwork_env.agents.networks import NetworkConfig
from patchwork_env.agents.patchwork.policy import save_policy
from patchwork_env.agents.patchwork.policy_network import PatchworkNetwork
from patchwork_env.errors import IllegalActionError, OpponentError
from patchwork_env.learning.commands import tournament
from patchwork_env.learning.evaluation import ratings
from patchwork_env.learning.evaluation.matches import play_matches
from patchwork_env.learning.evaluation.players import load_player
from patchwork_env.learning.evaluation.runners import AGENT, OPPONENT, PatchworkRunner
from patchwork_env.learning.evaluation.tournament import Rung, Tournament
from patchwork_env.learning.runs.folder import rungs
from patchwork_env.learning.system.lock import exclusive_lock

ROOT = Path(__file__).parents[3]
MODULE = """
import json, os, time
SLOW = float(os.environ.get("SLOW", "0"))

def lowest(game):
    return game.legal_actions()[0]

def highest(game):
    time.sleep(SLOW)
    return game.legal_actions()[-1]

def illegal(game):
    return 5000

def confused(game):
    return game.legal_actions()[0] if game.num_moves < 9 else None

def misplays(game):
    game.play(5000)

def raises(game):
    return json.loads("boom")

def leaves(game):
    raise SystemExit(2)
"""


@pytest.fixture(autouse=True)
def _fewer_draws(monkeypatch) -> None:
    monkeypatch.setattr(ratings, "DRAWS", 200)


@pytest.fixture
def module(tmp_path, monkeypatch) -> str:
    folder = tmp_path / "modules"
    folder.mkdir()
    (folder / "players_of_others.py").write_text(MODULE)
    monkeypatch.syspath_prepend(folder)
    return "players_of_others"


def run(*arguments: object, code: int = 0) -> None:
    assert tournament.main([str(argument) for argument in arguments]) == code


def results(folder: Path) -> dict:
    """What does not depend on the time and the machine."""
    contents = json.loads((folder / "results.json").read_text())
    del contents["seconds_per_move"], contents["made_with"]
    return contents


@pytest.mark.slow
def test_everybody_plays_everybody_as_in_a_match_of_their_own(tmp_path, module, capsys) -> None:
    agents = ("random", "greedy", f"{module}:lowest")
    settings = ["--games", 140, "--seed", 3, "--special-patches", "2014", "--workers", 1]
    run(*agents, *settings, "--out", tmp_path / "t")
    contents = results(tmp_path / "t")
    pairs = [(0, 1), (0, 2), (1, 2)]
    assert [(m["agent"], m["opponent"]) for m in contents["matches"]] == [
        (agents[i], agents[j]) for i, j in pairs
    ]
    for match in contents["matches"]:
        players = [load_player(match[side]) for side in ("agent", "opponent")]
        alone = play_matches(*players, 140, 3, special_patches="2014").as_dict()
        assert {key: match[key] for key in alone} == alone
    printed = capsys.readouterr().out
    assert printed.startswith("3 agents, 140 games of each pairing: 70 circles from both seats")
    assert contents["ranking"][0]["agent"] == "greedy"
    assert contents["anchor"] == {"agent": "random", "rating": 0.0}


def test_the_files(tmp_path) -> None:
    folder = tmp_path / "t"
    run("random", "greedy", "--games", 20, "--workers", 1, "--anchor-rating", 1000, "--out", folder)
    contents = json.loads((folder / "results.json").read_text())
    assert contents["agents"][1] == {"name": "greedy", "spec": "greedy", "weights": None}
    greedy, random = contents["ranking"]
    assert (random["rating"], random["interval"]) == (1000, [1000, 1000])
    assert greedy["interval"][0] < greedy["rating"]
    match = play_matches("random", "greedy", 20)
    assert contents["matches"][0]["expected_win_rate"] == pytest.approx(
        1 / (1 + 10 ** ((greedy["rating"] - 1000) / 400))
    )
    assert {name: random[name] for name in PatchworkRunner.figures} == pytest.approx(match.means(AGENT))
    assert {name: greedy[name] for name in PatchworkRunner.figures} == pytest.approx(match.means(OPPONENT))
    assert set(contents["seconds_per_move"]) == {"random", "greedy"}
    assert {"patchwork_env", "python", "numpy", "numba", "torch", "machine"} == set(contents["made_with"])
    rows = list(csv.DictReader((folder / "games.csv").read_text().splitlines()))
    assert len(rows) == 20
    assert [int(row["score_of_agent"]) for row in rows] == match.games.scores[:, AGENT].tolist()
    assert [int(row["agent_wins"]) for row in rows] == match.games.agent_wins.tolist()
    assert [int(row["circle"]) for row in rows] == np.repeat(np.arange(10), 2).tolist()
    for picture in ("ratings", "win_matrix", "distributions"):
        assert (folder / f"{picture}.png").read_bytes().startswith(b"\x89PNG")
    assert not (folder / "ladder.png").exists()


@pytest.mark.slow
@pytest.mark.parametrize(("end", "workers"), [(signal.SIGKILL, 1), (signal.SIGTERM, 2)])
def test_a_tournament_goes_on_where_it_was_stopped(tmp_path, module, end, workers: int) -> None:
    """And ends as one that was not, which ran in a single process."""
    arguments = ["random", f"{module}:lowest", f"{module}:highest", "--games", "140", "--workers", "1"]
    run(*arguments, "--out", tmp_path / "whole")
    folder = tmp_path / "stopped"
    command = [
        sys.executable,
        "-m",
        "training.tournament",
        *arguments[:-1],
        str(workers),
        "--out",
        str(folder),
    ]
    path = os.pathsep.join([str(tmp_path / "modules"), str(ROOT)])
    slow = os.environ | {"PYTHONPATH": path, "SLOW": "0.01"}
    with subprocess.Popen(
        command, cwd=ROOT, env=slow, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as program:
        while not list(folder.glob("blocks/*.json")):
            assert program.poll() is None, program.stderr
            time.sleep(0.05)
        program.send_signal(end)
        printed, errors = program.communicate(timeout=60)
    played = {path: path.stat().st_mtime_ns for path in folder.glob("blocks/*.json")}
    assert 0 < len(played) < 6
    if end == signal.SIGKILL:
        assert program.returncode == -end
    else:
        assert program.returncode == 128 + end, errors
        assert f"stopped by {end.name}: " in printed
        assert f"go on with --resume --out {folder}" in printed
        assert "Traceback" not in errors
    assert not (folder / "results.json").exists()
    run(*(["--resume"] if workers == 1 else arguments), "--out", folder, "--workers", "1")
    assert {path: path.stat().st_mtime_ns for path in played} == played
    assert results(folder) == results(tmp_path / "whole")
    assert (folder / "games.csv").read_text() == (tmp_path / "whole" / "games.csv").read_text()


def test_the_documents_name_all_that_the_results_hold(small) -> None:
    text = (ROOT / "docs/reference/formats.md").read_text(encoding="utf-8")
    contents = json.loads((small / "results.json").read_text())
    keys = {*contents, *contents["agents"][0], *contents["ranking"][0], *contents["matches"][0]}
    assert keys <= set(re.findall(r"`(\w+)`", text))


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> Path:
    """A small tournament that has ended; to be copied."""
    folder = tmp_path_factory.mktemp("small") / "t"
    run("random", "greedy", "--games", 4, "--workers", 1, "--out", folder)
    return folder


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("random greedy --games 6", "games there: 4, here: 6"),
        ("random greedy --games 4 --seed 1", "seed there: 0, here: 1"),
        ("random greedy --games 4 --special-patches 2014", "special_patches there: 'revised', here: '2014'"),
    ],
)
def test_other_settings_are_an_error_that_names_them(small, arguments, message, capsys) -> None:
    before = (small / "results.json").read_bytes()
    run(*arguments.split(), "--workers", 1, "--out", small, code=2)
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert (small / "results.json").read_bytes() == before


def test_another_process_in_the_folder_is_an_error(small, capsys) -> None:
    with exclusive_lock(small):
        run("random", "greedy", "--games", 4, "--workers", 1, "--out", small, code=2)
    assert f"{small} is in use: another process works there" in capsys.readouterr().err


def checkpoint(folder: Path, steps: int, seed: int = 0) -> None:
    import torch

    torch.manual_seed(seed)
    network = PatchworkNetwork(NetworkConfig(width=8, depth=1, channels=4))
    save_policy(folder, network, {"steps": steps})


def test_changed_weights_are_another_agent(tmp_path, capsys) -> None:
    checkpoint(tmp_path / "policy", 0, seed=1)
    arguments = ["random", tmp_path / "policy", "--games", 4, "--workers", 1, "--out", tmp_path / "t"]
    run(*arguments)
    shutil.rmtree(tmp_path / "policy")
    checkpoint(tmp_path / "policy", 0, seed=2)
    run("--resume", *arguments[-4:], code=2)
    assert "policy has other weights than when the tournament began" in capsys.readouterr().err
    run(*arguments)
    assert len(list((tmp_path / "t" / "blocks").iterdir())) == 2


def test_a_damaged_file_is_an_error_that_names_it(small, tmp_path, capsys) -> None:
    for number, (pattern, contents) in enumerate([("blocks/*.json", "{}"), ("tournament.json", "[]")]):
        folder = shutil.copytree(small, tmp_path / str(number))
        (path,) = folder.glob(pattern)
        path.write_text(contents)
        run("random", "greedy", "--games", 4, "--workers", 1, "--out", folder, code=2)
        assert f"{path.name} is damaged" in capsys.readouterr().err


def test_games_of_an_earlier_version_say_what_to_do(small, tmp_path, capsys) -> None:
    shutil.copytree(small, tmp_path / "old")
    path = tmp_path / "old" / "tournament.json"
    path.write_text(path.read_text().replace('"version": 4', '"version": 1'))
    run("--resume", "--workers", 1, "--out", tmp_path / "old", code=2)
    message = (
        "version 1; this needs 'patchwork-env tournament', version 4: have the games played again in another"
    )
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("random", "a tournament needs at least two agents; given: random"),
        ("random greedy random", "agents take part once; given more than once: random"),
        ("random gredy", "there is no agent 'gredy'"),
        ("random none/here", "there is no checkpoint at 'none/here'"),
        ("random players_of_others:none", "has no 'none'"),
        ("random greedy --games 21", "games is 21; it must be even"),
        ("random greedy --seed -1", "seed is -1"),
        ("random greedy --workers 0", "workers is 0"),
        ("random greedy --anchor ppo", "the anchor 'ppo' does not take part; allowed are random, greedy"),
        ("--resume", "holds no tournament"),
        ("--ladder none/here", "holds 0 checkpoints"),
        ("--ladder none/here --count 1", "count is 1; a ladder has at least 2 rungs"),
    ],
)
def test_mistakes_end_with_one_line_before_anything_is_written(
    tmp_path, module, arguments, message, capsys
) -> None:
    run(*arguments.split(), "--out", tmp_path / "t", code=2)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("training.tournament: ")
    assert captured.err.count("\n") == 1
    assert message in captured.err
    assert not (tmp_path / "t").exists()


@pytest.mark.parametrize("arguments", ["random greedy", "random --resume --out t", "--games many --out t"])
def test_arguments_that_cannot_be_read_end_with_the_usage(arguments, capsys) -> None:
    with pytest.raises(SystemExit) as end:
        tournament.main(arguments.split())
    assert end.value.code == 2
    assert "usage: python -m training.tournament" in capsys.readouterr().err


PROGRAM = """
import json, sys
for line in sys.stdin:
    query = json.loads(line)
    if len(query["notation"].split()) > 12:
        sys.exit("out of ideas")
    print(json.dumps({"id": query["id"], "move": query["legal_moves"][0]}), flush=True)
"""


def test_no_game_is_lost_because_one_player_fails(tmp_path, module, capsys) -> None:
    """A program that ends and a function that gives no move: the others play on, and their games are used."""
    (tmp_path / "program.py").write_text(PROGRAM)
    program, confused = f"program:{sys.executable} {tmp_path / 'program.py'}", f"{module}:confused"
    folder, agents = tmp_path / "t", ("random", program, confused, "greedy")
    run(*agents, "--games", 2, "--workers", 1, "--out", folder, code=2)
    error = capsys.readouterr().err
    assert "5 of 6 blocks of games are missing" in error
    assert "out of ideas" in error
    assert f"the action of agent '{confused}' must be an integer, not None" in error
    assert "with --forfeits" in error
    assert error.count("\n") == 1

    (kept,) = folder.glob("blocks/*.json")
    written = kept.stat().st_mtime_ns
    Tournament.enter((f"{module}:lowest", "random", "greedy"), 2).play(folder)  # with the games of those two
    assert len(list(folder.glob("blocks/*.json"))) == 3
    standings = Tournament.enter(agents, 2, forfeits=True).play(folder)
    assert [standings.forfeits(k) for k in range(4)] == [0, 5, 5, 0]
    assert [standings.win_rates[k, 0] for k in (1, 2)] == [0, 0]
    assert f"{confused} lost 5 games because it failed" in standings.table()
    assert Tournament.resume(folder).play(folder).as_dict() == standings.as_dict()
    assert kept.stat().st_mtime_ns == written
    with pytest.raises((IllegalActionError, OpponentError), match="5 of 6 blocks of games are missing"):
        Tournament.enter(agents, 2).play(folder)


@pytest.mark.parametrize(
    ("name", "said", "cause"),
    [("raises", "JSONDecodeError: Expecting", ValueError), ("leaves", "SystemExit: 2", SystemExit)],
)
def test_what_an_agent_raises_is_its_failure(name, said, cause, tmp_path, module, capsys) -> None:
    agent, folder = f"{module}:{name}", tmp_path / "t"
    run("random", agent, "greedy", "--games", 2, "--workers", 1, "--out", folder, code=2)
    error = capsys.readouterr().err
    assert f"2 of 3 blocks of games are missing: agent '{agent}' failed: {said}" in error
    assert f"{module}.py, line " in error
    assert error.count("\n") == 1
    assert len(list(folder.glob("blocks/*.json"))) == 1
    assert Tournament.resume(folder, forfeits=True).play(folder).forfeits(1) == 4
    with pytest.raises(OpponentError, match=name) as caught:
        play_matches(load_player(agent), "random", 2)
    assert isinstance(caught.value.__cause__, cause)


@pytest.mark.parametrize(
    ("name", "said"), [("illegal", " chose action 5000"), ("misplays", ": action 5000 does not exist")]
)
def test_an_illegal_action_is_an_error_of_one_line(name, said, tmp_path, module, capsys) -> None:
    run("random", f"{module}:{name}", "--games", 4, "--workers", 1, "--out", tmp_path / "t", code=2)
    assert f"agent '{module}:{name}'{said}" in capsys.readouterr().err


# --- ladders ----------------------------------------------------------------------------------------------


def run_folder(folder: Path, steps: list[int], final: int | None = None) -> Path:
    """A run with checkpoints after so many steps."""
    for number in steps:
        checkpoint(folder / "checkpoints" / f"step_{number:010d}", number, seed=number)
    if final is not None:
        checkpoint(folder / "final", final)
    lines = [{"steps": number, "minutes": number / 100, "games/score": 0.5} for number in steps if number]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"steps": 9')
    return folder


def test_rungs_are_spread_evenly_and_hold_both_ends(tmp_path) -> None:
    folder = run_folder(tmp_path / "run", [0, 100, 200, 300, 400, 500, 600], final=600)
    chosen = rungs(folder, 4)
    assert [rung.steps for rung in chosen] == [0, 200, 400, 600]
    assert [rung.minutes for rung in chosen] == [0, 2, 4, 6]
    assert chosen[0].spec == str(folder / "checkpoints" / "step_0000000000")
    assert chosen[-1].spec == str(folder / "final")
    assert [rung.steps for rung in rungs(folder, 2)] == [0, 600]
    assert len(rungs(folder, 100)) == 7


def test_a_run_without_final_policy_or_metrics_has_a_ladder_too(tmp_path) -> None:
    folder = run_folder(tmp_path / "run", [100, 200])
    (folder / "metrics.jsonl").unlink()
    assert [rung[1:] for rung in rungs(folder, 8)] == [(100, None), (200, None)]


def test_a_checkpoint_that_does_not_tell_its_steps_is_an_error(tmp_path) -> None:
    folder = run_folder(tmp_path / "run", [100, 200], final=200)
    (folder / "final" / "checkpoint.json").write_text("{}")
    with pytest.raises(ValueError, match=r"final/checkpoint\.json does not describe a checkpoint"):
        rungs(folder, 8)


@pytest.mark.slow
def test_a_ladder_rates_checkpoints_over_steps_and_minutes(tmp_path, capsys) -> None:
    folder = run_folder(tmp_path / "run", [0, 100, 200], final=300)
    run("--ladder", folder, "--count", 3, "greedy", "--games", 4, "--workers", 1, "--anchor", "greedy")
    out = folder / "ladder"
    contents = results(out)
    names = [entry["name"] for entry in contents["agents"]]
    assert names == ["step_0000000000", "step_0000000200", "final", "greedy"]
    assert contents["anchor"]["agent"] == "greedy"
    by_name = {entry["agent"]: entry for entry in contents["ranking"]}
    assert contents["ladder"] == [
        {
            "agent": name,
            "steps": steps,
            "minutes": minutes,
            "rating": by_name[name]["rating"],
            "interval": by_name[name]["interval"],
        }
        for name, steps, minutes in zip(names, [0, 200, 300], [0, 2, None], strict=False)
    ]
    assert (out / "ladder.png").read_bytes().startswith(b"\x89PNG")
    checkpoint(folder / "checkpoints" / "step_0000000400", 400)
    run("--resume", "--ladder", folder, "--workers", 1, "--anchor", "greedy")
    assert results(out) == contents
    assert Rung(str(folder / "final"), 300, None) == Tournament.resume(out).rungs[-1]


def test_agents_that_are_no_texts_are_refused(small, tmp_path) -> None:
    contents = json.loads((small / "tournament.json").read_text())
    contents["agents"] = [1, {}]
    (tmp_path / "tournament.json").write_text(json.dumps(contents))
    with pytest.raises(ValueError, match="agents must be a list of texts"):
        Tournament.resume(tmp_path)

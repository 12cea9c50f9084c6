"""Tournaments from the command to the files: pairs, resuming, the picture, wrong input."""

import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from patchwork_env.agents.checkpoints import SHIPPED_FOLDER, copy_checkpoint
from patchwork_env.errors import IllegalActionError, OpponentError
from patchwork_env.learning.commands import tournament
from patchwork_env.learning.evaluation.matches import load_player, play_matches
from patchwork_env.learning.evaluation.runners import AGENT, OPPONENT
from patchwork_env.learning.evaluation.tournament import Tournament
from patchwork_env.learning.reports import plots
from patchwork_env.learning.system import exclusive_lock
from patchwork_env.patchwork.figures import MATCHES

ROOT = Path(__file__).parents[3]
MODULE = """import json, os, time
SLOW = float(os.environ.get("SLOW", "0"))

def lowest(game):
    return game.legal_actions()[0]

def highest(game):
    time.sleep(SLOW)
    return game.legal_actions()[-1]

illegal = lambda game: 5000
confused = lambda game: game.legal_actions()[0] if game.num_moves < 9 else None
misplays = lambda game: game.play(5000)

def raises(game):
    return json.loads("7", parse_int=lambda text:
        json.loads("boom"))

def leaves(game):
    raise SystemExit(2)"""


def run(*arguments, code=0):
    assert tournament.main([str(argument) for argument in arguments]) == code


def results(folder):
    """The results that do not depend on time and machine."""
    contents = json.loads((folder / "results.json").read_text())
    del contents["seconds_per_move"], contents["made_with"]
    return contents


@pytest.mark.slow
def test_all_pairs_of_agents_play_as_in_separate_matches(tmp_path, module, capsys):
    agents = ("random", "greedy", f"{module}:lowest")
    settings = ["--games", 140, "--seed", 3, "--special-patches", "2014", "--workers", 1]
    run(*agents, *settings, "--out", tmp_path / "t")
    contents = results(tmp_path / "t")
    pairs = [(0, 1), (0, 2), (1, 2)]
    met = [(match["agent"], match["opponent"]) for match in contents["matches"]]
    assert met == [(agents[i], agents[j]) for i, j in pairs]
    for match in contents["matches"]:
        players = [load_player(match[side]) for side in ("agent", "opponent")]
        alone = play_matches(*players, 140, 3, special_patches="2014").as_dict()
        assert match.items() >= json.loads(json.dumps(alone)).items()
    printed = capsys.readouterr().out
    assert printed.startswith("3 agents, 140 games of each pairing: 70 circles from both seats")
    assert contents["ranking"][0]["agent"] == "greedy"
    assert contents["anchor"] == {"agent": "random", "rating": 0.0}


def test_the_files(tmp_path, capsys):
    folder = tmp_path / "t"
    settings = ["--games", 20, "--workers", 1, "--anchor-rating", 1000, "--format", "csv"]
    run("random", "greedy", *settings, "--out", folder)
    match, (text, said) = play_matches("random", "greedy", 20), capsys.readouterr()
    assert said.endswith(f"\nresults and plots: {folder}\n")
    assert (folder / "ratings.csv").read_text() == text
    printed = {row["agent"]: row for row in csv.DictReader(text.splitlines())}
    wins = [float(row["wins"]) for row in printed.values()]
    assert wins == pytest.approx([1 - match.win_rate, match.win_rate])
    contents = json.loads((folder / "results.json").read_text())
    assert (folder / "results.json").read_text() == json.dumps(contents, indent=1) + "\n"
    assert contents["agents"][1] == {"name": "greedy", "spec": "greedy", "weights": None}
    greedy, random = contents["ranking"]
    assert (random["rating"], random["interval"]) == (1000, [1000, 1000])
    assert greedy["interval"][0] < greedy["rating"]
    expected = 1 / (1 + 10 ** ((greedy["rating"] - 1000) / 400))
    assert contents["matches"][0]["expected_win_rate"] == pytest.approx(expected)
    for entry, side in ((random, AGENT), (greedy, OPPONENT)):
        assert {name: entry[name] for name in MATCHES.figures} == pytest.approx(match.means(side))
    (block,) = (path.read_text() for path in folder.glob("blocks/*.json"))
    assert (" " in block, block[-1]) == (False, "\n")
    for side, (name, seconds) in enumerate(contents["seconds_per_move"].items()):
        assert name == ("random", "greedy")[side]
        assert seconds == pytest.approx(json.loads(block)["seconds"][side] / match.games.turns[:, side].sum())
        shown = [float(printed[name][key]) for key in ("empty cells", "ms/move")]
        assert shown == pytest.approx([match.means(side)["empty_cells"], 1000 * seconds])
    assert {"patchwork_env", "python", "numpy", "numba", "torch", "machine"} == set(contents["made_with"])
    rows = list(csv.DictReader((folder / "games.csv").read_text().splitlines()))
    columns = {"circle": np.repeat(np.arange(10), 2), "score_of_agent": match.games.scores[:, AGENT]}
    columns |= {name: getattr(match.games, name) for name in ("agent_starts", "agent_wins")}
    columns |= {"seat": match.games.seats, "bonus_tile_of_opponent": match.games.figures["bonus_tile"][:, 1]}
    for name, values in columns.items():
        assert [float(row[name]) for row in rows] == values.tolist()
    assert (folder / "ratings.png").read_bytes().startswith(b"\x89PNG")
    documented = re.findall(r"`(\w+)`", (ROOT / "docs/reference/formats.md").read_text(encoding="utf-8"))
    parts = (contents, *(contents[part][0] for part in ("agents", "ranking", "matches")))
    assert {key for part in parts for key in part} <= set(documented)


@pytest.mark.slow
@pytest.mark.parametrize(("end", "workers"), [(signal.SIGKILL, 1), (signal.SIGTERM, 2)])
def test_a_stopped_tournament_resumes(tmp_path, module, end, workers):
    """Its results are those of a tournament without a stop, in a single process."""
    arguments = ["random", f"{module}:lowest", f"{module}:highest", "--games", "140", "--workers", "1"]
    run(*arguments, "--out", tmp_path / "whole")
    folder = tmp_path / "stopped"
    command = [sys.executable, "-m", "patchwork_env", "tournament", *arguments[:-1], str(workers)]
    command += ["--out", str(folder)]
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
        assert re.search(f"stopped by {end.name}: .*the same command resumes", printed)
        assert "Traceback" not in errors
    assert not (folder / "results.json").exists()
    run(*arguments, "--out", folder)
    assert {path: path.stat().st_mtime_ns for path in played} == played
    assert results(folder) == results(tmp_path / "whole")
    assert (folder / "games.csv").read_text() == (tmp_path / "whole" / "games.csv").read_text()


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A small tournament that has ended; to be copied."""
    folder = tmp_path_factory.mktemp("small") / "t"
    Tournament.enter(("random", "greedy"), 4).play(folder)
    return folder


def test_other_settings_are_an_error_that_names_them(small, capsys):
    before = (small / "tournament.json").read_bytes()
    for words, message in (
        ("--games 6", "games there: 4, here: 6"),
        ("--games 4 --seed 1", "seed there: 0, here: 1"),
        ("--games 4 --special-patches 2014", "variant there: 'revised', here: '2014'"),
    ):
        run("random", "greedy", *words.split(), "--workers", 1, "--out", small, code=2)
        (error,) = capsys.readouterr().err.splitlines()
        assert message in error
    with exclusive_lock(small):
        run("random", "greedy", "--games", 4, "--workers", 1, "--out", small, code=2)
    assert f"{small} is in use: another process works there" in capsys.readouterr().err
    assert (small / "tournament.json").read_bytes() == before


def test_changed_weights_are_another_agent(tmp_path):
    (policy := tmp_path / "policy").mkdir()
    for name in ("ppo-quick-v1", "ppo-v1"):
        copy_checkpoint(SHIPPED_FOLDER / name, policy)
        Tournament.enter(("random", str(policy)), 2).play(tmp_path / "t")
    assert len(list((tmp_path / "t" / "blocks").iterdir())) == 2


@pytest.mark.parametrize(
    ("file", "change", "message"),
    [
        ("blocks/*.json", lambda text: "{}", "is damaged"),
        ("tournament.json", lambda text: text.replace('sion": 4', 'sion": 1'), "version 1; it must be"),
    ],
)
def test_a_damaged_file_is_an_error_that_names_it(small, tmp_path, file, change, message):
    (path,) = Path(shutil.copytree(small, tmp_path / "t")).glob(file)
    path.write_text(change(path.read_text()))
    with pytest.raises(ValueError, match=message):
        Tournament.enter(("random", "greedy"), 4).play(tmp_path / "t")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("random", "a tournament needs at least two agents; given: random"),
        ("random greedy random", "agents take part once; given more than once: random"),
        ("random gredy", "there is no agent 'gredy'"),
        ("random greedy --anchor ppo", "the anchor 'ppo' does not take part; allowed are random, greedy"),
        ("random greedy --anchor-rating nan", "the anchor's rating is nan; it must be a finite number"),
        ("random greedy --workers 0", "workers is 0; allowed are 1 to 1024"),
    ],
)
def test_mistakes_end_with_one_line_before_anything_is_written(tmp_path, module, arguments, message, capsys):
    run(*arguments.split(), "--out", tmp_path / "t", code=2)
    printed, said = capsys.readouterr()
    assert (printed, said.count("\n"), said.partition(": ")[0]) == ("", 1, "patchwork-env tournament")
    assert message in said
    assert not (tmp_path / "t").exists()


PROGRAM = """import json, sys
for line in sys.stdin:
    query = json.loads(line)
    if len(query["notation"].split()) > 12:
        sys.exit("out of ideas")
    print(json.dumps({"id": query["id"], "move": query["legal_moves"][0]}), flush=True)"""


def test_failures_of_agents_lose_no_games_of_others(tmp_path, module, capsys):
    """After a program ends and a function returns no move, the games of the others are played and used."""
    (tmp_path / "program.py").write_text(PROGRAM)
    program, confused = f"program:{sys.executable} {tmp_path / 'program.py'}", f"{module}:confused"
    folder, agents = tmp_path / "t", ("random", program, confused, "greedy")
    run(*agents, "--games", 2, "--workers", 1, "--out", folder, code=2)
    error = capsys.readouterr().err
    said = f"the action of agent '{confused}' must be an integer, not None"
    for part in ("5 of 6 blocks of games are missing", "out of ideas", said, "with --forfeits"):
        assert part in error
    (kept,) = folder.glob("blocks/*.json")
    written = kept.stat().st_mtime_ns
    standings = Tournament.enter(agents, 2, forfeits=True).play(folder)
    assert [standings.forfeits(k) for k in range(4)] == [0, 5, 5, 0]
    assert [standings.win_rates[k, 0] for k in (1, 2)] == [0, 0]
    assert "  forfeits 0 and 2" in standings.results[0, 1].table().splitlines()
    assert f"{confused} lost 5 games because it failed" in standings.table()
    entered = Tournament.enter(agents, 2, forfeits=True)
    assert (entered.num_games, entered.play(folder).as_dict()) == (12, standings.as_dict())
    assert kept.stat().st_mtime_ns == written
    with pytest.raises((IllegalActionError, OpponentError), match="5 of 6 blocks of games are missing"):
        Tournament.enter(agents, 2).play(folder)
    # The win matrix, the probabilities to be ahead and the note on the worst fit.
    lines = [line for line in standings.table("markdown").splitlines() if line.startswith("|")]
    heading, _, *rows = ([cell.strip() for cell in row.split("|")[1:-1]] for row in lines[len(lines) // 2 :])
    assert heading[1:] == [row[0] for row in rows] == [standings.names[i] for i in standings.order]
    for i, row in zip(standings.order, rows, strict=True):
        rates = [f"{100 * rate:.1f}" for rate in standings.win_rates[i, standings.order]]
        assert row[1:] == ["-" if rate == "nan" else rate for rate in rates]
    ahead = [standings.ratings.ahead[pair] for pair in pairwise(standings.order)]
    assert [entry["ahead_of_next"] for entry in standings.as_dict()["ranking"]] == [*ahead, None]
    pair = max(standings.as_dict()["matches"], key=lambda m: abs(m["expected_win_rate"] - m["win_rate"]))
    said = f"{pair['agent']} against {pair['opponent']}: expected are {pair['expected_win_rate']:.1%} wins, "
    assert f"fit worst for {said}and there were {pair['win_rate']:.1%}." in standings.table()


@pytest.mark.parametrize(
    ("name", "said", "place"),
    [
        ("raises", " failed: JSONDecodeError: Expecting", "agents_of_test_tournament.py, line 17)"),
        ("leaves", " failed: SystemExit: 2", "agents_of_test_tournament.py, line 20)"),
        ("illegal", " chose action 5000", ""),
        ("misplays", ": action 5000 does not exist", ""),
    ],
)
def test_errors_are_attributed_to_the_agent_that_raises_them(name, said, place, tmp_path, module, capsys):
    agents, folder = ("random", f"{module}:{name}", "greedy"), tmp_path / "t"
    run(*agents, "--games", 2, "--workers", 1, "--out", folder, code=2)
    (error,) = capsys.readouterr().err.splitlines()
    assert f"2 of 3 blocks of games are missing: agent '{agents[1]}'{said}" in error
    assert place in error
    assert len(list(folder.glob("blocks/*.json"))) == 1
    assert Tournament.enter(agents, 2, forfeits=True).play(folder).forfeits(1) == 4


def test_without_an_anchor_the_mean_is_fixed(tmp_path, module):
    standings = Tournament.enter(("greedy", f"{module}:lowest"), 4, anchor_rating=1000).play(tmp_path / "t")
    assert standings.anchor == (None, standings.ratings.values.mean().round(9)) == (None, 1000)
    assert " the mean at 1000; an interval is that of the distance to the mean." in standings.table()


@pytest.mark.parametrize(("anchor", "rated", "head"), [("random", 1, "^"), ("greedy", 0, "v")])
def test_the_picture_names_its_axis_and_the_agents(anchor, rated, head, small):
    standings = Tournament.enter(("random", "greedy"), 4, anchor=anchor).play(small)
    said = f" {anchor} at 0; an interval is that of the distance to {anchor}.", "\nAn interval has no end if"
    assert [part for part in said if part not in standings.table()] == []
    (axes,) = plots._ratings_figure(standings).axes
    assert axes.get_ylabel() == "rating, Elo points, with 95% interval"
    labels = [(one.get_text(), one.get_rotation(), one.get_rotation_mode()) for one in axes.get_xticklabels()]
    assert labels == [(name, 45, "anchor") for name in ("greedy", "random")]
    assert [axis.get_gridlines()[0].get_visible() for axis in (axes.xaxis, axes.yaxis)] == [False, True]
    value, ends = (part[rated] for part in standings.ratings[:2])
    far = value + (60 if rated else -60)  # greedy won all games
    assert [tuple(*one.get_xydata()) for one in axes.lines if one.get_marker() == head] == [(1 - rated, far)]
    assert {(one.get_marker(), one.get_markersize()) for one in axes.lines} == {("o", 5), ("_", 6), (head, 6)}
    assert {one.get_color() for one in axes.lines} == {"#23777b"}
    bars = [bar.get_segments()[0][:, 1].tolist() for bar in axes.collections]
    assert [bars[rated], bars[1 - rated]] == [[0, 0], pytest.approx([end or far for end in ends])]
    assert axes.figure.get_size_inches().tolist() == [1.6 + 2 * 0.6, 4]

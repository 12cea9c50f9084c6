"""Comparisons of configurations by several runs of each: groups, tables, figures and errors."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml
from matplotlib.figure import Figure
from PIL import Image

from patchwork_env import cli
from patchwork_env.learning.algorithms.ppo.config import PpoConfig
from patchwork_env.learning.commands.compare import main
from patchwork_env.learning.config import dump_config
from patchwork_env.learning.evaluation import play_matches
from patchwork_env.learning.evaluation.records import EVALUATION_FORMAT, EVALUATION_VERSION
from patchwork_env.learning.evaluation.statistics import mean_of_runs
from patchwork_env.learning.reports import comparison as comparisons
from patchwork_env.learning.reports.comparison import compare, runs_table, summary_table
from patchwork_env.learning.reports.run_results import read_result, write_result, write_training

START = {"steps": 0, "commit": "c" * 40, "patchwork_env": "0.1.0", "python": "3.11.7", "numpy": "2.4.6"}
START |= {"numba": "0.68.0", "torch": "2.13.0", "machine": "a machine, 2 cores"}
TURNS = "steps of training (turns of all games)"
EXTREME = '_$%&#{}~^\\|$<b>,"'


def match_of(opponent, rate, games=100, **more):
    sides = {"agent": {"score": 20.0}, "opponent": {"score": 10.0}}
    found = {"agent": "ppo", "opponent": opponent, "games": games, "seed": 7, "sides": sides}
    found |= {"win_rate": rate, "win_rate_interval": [0.0, 1.0], "score_difference": 50 * rate - 25}
    found |= {"score_difference_interval": None, "turns_per_game": 40.0, "variant": "revised"}
    return found | {"win_rate_starting": rate, "win_rate_following": rate} | more


def write_run(folder, rates=(0.2, 0.6), opponents=("greedy",), starts=(START,), speed=1000, **config):
    """A run with an evaluation every 1000 steps; speed is that of training, in steps per minute."""
    (folder / "evaluations").mkdir(parents=True)
    (folder / "config.yaml").write_text(dump_config(PpoConfig(**{"total_steps": 2000} | config)))
    lines = [f"{json.dumps(start)}\n" for start in starts]
    (folder / "versions.jsonl").write_text("".join(lines) + '{"steps": 5, "com')
    for k, rate in enumerate(rates, 1):
        matches = [match_of(name, rate if name == "greedy" else 1.0) for name in opponents]
        weights = "a1" * 32 if k == len(rates) else None
        write_evaluation(folder, 1000 * k, 1000 * k / speed, matches, weights)
    return folder


def write_evaluation(folder, steps, minutes, matches, weights=None):
    contents = {"format": EVALUATION_FORMAT, "version": EVALUATION_VERSION, "machine": "a machine"}
    contents |= {"steps": steps, "minutes": minutes, "weights": weights}
    contents |= {"matches": matches, "sample_games": []}
    (folder / "evaluations" / f"step_{steps:010d}.json").write_text(json.dumps(contents))


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Five runs of one configuration, four of which reach 0.6 to 0.9, and three of another with 0.5."""
    base = tmp_path_factory.mktemp("runs")
    ends = (0.6, 0.7, 0.8, 0.9, 0.0)
    good = [write_run(base / f"wide-seed{k}", (0.1, end), seed=k) for k, end in enumerate(ends)]
    plain = [write_run(base / f"plain-seed{k}", (0.3, 0.5), seed=k, speed=500 * (k + 1)) for k in range(3)]
    return good + plain


@pytest.fixture(scope="module")
def found(runs):
    return compare([read_result(run) for run in runs])


@pytest.fixture(scope="module")
def written(runs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables") / "out"
    assert main([*map(str, runs), "--out", str(folder)]) == 0
    return folder


def compared(*folders):
    return compare([read_result(folder) for folder in folders])


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_runs_that_differ_in_their_seeds_are_one_configuration(found):
    groups = [(one.label, one.runs[0].algorithm, [run.seed for run in one.runs]) for one in found.groups]
    assert groups == [("wide", "ppo", [0, 1, 2, 3, 4]), ("plain", "ppo", [0, 1, 2])]
    assert (found.metric, found.opponents) == ("win_rate", ("greedy",))
    np.testing.assert_allclose(found.scores(found.groups[0])[:, 0], [0.6, 0.7, 0.8, 0.9, 0.0])


def test_configurations_of_one_name_have_different_labels(tmp_path):
    places = [(tmp_path / f"{epochs}/ppo/seed{seed}", epochs, seed) for epochs in (2, 3) for seed in (0, 1)]
    keys = "epochs", "max_gradient_norm", "target_kl", "value_coefficient"  # of which labels have three
    results = [read_result(write_run(f, seed=k, ppo=dict.fromkeys(keys, n))) for f, n, k in places]
    label = "ppo (ppo.epochs=3, ppo.max_gradient_norm=3.0, ppo.target_kl=3.0)"
    assert [group.label for group in compare(results).groups] == ["ppo", label]


def test_names_of_runs_come_from_their_folders(tmp_path):
    names = {"ppo-seed3": "ppo", "ppo_wide-2": "ppo_wide", "td": "td", "nmbr9": "nmbr9", "ppo/3": "ppo"}
    names |= {"ppo-60-seed0": "ppo-60", "quick-20261123-061058": "quick", "td/seed-4": "td"}
    assert {folder: read_result(write_run(tmp_path / folder)).name for folder in names} == names


def drawn(comparison, monkeypatch):
    """The panels of the picture of a comparison."""
    figures: list[Figure] = []
    monkeypatch.setattr(comparisons, "save", lambda figure, *_: figures.append(figure))
    comparisons.write_curves(comparison, Path())
    return figures[0].axes


def test_curves_are_means_over_what_all_runs_have(runs, found, tmp_path, monkeypatch):
    wide, plain = found.groups
    steps = found.learning_curve(wide, "greedy", "steps")
    assert steps.places.tolist() == [1000, 2000]
    np.testing.assert_allclose(steps.values, [0.1, 0.6])
    for place, rates in enumerate((np.full((1, 5, 1), 0.1), found.scores(wide)[None])):
        assert steps.interval(place) == mean_of_runs(rates, np.full((1, 5, 1), 100.0)).interval()
    assert not len(found.learning_curve(plain, "greedy", "minutes").places)  # 2 to 4, 1 to 2, 2/3 to 4/3
    together = compared(*runs[5:7])
    curve = together.learning_curve(together.groups[0], "greedy", "minutes")
    assert set(curve.places) == {2.0}
    np.testing.assert_allclose(curve.values, 0.4)  # the first evaluation of one, the last of the other
    (bar,) = drawn(together, monkeypatch)[1].collections  # besides curve, point and both ends of the bar
    np.testing.assert_allclose(bar.get_segments(), [[(2.0, end) for end in curve.interval(0)]])
    assert [line.get_markersize() for line in drawn(together, monkeypatch)[1].get_lines()] == [6, 5, 6, 6]
    paces = [write_run(tmp_path / f"{k}", (0.1, 0.5, 0.9), seed=k, speed=1000 - 200 * k) for k in (0, 1)]
    write_evaluation(paces[0], 2900, 2.9, [match_of("greedy", 0.8)])
    uneven, alone = compared(*paces), compared(paces[0])  # after 1, 2, 2.9, 3 and 1.25, 2.5, 3.75 minutes
    assert alone.learning_curve(alone.groups[0], "greedy", "minutes").places.tolist() == [1, 2, 2.9, 3]
    panels = drawn(uneven, monkeypatch)
    grids = [1e3, 2e3, 2.9e3, 3e3], np.linspace(1.25, 3, 5)
    for axis, axes, places in zip(comparisons.AXES, panels, grids, strict=True):
        curve = uneven.learning_curve(uneven.groups[0], "greedy", axis)
        np.testing.assert_allclose(curve.places, places)
        np.testing.assert_allclose(axes.get_lines()[0].get_xydata(), np.transpose(curve[:2]))


def test_the_picture_names_everything_and_its_bands_are_the_intervals(found, monkeypatch):
    monkeypatch.setattr(comparisons, "SERIES", ["red"])  # so that the second line has dashes
    panels = drawn(found, monkeypatch)
    figure, (legend,) = panels[0].figure, panels[0].figure.legends
    figure.draw_without_rendering()
    assert figure.get_size_inches() == pytest.approx([2 * 4.4, 3.2 + 2 * 0.32])
    assert [text.get_text() for text in legend.get_texts()] == ["wide (5 runs)", "plain (3 runs)"]
    for axes, unit in zip(panels, (TURNS, "minutes of training"), strict=True):
        assert (axes.get_xlabel(), axes.get_ylabel()) == (unit, "wins against greedy")
        assert (axes.get_xscale(), axes.get_xlim()[0]) == ("linear", 0)
        assert axes.xaxis.get_major_formatter()(2e4) + axes.yaxis.get_major_formatter()(0.5) == "20k50%"
        assert {line.get_alpha() for line in (*axes.get_xgridlines(), *axes.get_ygridlines())} == {0.3}
        assert [line.get_linestyle() for line in axes.lines if not line.get_clip_on()] == ["-", "--"]
        assert legend.get_window_extent().y0 > axes.get_window_extent().y1
    for band, group in zip(panels[0].collections, found.groups, strict=True):
        _, _, low, high = found.learning_curve(group, "greedy", "steps")
        assert band.get_paths()[0].get_extents().extents == pytest.approx([1e3, min(low), 2e3, max(high)])
        assert (*band.get_linewidths(), band.get_alpha()) == (0, 0.16)


def test_trainings_of_very_different_lengths_have_a_logarithmic_axis(tmp_path, monkeypatch):
    first = [write_run(tmp_path / f"first-seed{k}", seed=k, speed=1000 + 3000 * k) for k in (0, 1)]
    for speed, scale in ((9000, "linear"), (10000, "log"), (20000, "log"), (np.inf, "linear")):
        panels = drawn(compared(*first, write_run(tmp_path / f"{speed}/other", speed=speed)), monkeypatch)
        assert [axes.get_xscale() for axes in panels] == ["linear", scale]


def test_tables(found):
    texts = [" ".join(part.split()) for part in comparisons.as_text(found, "text").split("\n\n")]
    assert texts[0].startswith("patchwork: wins over 100 games of every run, evaluation seed 7. Means over ")
    wide = "wide greedy 5 60.0% 22.6% to 88.5% 0.0% 90.0% 2,000 2.0"
    plain = "plain greedy 3 50.0% 44.4% to 55.6% 50.0% 50.0% 2,000 2.4"
    assert texts[1].endswith(f"95% interval lowest highest steps minutes {wide} {plain}")
    assert texts[3].endswith(" against probability 95% interval wide plain greedy 80% 38% to 96%")
    assert texts[5].endswith(" plain 2 2,000 1.3 50.0% a1a1a1a1a1a1")


def test_the_runs_have_their_versions_machine_and_weights(written):
    names = ["comparison.md", "comparison.tex", "curves.svg", "runs.csv"]
    assert sorted(path.name for path in written.iterdir()) == names
    expected = {key: value for key, value in START.items() if key != "steps"} | {"weights": "a1" * 32}
    for row in rows((written / "runs.csv").read_text()):
        assert {key: row[key] for key in expected} == expected
    assert all("a1a1a1a1a1a1" in (written / f"comparison.{end}").read_text() for end in ("md", "tex"))


def test_formats_of_pictures(runs, tmp_path):
    for folder, form in (("a/b", "png"), ("a", "pdf"), ("a/b", "pdf")):
        assert main([str(runs[0]), "--out", f"{tmp_path / folder}", "--figures", form, "--overwrite"]) == 0
    with Image.open(tmp_path / "a" / "b" / "curves.png") as picture:
        assert round(picture.info["dpi"][0]) == 300
    first, again = ((tmp_path / name / "curves.pdf").read_bytes() for name in ("a", "a/b"))
    assert first.startswith(b"%PDF")
    assert first == again


def test_the_command_prints_every_format(runs, capsys):
    for form in ("text", "markdown", "latex", "csv"):
        assert cli.main(["compare", *map(str, runs), "--format", form]) == 0
        said = capsys.readouterr().out
        assert all(word in said for word in ("wide", "greedy"))
        assert ("60.0%" in said) == (form in ("text", "markdown"))


def test_several_opponents_and_odd_names(tmp_path, capsys):
    """No name is read as a formula."""
    opponents, name = ("greedy", EXTREME), r"$\alpha_{$"
    folders = [tmp_path / f"{name}-seed{k}" for k in range(3)]
    for k, folder in enumerate(folders):  # single points; rounding puts the upper end of 100% below it
        write_run(folder, (k / 5,), opponents, seed=k, total_steps=1000)
    assert main([*map(str, folders), "--out", str(tmp_path / "out"), "--format", "csv"]) == 0
    found = rows(capsys.readouterr().out)
    assert [row["against"] for row in found] == [*opponents, "all of them"]
    assert [float(row["wins"]) for row in found] == pytest.approx([0.2, 1.0, 0.6])
    assert name in "\n".join(ElementTree.parse(tmp_path / "out" / "curves.svg").getroot().itertext())
    # Runs count as wholes, and points against different opponents are not put together.
    assert [float(found[2][end]) for end in ("lowest", "highest")] == pytest.approx([0.5, 0.7])
    assert main([*map(str, folders), "--metric", "score_difference", "--format", "csv"]) == 0
    assert [row["against"] for row in rows(capsys.readouterr().out)] == [*opponents]


def test_nmbr9_counts_points(runs):
    found = compare([replace(read_result(run), game="nmbr9") for run in runs])
    assert found.metric == "score"
    assert summary_table(found).cells()[1][3:5] == ["20.0", ""]  # equal scores say nothing of the spread
    with pytest.raises(ValueError, match="metric is 'wins'; allowed are win_rate, "):
        compare([read_result(runs[0])], metric="wins")


def test_other_trainings_are_compared(tmp_path, capsys):
    for name, policy in (("a", lambda game: int(game.legal_actions()[-1])), ("b", "greedy")):
        for seed in np.arange(2):
            evaluations = [(np.int64(1000), 1.5, [play_matches(policy, "random", games=2, seed=seed)])]
            write_training(tmp_path, name, evaluations=evaluations, seed=seed, configuration={"rate": 0.1})
    assert cli.main(["compare", *map(str, sorted(tmp_path.iterdir()))]) == 0
    lines = [line.split()[:3] for line in capsys.readouterr().out.splitlines() if "random" in line]
    assert lines[:2] == [["a", "random", "2"], ["b", "random", "2"]]
    read = {(one.name, one.algorithm, one.starts[0]["steps"]) for one in map(read_result, tmp_path.iterdir())}
    assert read == {("a", "a", 0), ("b", "b", 0)}


def test_wrong_arguments_of_other_trainings_are_errors(tmp_path):
    patchwork, nmbr9 = (play_matches("random", "random", 2, game=name) for name in ("patchwork", "nmbr9"))
    refused: list[tuple[str, dict]] = [
        ("none", {"evaluations": []}),
        ("nmbr9, patchwork", {"evaluations": [(1, 1.0, [patchwork, nmbr9])]}),
        ("step 1 follows", {"evaluations": [(1, 1.0, [patchwork]), (1, 2.0, [patchwork])]}),
        ("matches", {"evaluations": [(1, 1.0, [patchwork]), (2, 2.0, [])]}),
        ("name", {"name": ""}),
        (f"seed is {2**64}; allowed are 0 to {2**64 - 1}", {"seed": 2**64}),
        ("JSON", {"configuration": {"rate": float("nan")}}),
    ]
    for word, changes in refused:
        with pytest.raises(ValueError, match=word):
            write_training(tmp_path, **({"name": "mine", "evaluations": [(1, 1.0, [patchwork])]} | changes))
    assert not list(tmp_path.iterdir())


def test_files_of_results_give_the_same_tables_and_figures(runs, written, tmp_path, capsys):
    export = ["--export", str(tmp_path / "results")]
    assert main([*map(str, runs), *export]) == 0
    files = [tmp_path / "results" / f"{run.name}.json" for run in runs]
    assert capsys.readouterr().out.split() == list(map(str, files))
    assert sorted(files) == sorted((tmp_path / "results").iterdir())
    assert all(file.stat().st_size < 10_000 for file in files)
    assert main([*map(str, files), "--out", str(tmp_path / "out")]) == 0
    assert all(path.read_bytes() == (tmp_path / "out" / path.name).read_bytes() for path in written.iterdir())
    result = read_result(files[5])
    assert repr(result) == "<RunResult: plain, seed 0, 2 evaluations>"
    assert write_result(result, tmp_path / "again" / "here").read_bytes() == files[5].read_bytes()
    assert files[5].read_text() == json.dumps(json.loads(files[5].read_text()), indent=1) + "\n"
    assert result.configuration == yaml.safe_load((runs[5] / "config.yaml").read_text())
    assert "exists already: give another --export, or replace it with" in refused(capsys, runs[0], *export)
    assert main([str(runs[0]), *export, "--overwrite"]) == 0
    twin = write_run(tmp_path / "wide-seed0")
    (twin / "config.yaml").write_text("{}")  # by default the seed is 0
    said = f"would both be {tmp_path / 'twins' / 'wide-seed0.json'}: rename a folder"
    assert said in refused(capsys, runs[0], twin, "--export", tmp_path / "twins")


def test_a_run_that_was_resumed_elsewhere_has_all_versions(tmp_path):
    later = START | {"steps": 1000, "commit": "d" * 40 + "+", "torch": "2.14.0"}
    for starts, expected in (((START, later), "2.13.0, then 2.14.0"), ((), "not recorded")):
        found = compared(write_run(tmp_path / f"ppo{len(starts)}", starts=starts))
        assert rows(runs_table(found).csv())[0]["torch"] == expected
        assert "improvement" not in comparisons.as_text(found, "text")


def refused(capsys, *arguments):
    capsys.readouterr()
    assert main([str(argument) for argument in arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    return line


def test_runs_that_cannot_be_compared_are_refused(runs, tmp_path, capsys):
    first = runs[0]
    short, variant = (write_run(tmp_path / name) for name in ("short", "variant"))
    write_evaluation(short, 3000, 3.0, [match_of("greedy", 0.5, games=20)])
    write_evaluation(variant, 3000, 3.0, [match_of("greedy", 0.5, variant="2014")])
    game = write_run(tmp_path / "game", game="nmbr9", ppo={"points": 1})
    new, half = (write_run(tmp_path / name, rates) for name, rates in (("new", ()), ("half", (0.5,))))
    other = write_run(tmp_path / "other", opponents=("random", "greedy"))
    for arguments, message in (
        ([tmp_path / "none"], f"there is no run {tmp_path / 'none'}"),
        ([first, new], "has no evaluation yet"),
        ([first, other], "met 'greedy', "),
        ([first, other], "'random', 'greedy'; give those to compare with --against"),
        ([first, other, "--against", "random"], "no match against 'random' in its last evaluation, but 'g"),
        ([first, short], f"number of games against greedy: {first} has 100; {short} has 20"),
        ([first, half], f"{half} was last evaluated after 1,000 of 2,000 steps"),
        ([first, variant], "the same variant of the game"),
        ([first, game], f"the same game: {first} has 'patchwork'; {game} has 'nmbr9'"),
        ([first, runs[1], first], "are not independent samples: both have seed 0"),
    ):
        assert message in refused(capsys, *arguments)
    assert main([str(first), str(other), "--against", "greedy"]) == 0


def test_damaged_files_of_results_are_refused(runs, tmp_path, capsys):
    path = write_result(read_result(runs[0]), tmp_path)
    sound = json.loads(path.read_text())
    for change, message in (
        ({"version": 1}, "version 1; it must be"),
        ({"seed": -1}, "is damaged: seed"),
        ({"name": "a\nb"}, "is damaged: name"),
        ({"game": "chess"}, "game is 'chess'; known are patchwork, nmbr9"),
        ({"evaluations": []}, f"{path} has no evaluation yet"),
        ({"evaluations": sound["evaluations"][::-1]}, "evaluation of step 1000 follows that of step 2000"),
    ):
        path.write_text(json.dumps(sound | change))
        assert message in refused(capsys, path)
    path.write_text("{")
    assert "is damaged" in refused(capsys, path)

"""Configurations compared by several runs of each: groups, tables, figures, and what is refused."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml
from PIL import Image

from patchwork_env import cli
from patchwork_env.learning.algorithms.ppo.config import PpoConfig
from patchwork_env.learning.commands.compare import main
from patchwork_env.learning.config import dump_config
from patchwork_env.learning.evaluation import play_matches
from patchwork_env.learning.evaluation.records import EVALUATION_FORMAT, EVALUATION_VERSION
from patchwork_env.learning.evaluation.statistics import RLIABLE, mean_of_runs
from patchwork_env.learning.reports.comparison import compare
from patchwork_env.learning.reports.comparison_plots import curves, improvement, profiles
from patchwork_env.learning.reports.comparison_tables import provenance_lines, summary_table
from patchwork_env.learning.reports.run_results import read_result, write_result, write_training
from patchwork_env.patchwork import Game

START = {"steps": 0, "commit": "c" * 40, "patchwork_env": "0.1.0", "python": "3.11.7", "numpy": "2.4.6"}
START |= {"numba": "0.68.0", "torch": "2.13.0", "machine": "a machine, 2 cores"}
EXTREME = '_$%&#{}~^\\|$<b>,"'


def match_of(opponent: str, rate: float, games: int = 100, score: float = 20.0, **more) -> dict:
    sides = {"agent": {"score": score}, "opponent": {"score": 10.0}}
    found = {"agent": "ppo", "opponent": opponent, "games": games, "seed": 7, "sides": sides}
    found |= {"win_rate": rate, "win_rate_interval": [0.0, 1.0], "score_difference": 50 * rate - 25}
    found |= {"score_difference_interval": None, "turns_per_game": 40.0, "special_patches": "revised"}
    return found | {"win_rate_starting": rate, "win_rate_following": rate} | more


def write_run(
    folder: Path, rates=(0.2, 0.6), opponents=("greedy",), starts=(START,), speed=1000, **config
) -> Path:
    """A run with an evaluation every 1000 steps; speed is that of training, in steps per minute."""
    (folder / "evaluations").mkdir(parents=True)
    (folder / "config.yaml").write_text(dump_config(PpoConfig(**{"total_steps": 2000} | config)))
    (folder / "versions.jsonl").write_text(
        "".join(f"{json.dumps(start)}\n" for start in starts) + '{"steps": 5, "com'
    )
    for k, rate in enumerate(rates, 1):
        matches = [match_of(name, rate if name == "greedy" else 1.0) for name in opponents]
        write_evaluation(
            folder, 1000 * k, 1000 * k / speed, matches, weights="a1" * 32 if k == len(rates) else None
        )
    return folder


def write_evaluation(
    folder: Path, steps: int, minutes: float, matches: list[dict], weights: str | None
) -> None:
    contents = {
        "format": EVALUATION_FORMAT,
        "version": EVALUATION_VERSION,
        "steps": steps,
        "minutes": minutes,
    }
    contents |= {"machine": "a machine", "matches": matches, "sample_games": [], "weights": weights}
    (folder / "evaluations" / f"step_{steps:010d}.json").write_text(json.dumps(contents))


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> list[Path]:
    """Five runs of one configuration, four of which reach 0.6 to 0.9, and three of another with 0.5."""
    base = tmp_path_factory.mktemp("runs")
    good = [
        write_run(base / f"wide-seed{k}", (0.1, 0.6 + 0.1 * k if k < 4 else 0.0), seed=k) for k in range(5)
    ]
    return good + [
        write_run(base / f"plain-seed{k}", (0.3, 0.5), seed=k, speed=500 * (k + 1)) for k in range(3)
    ]


@pytest.fixture(scope="module")
def written(runs, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("tables") / "out"
    assert main([*map(str, runs), "--out", str(folder)]) == 0
    return folder


def texts(picture: ElementTree.ElementTree) -> list[str]:
    """What a picture shows as text."""
    return ["".join(text.itertext()) for text in picture.iter("{http://www.w3.org/2000/svg}text")]


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


# --- what is put together -----------------------------------------------------------------------------------


def test_runs_that_differ_in_their_seeds_are_one_configuration(runs) -> None:
    found = compare([read_result(run) for run in runs])
    assert [(group.label, [run.seed for run in group.runs]) for group in found.groups] == [
        ("wide", [0, 1, 2, 3, 4]),
        ("plain", [0, 1, 2]),
    ]
    assert (found.metric, found.opponents) == ("win_rate", ("greedy",))
    np.testing.assert_allclose(found.scores(found.groups[0])[:, 0], [0.6, 0.7, 0.8, 0.9, 0.0])


def test_configurations_of_one_name_are_told_apart(tmp_path) -> None:
    folders = [
        write_run(tmp_path / f"{epochs}/ppo/seed{seed}", seed=seed, ppo={"epochs": epochs})
        for epochs in (2, 3)
        for seed in (0, 1)
    ]
    results = [read_result(folder) for folder in folders]
    assert [group.label for group in compare(results).groups] == ["ppo", "ppo (ppo.epochs=3)"]
    by_key = compare(results, by=["ppo.epochs"]).groups
    assert [(group.label, len(group.runs)) for group in by_key] == [("ppo.epochs=2", 2), ("ppo.epochs=3", 2)]
    with pytest.raises(ValueError, match=r"no independent samples: both have the seed 0"):
        compare(results, by=["algorithm"])
    with pytest.raises(ValueError, match=r"cannot be grouped by 'ppo.epoch'; did you mean 'ppo.epochs'"):
        compare(results, by=["ppo.epoch"])


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("ppo-seed3", "ppo"),
        ("ppo_wide-2", "ppo_wide"),
        ("td", "td"),
        ("nmbr9", "nmbr9"),
        ("ppo-60-seed0", "ppo-60"),
        ("quick-20261123-061058", "quick"),
        ("td/seed-4", "td"),
        ("ppo/3", "ppo"),
    ],
)
def test_names_of_folders_say_what_is_run(tmp_path, folder, name) -> None:
    assert read_result(write_run(tmp_path / folder)).name == name


def test_curves_are_means_over_what_all_runs_have(runs) -> None:
    found = compare([read_result(run) for run in runs])
    wide, plain = found.groups
    steps = found.learning_curve(wide, "greedy", "steps")
    assert steps is not None
    assert steps.places.tolist() == [1000, 2000]
    np.testing.assert_allclose(steps.band.values, [0.1, 0.6])
    for place, games in enumerate((100.0, 100.0)):
        rates = found.scores(wide) if place else np.full((5, 1), 0.1)
        assert steps.band.interval(place) == mean_of_runs(rates, np.full((5, 1), games)).interval()
    by_name = compare([read_result(run) for run in runs], statistics=RLIABLE)
    of_rliable = by_name.learning_curve(wide, "greedy", "steps")
    np.testing.assert_allclose(
        of_rliable.band.values, [0.1, 0.7]
    )  # of 0, 0.6, 0.7, 0.8, 0.9 the middle three
    minutes = found.learning_curve(plain, "greedy", "minutes")  # 2 to 4, 1 to 2 and 2/3 to 4/3 minutes
    assert minutes is None
    together = compare([read_result(run) for run in runs[5:7]])
    curve = together.learning_curve(together.groups[0], "greedy", "minutes")
    assert curve is not None
    assert set(curve.places) == {2.0}
    np.testing.assert_allclose(curve.band.values, 0.4)  # the first evaluation of one, the last of the other


# --- tables and figures -------------------------------------------------------------------------------------


def test_the_summary(written) -> None:
    wide, plain = rows((written / "summary.csv").read_text())
    assert (wide["configuration"], wide["against"], wide["runs"], wide["steps"]) == (
        "wide",
        "greedy",
        "5",
        "2000.0",
    )
    assert float(wide["wins"]) == pytest.approx(0.6)
    assert (float(wide["lowest"]), float(wide["highest"])) == (0.0, pytest.approx(0.9))
    assert float(wide["wins, lower end"]) < 0.6 < float(wide["wins, upper end"])
    interval = mean_of_runs(np.full((3, 1), 0.5), np.full((3, 1), 100.0)).interval()
    assert (float(plain["wins, lower end"]), float(plain["wins, upper end"])) == pytest.approx(interval)
    assert float(plain["minutes"]) == pytest.approx((4 + 2 + 4 / 3) / 3)


def test_the_probability_of_improvement(written) -> None:
    (row,) = rows((written / "improvement.csv").read_text())
    assert (row["configuration"], row["better than"], row["probability"]) == ("wide", "plain", "0.8")


def test_every_table_and_figure_says_what_it_was_made_with(written) -> None:
    tables = sorted(written.glob("*.csv"))
    assert [table.stem for table in tables] == ["curves", "improvement", "profiles", "runs", "summary"]
    for table in tables:
        for row in rows(table.read_text()):
            assert {key: row[key] for key in START if key != "steps"} == {
                k: v for k, v in START.items() if k != "steps"
            }
            assert set(row["weights"].split("; ")) == {"a1" * 32}
    for path in (written / "comparison.md", written / "comparison.tex", *written.glob("*.svg")):
        text = " ".join(path.read_text().split())
        for said in (
            "0.1.0 (commit cccccccccccc)",
            "torch 2.13.0",
            "numba 0.68.0",
            "a machine, 2 cores",
            "a1a1a1a1a1a1",
        ):
            assert said.replace("_", r"\_" if path.suffix == ".tex" and "\\_" in text else "_") in text, path
    assert sorted(path.stem for path in written.glob("*.svg")) == ["curves", "improvement", "profiles"]


def test_pictures_of_a_single_run(runs, tmp_path) -> None:
    assert main([str(runs[0]), "--out", str(tmp_path), "--figures", "png"]) == 0
    with Image.open(tmp_path / "curves.png") as picture:
        assert round(picture.info["dpi"][0]) == 300
    assert not (tmp_path / "improvement.png").exists()


@pytest.mark.parametrize("options", [[], ["--no-footer"]])
def test_footers_of_pictures_have_no_hashes_of_weights(runs, tmp_path, options) -> None:
    assert main([*map(str, runs), "--out", str(tmp_path), *options]) == 0
    shown = " ".join(texts(ElementTree.parse(tmp_path / "curves.svg")))
    assert ("Made with" in shown) == (not options)
    assert "SHA-256" not in shown
    description = (tmp_path / "curves.svg").read_text()
    assert "Made with" in description
    assert "SHA-256" in description


def test_pictures_as_pdf(runs, tmp_path) -> None:
    files = [tmp_path / name / "curves.pdf" for name in ("first", "again")]
    for file in files:
        assert main([str(runs[0]), "--out", str(file.parent), "--figures", "pdf"]) == 0
    first, again = (file.read_bytes() for file in files)
    assert first.startswith(b"%PDF")
    assert first == again


def test_a_single_evaluation_is_a_dot_with_its_interval(tmp_path) -> None:
    runs = [write_run(tmp_path / f"a-seed{k}", (0.1 + 0.1 * k,), seed=k, total_steps=1000) for k in range(3)]
    figure = curves(compare([read_result(run) for run in runs]))
    for axes in figure.axes:
        (dot,) = axes.containers
        ((low, high),) = [segment[:, 1] for segment in dot.lines[2][0].get_segments()]
        assert low < 0.2 < high


@pytest.mark.parametrize(("rates", "low", "high"), [((0.0, 0.0), 0.0, 0.1), ((0.9, 1.0), 0.8, 1.0)])
def test_axes_of_shares_end_at_0_and_at_1(tmp_path, rates, low, high) -> None:
    found = compare([read_result(write_run(tmp_path / "a", rates))])
    for axes in curves(found).axes:
        bottom, top = axes.get_ylim()
        assert low <= bottom <= rates[0] <= rates[1] <= top <= high


@pytest.mark.parametrize("rate", [0.0, 0.25, 1.0])
def test_profiles_of_runs_that_did_equally_well_are_not_empty(tmp_path, rate) -> None:
    runs = [write_run(tmp_path / f"a-seed{k}", (rate,), seed=k, total_steps=1000) for k in range(2)]
    found = compare([read_result(run) for run in runs])
    places, (shares, *_) = found.profile(found.groups[0], "greedy")
    assert 0.0 <= places[0] < places[-1] <= 1.0
    assert shares[0] == (rate > 0.0)
    assert shares[-1] == 0.0


def test_improvements_without_an_interval_are_hollow(tmp_path) -> None:
    found = compare([read_result(write_run(tmp_path / name)) for name in "ab"])
    (dot,) = improvement(found).axes[0].containers
    assert dot.lines[0].get_markerfacecolor() == "white"


def test_short_and_long_trainings_share_a_logarithmic_axis(tmp_path) -> None:
    runs = [read_result(write_run(tmp_path / name, speed=speed)) for name, speed in (("a", 100), ("b", 1000))]
    scales = [axes.get_xscale() for axes in curves(compare(runs)).axes]
    assert scales == ["linear", "log"]  # equal steps; 20 and 2 minutes


def test_panels_keep_their_height_whatever_the_legend_holds(tmp_path) -> None:
    runs = [read_result(write_run(tmp_path / f"configuration_{letter}")) for letter in "abcdefghi"]
    heights = []
    for shown in (runs[:2], runs):
        figure = profiles(compare(shown))
        figure.draw_without_rendering()
        heights.append(figure.axes[0].get_position().height * figure.get_figheight())
    few, many = heights
    assert many == pytest.approx(few, rel=0.1)


@pytest.mark.parametrize("letters", [3, 9, 14, 20])
def test_the_legend_is_no_wider_than_the_figure(tmp_path, letters) -> None:
    names = [letter * letters for letter in "mwx"]
    figure = profiles(compare([read_result(write_run(tmp_path / name)) for name in names]))
    (legend,) = figure.legends
    assert [text.get_text()[:letters] for text in legend.get_texts()] == names
    assert legend.get_window_extent().width <= figure.bbox.width


def test_the_text_of_pictures_is_text(written) -> None:
    said = texts(ElementTree.parse(written / "profiles.svg"))
    assert [line for line in said if "runs)" in line] == ["wide (5 runs)", "plain (3 runs)"]


@pytest.mark.parametrize("form", ["text", "markdown", "latex", "csv"])
def test_the_command_prints_every_format(runs, capsys, form) -> None:
    assert cli.main(["compare", *map(str, runs), "--format", form]) == 0
    said = capsys.readouterr().out
    assert "wide" in said
    assert "greedy" in said
    assert ("Made with patchwork_env 0.1.0" in said) == (form != "csv")
    assert ("60.0%" in said) == (form in ("text", "markdown"))


def test_the_statistics_of_rliable_are_had_by_name(runs, capsys) -> None:
    assert main([*map(str, runs), "--statistics", "rliable"]) == 0
    said = capsys.readouterr().out
    assert "stratified bootstrap" in said
    assert "70.0%" in said


def test_several_opponents_and_odd_names(tmp_path, capsys) -> None:
    opponents = ("greedy", EXTREME)
    folders = [write_run(tmp_path / f"ppo-seed{k}", (0.1, 0.2 * k), opponents, seed=k) for k in range(3)]
    assert main([*map(str, folders), "--out", str(tmp_path / "out"), "--format", "csv"]) == 0
    found = rows(capsys.readouterr().out)
    assert [(row["against"], float(row["wins"])) for row in found] == [
        ("greedy", pytest.approx(0.2)),
        (EXTREME, 1.0),
        ("all of them", pytest.approx(0.6)),
    ]
    ElementTree.parse(tmp_path / "out" / "curves.svg")
    # Runs count as wholes, and points against different opponents are not put together.
    assert (float(found[2]["lowest"]), float(found[2]["highest"])) == pytest.approx((0.5, 0.7))
    points = compare([read_result(folder) for folder in folders], metric="score_difference")
    assert [row[1] for row in summary_table(points).rows] == [*opponents]


def test_nmbr9_counts_points(runs) -> None:
    found = compare([read_result(run).model_copy(update={"game": "nmbr9"}) for run in runs])
    assert found.metric == "score"
    assert summary_table(found).cells()[1][3:5] == ["20.0", ""]  # equal scores say nothing of the spread
    assert found.profile(found.groups[0], "greedy").band.values[[0, -1]].tolist() == [1.0, 0.0]  # all: 20
    with pytest.raises(ValueError, match="metric is 'wins'; allowed are win_rate, "):
        compare([read_result(runs[0])], metric="wins")


# --- trainings of one's own ---------------------------------------------------------------------------------


def test_own_trainings_are_compared(tmp_path, capsys) -> None:
    def last(game: Game) -> int:
        return int(game.legal_actions()[-1])

    for name, policy in (("mine", last), ("other", "greedy")):
        for seed in (0, 1):
            matches = [play_matches(policy, "random", games=2, seed=seed)]
            found = {"evaluations": [(1000, 1.5, matches)], "seed": seed, "configuration": {"rate": 0.1}}
            write_training(tmp_path, name, **found)
    assert cli.main(["compare", *map(str, sorted(tmp_path.iterdir())), "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    assert [line.split()[:3] for line in said.splitlines() if "random" in line][:2] == [
        ["mine", "random", "2"],
        ["other", "random", "2"],
    ]
    assert (tmp_path / "out" / "curves.svg").is_file()


def test_own_trainings_that_are_none_are_refused(tmp_path) -> None:
    patchwork, nmbr9 = (play_matches("random", "random", 2, game=name) for name in ("patchwork", "nmbr9"))
    refused: list[tuple[str, dict]] = [
        ("none", {"evaluations": []}),
        ("nmbr9, patchwork", {"evaluations": [(1, 1.0, [patchwork, nmbr9])]}),
        ("step 1 follows", {"evaluations": [(2, 1.0, [patchwork]), (1, 2.0, [patchwork])]}),
        ("matches", {"evaluations": [(1, 1.0, [patchwork]), (2, 2.0, [])]}),
        ("name", {"name": ""}),
        ("seed", {"seed": -1}),
        ("JSON", {"configuration": {"rate": float("nan")}}),
    ]
    sound = {"name": "mine", "evaluations": [(1, 1.0, [patchwork])]}
    for word, changes in refused:
        with pytest.raises(ValueError, match=word):
            write_training(tmp_path, **(sound | changes))
    assert not list(tmp_path.iterdir())


def test_no_name_is_read_as_a_formula(tmp_path) -> None:
    run = write_run(tmp_path / r"$\alpha_{$-seed0")
    assert main([str(run), "--out", str(tmp_path / "out"), "--figures", "svg"]) == 0
    for name in ("curves", "profiles"):
        assert r"$\alpha_{$" in (tmp_path / "out" / f"{name}.svg").read_text()


# --- files of results ---------------------------------------------------------------------------------------


def test_files_of_results_give_the_same_tables_and_figures(runs, written, tmp_path, capsys) -> None:
    assert main([*map(str, runs), "--export", str(tmp_path / "results")]) == 0
    files = sorted((tmp_path / "results").iterdir())
    assert [file.name for file in files][:2] == ["plain-seed0.json", "plain-seed1.json"]
    assert all(file.stat().st_size < 10_000 for file in files)
    order = [tmp_path / "results" / f"{run.name}.json" for run in runs]
    assert main([*map(str, order), "--out", str(tmp_path / "out")]) == 0
    for path in written.iterdir():
        assert path.read_bytes() == (tmp_path / "out" / path.name).read_bytes()
    result = read_result(files[0])
    assert repr(result) == "<RunResult: plain, seed 0, 2 evaluations>"
    assert write_result(result, tmp_path / "again").read_bytes() == files[0].read_bytes()
    assert result.configuration == yaml.safe_load((runs[5] / "config.yaml").read_text())
    assert main([str(runs[0]), "--export", str(tmp_path / "results")]) == 2
    assert "exists already: give another --export, or replace it with --overwrite" in capsys.readouterr().err
    assert main([str(runs[0]), "--export", str(tmp_path / "results"), "--overwrite"]) == 0
    capsys.readouterr()
    twin = write_run(tmp_path / "wide-seed0")
    assert main([str(runs[0]), str(twin), "--export", str(tmp_path / "twins")]) == 2
    said = f"would both be {tmp_path / 'twins' / 'wide-seed0.json'}: rename a folder"
    assert said in capsys.readouterr().err


def test_a_run_that_went_on_elsewhere_says_so(tmp_path) -> None:
    later = START | {"steps": 1000, "commit": "d" * 40 + "+", "torch": "2.14.0"}
    result = read_result(write_run(tmp_path / "ppo", starts=(START, later)))
    assert result.made_with("torch") == "2.13.0, then 2.14.0"
    found = compare([result])
    assert "(commit cccccccccccc, then dddddddddddd+)" in provenance_lines(found.groups)[0]
    old = read_result(write_run(tmp_path / "old", starts=()))
    assert "versions that were not recorded" in " ".join(provenance_lines(compare([old]).groups))


# --- what is refused ----------------------------------------------------------------------------------------


def refused(capsys, *arguments) -> str:
    assert main([str(argument) for argument in arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    return line


def test_runs_that_cannot_be_compared_are_refused(runs, tmp_path, capsys) -> None:
    assert refused(capsys, tmp_path / "none").endswith(f"there is no run {tmp_path / 'none'}")
    assert "is no run: it holds no config.yaml" in refused(capsys, tmp_path)
    new = write_run(tmp_path / "new", ())
    assert "has no evaluation yet" in refused(capsys, runs[0], new)
    other = write_run(tmp_path / "other", opponents=("random", "greedy"))
    assert "met 'greedy', " in (said := refused(capsys, runs[0], other))
    assert said.endswith("'random', 'greedy'; --against names those that count")
    assert main([str(runs[0]), str(other), "--against", "greedy"]) == 0
    capsys.readouterr()
    assert "has not met 'random' in its last evaluation, but 'greedy'" in refused(
        capsys, runs[0], other, "--against", "random"
    )
    short = write_run(tmp_path / "short")
    write_evaluation(short, 3000, 3.0, [match_of("greedy", 0.5, games=20)], None)
    assert f"number of games against greedy: {runs[0]} has 100; {short} has 20" in refused(
        capsys, runs[0], short
    )
    unfinished = write_run(tmp_path / "unfinished", (0.5,))
    told = f"that have ended; {unfinished} was last evaluated after 1,000 of 2,000 steps"
    assert told in refused(capsys, runs[0], unfinished)
    old = write_run(tmp_path / "old")
    write_evaluation(old, 3000, 3.0, [match_of("greedy", 0.5, special_patches="2014")], None)
    assert "the same variant of the game" in refused(capsys, runs[0], old)
    config = old / "config.yaml"
    config.write_text(config.read_text().replace("game: patchwork", "game: nmbr9"))
    assert f"the same game: {runs[0]} has 'patchwork'; {old} has 'nmbr9'" in refused(capsys, runs[0], old)
    assert "no independent samples: both have the seed 0" in refused(capsys, runs[0], runs[0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 1}, "version 1; this needs"),
        ({"seed": -1}, "is damaged: seed"),
        ({"name": "a\nb"}, "is damaged: name"),
        ({"game": "chess"}, "game is 'chess'; known are patchwork, nmbr9"),
        ({"evaluations": []}, "has no evaluation yet"),
        ({"more": 1}, "is damaged: more"),
    ],
)
def test_damaged_files_of_results_are_refused(runs, tmp_path, capsys, change, message) -> None:
    path = write_result(read_result(runs[0]), tmp_path)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    assert message in refused(capsys, path)
    path.write_text("{")
    assert "is damaged" in refused(capsys, path)


def test_evaluations_in_another_order_are_refused(runs, tmp_path, capsys) -> None:
    path = write_result(read_result(runs[0]), tmp_path)
    contents = json.loads(path.read_text())
    path.write_text(json.dumps(contents | {"evaluations": contents["evaluations"][::-1]}))
    assert refused(capsys, path).endswith("is damaged: the evaluation of step 1000 follows that of step 2000")

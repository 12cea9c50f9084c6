"""The page about a run: complete, self-contained, and safe with any names."""

import html
import json
import re
import shutil
from dataclasses import asdict
from functools import cache

import pytest

from patchwork_env.games import rules_of
from patchwork_env.learning.algorithms.ppo.config import PpoConfig
from patchwork_env.learning.commands.report import main
from patchwork_env.learning.config import dump_config
from patchwork_env.learning.evaluation.matches import play_matches
from patchwork_env.learning.evaluation.records import EVALUATION_FORMAT as FORMAT
from patchwork_env.learning.evaluation.records import EVALUATION_VERSION as VERSION
from patchwork_env.learning.evaluation.records import read_evaluation
from patchwork_env.learning.evaluation.results import sample_games
from patchwork_env.learning.reports import run_page
from patchwork_env.learning.reports.charts import MOST_POINTS, SERIES, SERIES_ON_DARK
from patchwork_env.learning.runs.folder import evaluation_files
from tests.learning.reports.pages import Page, check_nothing_has_to_be_loaded
from tests.learning.reports.test_charts import marks

OPPONENTS = ("random", "greedy")
LAST = "evaluations/step_0000003000.json"
EVIL = "\"'><img src=x onerror=alert(1)></style></title></pre><script>alert(2)</script>&amp;{{ 7 * 7 }}"


@cache
def match(opponent, seed=1, game="patchwork"):
    return play_matches("greedy", opponent, 8, seed, game=game, keep=2)


def write_run(folder, opponents=OPPONENTS, iterations=30, evaluations=2, game="patchwork", **config):
    """A run's files, with matches between agents that play fast."""
    (folder / "evaluations").mkdir(parents=True)
    settings = PpoConfig(**config).model_copy(update={"game": game})
    (folder / "config.yaml").write_text(dump_config(settings))
    figures = {"games/score": -1.0, "games/win_rate": 0.25, "league/snapshots": 2, "time/steps_per_second": 9}
    with (folder / "metrics.jsonl").open("w") as file:
        for k in range(iterations):
            line = {"steps": 100 * k, "minutes": k / 2, "losses/loss": 1 / (k + 1), "evaluation/x": 1}
            file.write(json.dumps(line | figures) + "\n")
    for k in range(1, evaluations + 1):
        steps = 100 * k * iterations // evaluations
        write_evaluation(folder, steps, [match(opponent, k, game) for opponent in opponents])
    return folder


def write_evaluation(folder, steps, results):
    contents = {"format": FORMAT, "version": VERSION, "steps": steps, "minutes": steps / 200}
    contents |= {"machine": "a machine", "matches": [result.as_dict() for result in results]}
    contents["sample_games"] = [asdict(sample) for result in results for sample in sample_games(result)]
    (folder / "evaluations" / f"step_{steps:010d}.json").write_text(json.dumps(contents))


def last_evaluation(run):
    return read_evaluation(list(evaluation_files(run).values())[-1])


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run in the middle."""
    folder = tmp_path_factory.mktemp("runs") / "walnut"
    return write_run(folder, description="A run to look at.", total_steps=6000, seed=17)


@pytest.fixture(scope="module")
def tower(tmp_path_factory):
    """A run of NMBR 9."""
    return write_run(tmp_path_factory.mktemp("runs") / "tower", evaluations=1, game="nmbr9")


@pytest.fixture(scope="module")
def page(run, tmp_path_factory):
    return report(tmp_path_factory.mktemp("pages"), run)


def report(folder, run):
    out = folder / "page.html"
    assert main([str(run), "--out", str(out), "--overwrite"]) == 0
    return Page(out.read_text(encoding="utf-8"))


def test_a_page_is_complete_and_loads_nothing(run, page):
    told = "walnut", "A run to look at.", "ppo", "3,000 of 6,000", "not finished", "15.0 minutes", "a machine"
    assert [text for text in told if text not in page.text] == []
    assert page.source.startswith("<!DOCTYPE html>")
    assert f"<pre>{html.escape((run / 'config.yaml').read_text())}</pre>" in page.source
    page.check_titles("games won, over steps", "games won, over minutes", "score difference", "empty cells")
    page.check_titles("loss", "score", "steps per second", "buttons spent")
    for chart in page.source.split("</figure>")[:2]:
        assert [text for _, _, text in marks(chart, "end")[:-1]] == ["0%", "20%", "40%", "60%", "80%", "100%"]
    parts = "greedy: 50% (", "win rate: 25% at 0 steps", '</tr>\n  <tr><td class="left">random'
    assert [part for part in parts if part not in page.source] == []  # greedy wins half against itself
    headings = ["Strength", "Win rates", "Games of the evaluations", "Self-play", "League", "Losses", "Speed"]
    assert re.findall("<h2>(.*?)</h2>", page.source) == [*headings, "Sample games", "Configuration"]
    assert page.source.index(SERIES[0]) < page.source.index(SERIES_ON_DARK[0])
    check_nothing_has_to_be_loaded(page)


def test_strength_is_that_of_the_last_evaluation(run, page):
    last = last_evaluation(run)
    assert [match.opponent for match in last.matches] == list(OPPONENTS)
    for match in last.matches:
        low, high = match.win_rate_interval
        row = f"{match.opponent} 3,000 8 {match.win_rate:.1%} {low:.1%} to {high:.1%} "
        assert row.replace(" ", "") in page.text.replace(" ", "")
        assert f"{match.score_difference:+.2f}" in page.text
        assert f"{match.opponent}: {100 * match.sides['agent']['bonus_tile']:.3g}% at" in page.source
        for side in match.sides.values():
            assert f"{side['buttons_from_advancing']:.2f}" in page.text


def test_sample_games(run, page, tower, tmp_path, monkeypatch):
    of_tower = (tower, report(tmp_path, tower), "nmbr9", "NMBR 9")
    for folder, shown, game, title in ((run, page, "patchwork", "Patchwork"), of_tower):
        samples = last_evaluation(folder).sample_games
        assert len(samples) == 4
        for sample in samples:
            assert html.escape(sample.notation.strip()) in shown.source
            scores = rules_of(game).game.from_notation(sample.notation).scores()
            assert f"{scores[0]} to {scores[1]}" in shown.text
            assert [w for w in sample.notation.split("\n")[1].split() if f">{w}<" not in shown.source] == []
        assert shown.source.count(f"<title>{title}</title>") == len(OPPONENTS)
    monkeypatch.setattr(run_page, "_MOST_PICTURES", 1)
    assert report(tmp_path, run).source.count("<title>Patchwork</title>") == 1


def test_a_page_of_nmbr9_shows_scores_ties_and_tables(tower, tmp_path):
    page = report(tmp_path, tower)
    assert "each deck once, for both sides; a tie is half a win" in page.text
    assert "when starting" not in page.text
    for match in last_evaluation(tower).matches:
        low, high = match.score_intervals["agent"]
        assert f"{match.opponent}: {match.score:.4g} ({low:.4g} to {high:.4g}) at" in page.source
        assert all(part in page.text for part in (f"{match.score:.2f}", f"{low:.2f} to {high:.2f}"))
    assert all(words in page.text for words in (", a tie", "won by greedy"))
    page.check_titles("levels", "tiles on level 1", "games won, over steps", "score difference")
    check_nothing_has_to_be_loaded(page)


def test_finished_run(run, tmp_path):
    done = shutil.copytree(run, tmp_path / "done")
    config = (done / "config.yaml").read_text()
    for total in (2900, 2900, 3000):  # a run ends with the iteration that reaches its steps
        (done / "config.yaml").write_text(config.replace("total_steps: 6000", f"total_steps: {total}"))
        page, has_final = report(tmp_path, done), (done / "final").is_dir()
        assert ("state finished" in page.text) == has_final == (f" of {total:,}" not in page.text)
        (done / "final").mkdir(exist_ok=True)


def test_runs_that_have_just_begun(tmp_path):
    folder = write_run(tmp_path / "run", evaluations=0, iterations=1)
    page = report(tmp_path, folder)
    assert "There is no evaluation yet" in page.text
    assert "games won" not in page.source
    page.check_titles("loss")
    expected = ("There is no evaluation yet", "There are no learning curves yet", "There are no sample games")
    for text in ('{"steps": 100, "minu', "", None):  # the first line is being written
        (folder / "metrics.jsonl").unlink() if text is None else (folder / "metrics.jsonl").write_text(text)
        page = report(tmp_path, folder)
        assert all(words in page.text for words in (*expected, " 0 of 1,000,000 ", " 0.0 minutes "))


def test_values_that_are_not_finite_are_left_out(tmp_path):
    folder = write_run(tmp_path / "run", ("greedy",), MOST_POINTS - 2, evaluations=1)
    with (folder / "metrics.jsonl").open("a") as file:
        for value in ("NaN", "Infinity"):
            file.write(f'{{"steps": 400, "minutes": 2, "losses/loss": {value}, "losses/other": {value}}}\n')
    page = report(tmp_path, folder)
    assert re.findall("nan|infinity", page.source.lower()) == []
    assert "points are thinned" not in page.text
    page.check_titles("loss", "games won against greedy, over steps", "empty cells against greedy")
    assert marks(page.source.partition("</figure>")[0], "end")[-2][2] == "100%"
    assert "<figcaption>other</figcaption>" not in page.source


def test_files_of_other_versions(run, tmp_path):
    folder = shutil.copytree(run, tmp_path / "old")
    for path in sorted((folder / "evaluations").iterdir()):
        report(tmp_path, folder).check_titles("buttons spent")
        contents = json.loads(path.read_text())
        for side in contents["matches"][0]["sides"].values():
            del side["buttons_spent"]
        contents["matches"][0]["win_rate"] = 0.0  # the sample games against the hardest opponent come first
        contents["sample_games"].reverse()
        path.write_text(json.dumps(contents))
    text = report(tmp_path, folder).text
    assert text.count("unknown") == 2
    assert text.rindex("greedy against random : ") < text.index("greedy against greedy : ")
    (folder / "config.yaml").write_text("unheard_of: 2026-11-21\ntotal_steps: many\n")
    page = report(tmp_path, folder)
    assert all(words in page.text for words in ("unheard_of: 2026-11-21", "not stated"))


def test_hostile_names_stay_text(run, tmp_path):
    folder = shutil.copytree(run, tmp_path / EVIL.replace("/", "|"))
    (folder / "config.yaml").write_text(json.dumps({"description": EVIL, "algorithm": EVIL}))
    contents = json.loads((folder / LAST).read_text())
    contents["machine"] = EVIL
    for match in contents["matches"]:
        match["agent"] = match["opponent"] = EVIL
    for sample in contents["sample_games"]:
        sample["opponent"], sample["players"] = EVIL, [EVIL, EVIL]
    (folder / LAST).write_text(json.dumps(contents))
    with (folder / "metrics.jsonl").open("a") as file:
        file.write(json.dumps({"steps": 3100, "minutes": 16, EVIL: 1.0, f"losses/{EVIL}": 2.0}) + "\n")
    page = report(tmp_path, folder)
    assert not set(page.tags) & {"script", "img"}
    assert not [name for name, _ in page.attributes if name.startswith("on") or name == "src"]
    assert page.tags.count("style") == 1
    assert page.text.count("<script>alert(2)</script>&amp;{{ 7 * 7 }}") > 10
    assert Page(f"<p>{html.escape(EVIL)}</p>").text in page.text


def assert_fails(capsys, arguments, *messages):
    capsys.readouterr()
    assert main([str(argument) for argument in arguments]) == 2
    printed, said = capsys.readouterr()
    assert (printed, said.count("\n")) == ("", 1)
    assert said.startswith("patchwork-env report: ")
    assert all(message in said for message in messages)


def test_folders_that_have_no_page(tmp_path, capsys):
    assert_fails(capsys, [tmp_path], f"{tmp_path} is not a run: it holds no config.yaml")
    assert_fails(capsys, [tmp_path / "missing"], "is no run")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "quilt").mkdir()
    config = tmp_path / "quilt" / "config.yaml"
    config.write_text("game: chess\n")
    assert_fails(capsys, [tmp_path / "quilt"], "game is 'chess'; known are patchwork, nmbr9")
    assert_fails(capsys, [config, "--out", tmp_path / "page"], "is a file; a report is about the folder of a")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("config.yaml", "a: [", "config.yaml is not valid YAML"),
        ("metrics.jsonl", '{"steps": 1, "minutes": 1}\n{"ste\n', "metrics.jsonl, line 2, is damaged"),
        ("metrics.jsonl", '{"steps": "x", "minutes": 1}\n', "metrics.jsonl, line 1, is damaged"),
        ("metrics.jsonl", '{"steps": 1}\n', "metrics.jsonl, line 1, is damaged"),
        ("metrics.jsonl", f'{{"steps": {10**12}, "minutes": 1}}\n', "metrics.jsonl, line 1, is damaged"),
        ("metrics.jsonl", f'{{"steps": 1, "minutes": {10**9}}}\n', "metrics.jsonl, line 1, is damaged"),
        (LAST, "{", "step_0000003000.json is damaged"),
        (LAST, '{"format": "x", "version": 1}', "is 'x', version 1; it must be"),
        (LAST, "without matches", "is damaged: matches: Field required"),
        (LAST, "of checkers", "starts with 'patchwork/1', not with 'checkers/1'"),
    ],
)
def test_damaged_files_are_named_and_an_older_page_stays(run, tmp_path, capsys, name, text, message):
    folder = shutil.copytree(run, tmp_path / "run")
    if text == "without matches":
        text = json.dumps({"format": FORMAT, "version": VERSION, "steps": 1, "minutes": 2, "machine": 3})
    elif text == "of checkers":
        text = (folder / name).read_text().replace("patchwork/1", "checkers/1")
    (folder / name).write_text((name == "metrics.jsonl") * 2**26 * " " + text)  # learning curves may be long
    (folder / "report.html").write_text("older")
    assert_fails(capsys, [folder], message)
    assert (folder / "report.html").read_text() == "older"


def test_where_the_page_goes(run, tmp_path, capsys):
    folder = shutil.copytree(run, tmp_path / "run")
    assert main([str(folder)]) == 0
    assert f"{folder / 'report.html'}: " in capsys.readouterr().out
    assert_fails(capsys, [folder, "--out", tmp_path], "is a folder")

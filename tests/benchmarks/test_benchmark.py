"""The benchmark: its protocol, its files of results, and its page."""

import json

import pytest

from benchmarks.benchmark import GAMES, TASKS, check_protocol, comparisons, figures_of, read_results
from benchmarks.keeping import FOLDER
from patchwork_env.learning.evaluation.matches import fingerprint
from patchwork_env.learning.evaluation.records import RunEvaluation
from patchwork_env.learning.evaluation.results import MatchFigures
from patchwork_env.learning.reports.run_results import RunResult, read_result, write_result
from tests.scripts import ROOT, run_benchmark

RESULTS = ROOT / "benchmarks" / "results"
MATCH = {"opponent": "greedy", "games": GAMES, "seed": 2026, "variant": "revised"}
MATCH |= {"win_rate": 0.5, "score_difference": 1.0, "sides": {"agent": {"score": 20.0}}}


def result_with(run=0, weights="ab", **match):
    told = {"name": "mine", "seed": run, "game": "patchwork", "algorithm": "mine", "configuration": {}}
    evaluation = RunEvaluation(1000, 2.0, (MatchFigures(**MATCH | match),))
    return RunResult(**told, starts=(), weights=weights, evaluations=(evaluation,))


def test_opponents_are_those_of_the_tasks():
    for task in TASKS:
        assert fingerprint(task.opponent) == task.weights, task.name


def test_the_page_lists_the_tasks():
    text = (ROOT / "docs" / "measure" / "benchmark.md").read_text()
    for task in TASKS:
        (row,) = (line for line in text.splitlines() if line.startswith(f"| `{task.name}` |"))
        assert row.endswith(f"| {task.seed} |")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"games": 400}, r"games, seed and variant against greedy are \(400, 2026, 'revised'\)"),
        ({"seed": 0}, "patchwork-greedy has"),
        ({"variant": "2014"}, "'2014'"),
        (
            {"opponent": "random"},
            "takes part in no task: its last evaluation met none of greedy, ppo-v1, champion-v1:",
        ),
    ],
)
def test_what_does_not_keep_the_protocol_is_refused(change, message):
    check_protocol(result_with())
    with pytest.raises(ValueError, match=message):
        check_protocol(result_with(**change))
    with pytest.raises(ValueError, match="the run has not ended"):
        check_protocol(result_with(weights=None))


@pytest.mark.slow
def test_figures_and_curves_are_made_of_the_files(tmp_path):
    results, docs = tmp_path / "results", tmp_path / "docs"
    docs.mkdir()
    for seed in range(3):
        write_result(result_with(seed, win_rate=0.2 * seed), results)
    done = run_benchmark(
        "benchmark.py", f"--write={tmp_path}", "--results", str(results), "--docs", str(docs)
    )
    assert done.returncode == 0, done.stderr
    assert "3 results" in done.stdout
    reached = json.loads((tmp_path / "benchmark.json").read_text())["figures"]["patchwork-greedy mine"]
    assert (reached["value"], reached["runs"]) == (0.2, 3)
    assert (docs / "images/benchmark/patchwork-greedy.svg").is_file()


def test_results_of_the_project_keep_the_protocol(tmp_path):
    for file in RESULTS.glob("*.json"):
        result = read_result(file)
        check_protocol(result)
        assert write_result(result, tmp_path).name == file.name


def test_figures_are_those_of_the_results():
    known = json.loads((FOLDER / "benchmark.json").read_text())["figures"]
    found = {}
    for task, comparison in comparisons(read_results(RESULTS)):
        found |= figures_of(task, comparison)
    assert found == known
    assert [len(comparisons([result_with(run) for run in range(count)])) for count in (2, 3)] == [0, 1]

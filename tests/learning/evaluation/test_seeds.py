"""Several runs of one configuration: what they say together."""

from __future__ import annotations

import json

import numpy as np
import pytest

from patchwork_env.learning.commands import evaluate
from patchwork_env.learning.evaluation.intervals import interquartile_interval, interquartile_mean
from patchwork_env.learning.evaluation.matches import play_matches
from patchwork_env.learning.evaluation.seeds import ALL_OPPONENTS, over_seeds, put_together, seeds_table

RUNS = "random", "greedy", "champion:instant"
OPPONENTS = "random", "greedy"


@pytest.fixture(scope="module")
def results():
    return [play_matches(run, opponent, 8, seed=2) for run in RUNS for opponent in OPPONENTS]


def test_each_run_counts_as_one_value(results) -> None:
    rates = np.array([result.win_rate for result in results]).reshape(3, 2)
    differences = np.array([result.score_difference for result in results]).reshape(3, 2)
    entries = over_seeds(results)
    assert [entry.opponent for entry in entries] == [*OPPONENTS, ALL_OPPONENTS]
    for entry, columns in zip(entries, ([0], [1], [0, 1]), strict=True):
        assert entry.runs == 3
        assert entry.win_rate == interquartile_mean(rates[:, columns])
        assert entry.win_rate_interval == interquartile_interval(rates[:, columns])
        assert (entry.lowest, entry.highest) == (rates[:, columns].min(), rates[:, columns].max())
        assert entry.score_difference == interquartile_mean(differences[:, columns])
        assert entry.score_difference_interval == interquartile_interval(differences[:, columns])
    assert len(seeds_table(entries).lines()) == 4


def test_a_single_run_has_no_interval_and_a_single_opponent_no_sum(results) -> None:
    [entry] = over_seeds(results[:1])
    assert (entry.runs, entry.win_rate_interval, entry.win_rate) == (1, None, results[0].win_rate)


def test_runs_that_met_others_are_not_put_together(results) -> None:
    with pytest.raises(ValueError, match="these met: random, greedy; random"):
        over_seeds(results[:3])
    with pytest.raises(ValueError, match="these met: no runs"):
        put_together([])


def test_the_command_puts_runs_together(tmp_path, results, capsys) -> None:
    path = tmp_path / "figures.json"
    arguments = [*RUNS, "--against", *OPPONENTS, "--games", "8", "--seed", "2"]
    assert evaluate.main([*arguments, "--json", str(path)]) == 0
    expected = over_seeds(results)
    printed = capsys.readouterr().out
    assert printed.endswith("\n".join(seeds_table(expected).lines()) + "\n")
    assert "Over the runs: interquartile means" in printed
    contents = json.loads(path.read_text())
    assert contents["over_seeds"] == json.loads(json.dumps([entry._asdict() for entry in expected]))
    assert len(contents["matches"]) == 6
    assert evaluate.main(["random", "--against", "random", "--games", "2"]) == 0
    assert "Over the runs" not in capsys.readouterr().out

"""Several runs of one configuration: what they say together."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from patchwork_env import agents
from patchwork_env.learning.commands import evaluate
from patchwork_env.learning.evaluation.matches import play_matches
from patchwork_env.learning.evaluation.statistics import ALL_OPPONENTS, mean_of_runs, over_seeds, seeds_table

RUNS = "ppo-quick", "ppo-quick-v1"
OPPONENTS = "random", "greedy"


@pytest.fixture(scope="module")
def runs():
    return [[play_matches(run, opponent, 8, seed=2).as_dict() for opponent in OPPONENTS] for run in RUNS]


def test_each_run_counts_as_one_value(runs) -> None:
    rates, differences = (
        np.array([[match[key] for match in run] for run in runs]) for key in ("win_rate", "score_difference")
    )
    entries = over_seeds(runs)
    assert [entry.opponent for entry in entries] == [*OPPONENTS, ALL_OPPONENTS]
    for entry, columns in zip(entries, ([0], [1], [0, 1]), strict=True):
        wins, own = (
            mean_of_runs(rates[:, columns], np.full((2, len(columns)), 8.0)),
            rates[:, columns].mean(1),
        )
        assert (entry.runs, entry.win_rate, entry.win_rate_interval) == (2, wins.values, wins.interval())
        assert (entry.lowest, entry.highest) == (own.min(), own.max())
        points = mean_of_runs(differences[:, columns])
        found = entry.score_difference, entry.score_difference_interval
        assert found == ((points.values, points.interval()) if len(columns) == 1 else (None, None))
    assert len(seeds_table(entries).lines()) == 4
    [entry] = over_seeds([runs[0][:1]])
    assert (entry.runs, entry.win_rate_interval, entry.win_rate) == (1, None, runs[0][0]["win_rate"])


def test_runs_that_met_others_are_not_put_together(runs) -> None:
    with pytest.raises(ValueError, match="these met: random, greedy; random"):
        over_seeds([runs[0], runs[1][:1]])
    with pytest.raises(ValueError, match="these met: no runs"):
        over_seeds([])


def test_the_command_puts_runs_together_that_it_is_told_are_seeds(tmp_path, runs, capsys) -> None:
    path = tmp_path / "figures.json"
    arguments = [*RUNS, "--against", *OPPONENTS, "--games", "8", "--seed", "2", "--json", str(path)]
    assert evaluate.main([*arguments, "--seeds"]) == 0
    expected = over_seeds(runs)
    assert capsys.readouterr().out.endswith("\n".join(seeds_table(expected).lines()) + "\n")
    contents = json.loads(path.read_text())
    assert contents["over_seeds"] == json.loads(json.dumps([entry._asdict() for entry in expected]))
    assert contents["matches"] == json.loads(json.dumps([match for run in runs for match in run]))
    assert evaluate.main(["random", "--against", "random", "--seeds"]) == 2
    assert "--seeds" in capsys.readouterr().err


def test_only_different_weights_count_as_runs(tmp_path, capsys) -> None:
    copy = shutil.copytree(agents.path_of(RUNS[0]), tmp_path / "copy")
    same = f"{RUNS[0]} and {copy} are no independent samples: both have the weights"
    for agent, message in ((str(copy), same), ("greedy", "without weights: greedy")):
        assert evaluate.main([RUNS[0], agent, "--against", "random", "--games", "2", "--seeds"]) == 2
        assert message in capsys.readouterr().err

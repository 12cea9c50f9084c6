"""The rows of the table of results: their configurations, and comparisons of a new run with stored ones."""

import pytest

from benchmarks.benchmark import GAMES, TASKS
from benchmarks.rows import ROWS, compare
from patchwork_env.learning.config import load_config
from tests.benchmarks.test_benchmark import result_with


@pytest.mark.parametrize("name", ROWS)
def test_rows_keep_the_protocol(name):
    config = load_config(ROWS[name].config, ROWS[name].values)
    seeds = {
        task.seed
        for task in TASKS
        if task.opponent in config.evaluation.opponents and task.game == config.game
    }
    assert seeds == {config.evaluation.seed}
    assert config.evaluation.final_games == GAMES


def test_a_new_run_is_compared_with_the_spread_of_the_stored_ones(capsys):
    stored = [result_with(seed, win_rate=rate) for seed, rate in enumerate((0.78, 0.80, 0.82))]
    # Student's t with 2 degrees of freedom is 4.303, the deviation 0.02: 4.303 * 0.02 * sqrt(4 / 3) = 0.0994.
    assert compare("mine", result_with(win_rate=0.899), stored) == 0
    assert "greedy: 89.9%, stored 80.0% ± 9.9%\n" in capsys.readouterr().out
    assert compare("mine", result_with(win_rate=0.900), stored) == 1
    assert "greedy: 90.0%, stored 80.0% ± 9.9%: unlikely\n" in capsys.readouterr().out

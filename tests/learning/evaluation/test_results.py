"""Figures of a match: means, and intervals against other formulas and simulations."""

import json
import math

import numpy as np
import pytest

from patchwork_env.learning.evaluation.records import RunEvaluation, read_evaluation, write_evaluation
from patchwork_env.learning.evaluation.results import MatchResult
from patchwork_env.learning.evaluation.runners import AGENT, OPPONENT, MatchGames
from patchwork_env.learning.evaluation.statistics import Z, mean_interval, win_rate_interval


def result_of(pairs=40):
    """A made-up match."""
    random, n = np.random.default_rng(0), 2 * pairs
    names = ["income", "buttons", "buttons_spent", "buttons_from_income", "buttons_from_advancing"]
    names += ["empty_cells", "patches", "special_patches", "turns"]
    figures = {name: random.integers(0, 60, (n, 2)) for name in names}
    figures["score"] = random.integers(-20, 40, (n, 2))
    figures["bonus_tile"] = np.eye(3, 2, dtype=bool)[np.arange(n) % 3]
    games = MatchGames(
        game="patchwork",
        seats=np.tile([0, 1], pairs),
        agent_starts=np.tile([True, False, False, True], pairs)[:n],
        agent_wins=figures["score"][:, 0] > figures["score"][:, 1],
        turns=figures["turns"],
        forfeits=np.zeros((n, 2), bool),
        figures=figures,
    )
    return MatchResult("new", "old", 5, "revised", games, (1.0, 1.0))


@pytest.mark.parametrize(("wins", "n"), [(0, 10), (3, 10), (10, 10), (200, 200), (117, 200), (1, 1)])
def test_pairs_won_or_lost_twice_give_the_interval_of_agresti_and_coull(wins, n):
    """The formula is as it is printed, for independent wins and losses."""
    z = 1.96
    adjusted = n + z**2
    p = (wins + z**2 / 2) / adjusted
    margin = z * math.sqrt(p * (1 - p) / adjusted)
    expected = max(0.0, p - margin), min(1.0, p + margin)
    pairs = np.repeat([1.0, 0.0], [wins, n - wins])
    assert win_rate_interval(pairs) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("shares", [(0.2, 0.3, 0.5), (0.0, 0.05, 0.95), (0.02, 0.96, 0.02), (0.9, 0.0, 0.1)])
@pytest.mark.parametrize("n", [20, 200])
def test_the_interval_covers_the_truth_at_least_as_often_as_it_says(shares, n):
    rng, truth = np.random.default_rng(2), shares[1] / 2 + shares[2]
    intervals = [win_rate_interval(rng.choice([0.0, 0.5, 1.0], n, p=shares)) for _ in range(400)]
    covered = np.mean([low <= truth <= high for low, high in intervals])
    assert covered >= 0.915  # 0.95 within three standard errors of a simulation of 400


def test_pairs_won_once_have_no_spread_but_that_of_the_imagined_results():
    margin = Z**2 / (100 + Z**2) / 2
    assert win_rate_interval(np.full(100, 0.5)) == pytest.approx((0.5 - margin, 0.5 + margin))


def test_means_are_those_of_the_games_and_intervals_take_the_pair_as_the_unit():
    result = result_of()
    games = result.games
    of_starts = {True: result.figures.win_rate_starting, False: result.figures.win_rate_following}
    for start, rate in of_starts.items():
        wins = games.agent_wins[games.agent_starts == start]
        assert rate == wins.sum() / len(wins)
    for side in (AGENT, OPPONENT):
        means = {name: figure[:, side].mean() for name, figure in games.figures.items()}
        assert result.means(side) == pytest.approx(means)
    wins, differences = games.agent_wins.astype(float), games.scores[:, 0] - games.scores[:, 1]
    for values, mean, interval, of_pairs in (
        (wins, result.win_rate, result.interval, win_rate_interval),
        (differences, result.score_difference, result.figures.score_difference_interval, mean_interval),
    ):
        assert mean == pytest.approx(values.sum() / 80)
        assert interval == of_pairs(np.array([(values[2 * k] + values[2 * k + 1]) / 2 for k in range(40)]))


def test_plain_data_holds_what_the_properties_say():
    result = result_of()
    expected = {"agent": "new", "opponent": "old", "games": 80, "seed": 5, "variant": "revised"}
    expected |= {"win_rate": result.win_rate, "win_rate_interval": list(result.interval), "sprt": None}
    expected |= {"score_difference": result.score_difference}
    expected |= {"turns_per_game": pytest.approx(result.games.turns.sum() / 80)}
    expected |= {"sides": {"agent": result.means(AGENT), "opponent": result.means(OPPONENT)}}
    data = json.loads(json.dumps(result.as_dict()))
    assert {key: data[key] for key in expected} == expected
    assert result_of(pairs=1).as_dict()["score_difference_interval"] is None


def test_the_file_of_an_evaluation_has_it_and_a_wrong_key_is_named(tmp_path):
    path, evaluation = tmp_path / "file", RunEvaluation(100, 1.5, (result_of().figures,))
    write_evaluation(path, evaluation)
    assert read_evaluation(path) == evaluation
    contents = json.loads(path.read_text())
    assert path.read_text() == json.dumps(contents, indent=1) + "\n"
    path.write_text(json.dumps(contents | {"steps": "100"}))
    with pytest.raises(ValueError, match="file is damaged: steps: Input should be a valid integer"):
        read_evaluation(path)


def test_a_shell_shows_one_line():
    result = result_of()
    low, high = result.interval
    said = f"wins {result.win_rate:.1%} ({low:.1%} to {high:.1%})"
    assert repr(result) == f"<MatchResult: new against old, 80 games, {said}>"
    rate = f"wins {result.win_rate:6.1%} (95%: {low:.1%} to {high:.1%})"
    assert result.summary() == f"against old      {rate}, score difference {result.score_difference:+.2f}"
    assert "interval" not in result_of(pairs=1).table().splitlines()[2]

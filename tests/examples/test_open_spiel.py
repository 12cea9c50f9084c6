"""The example in which OpenSpiel's search plays, and the benchmark of the games there.

Both run where OpenSpiel is installed: ``make test-libraries``.
"""

import json
import re

import pytest

pytest.importorskip("pyspiel")

from tests.scripts import run_benchmark

pytestmark = pytest.mark.libraries


def test_the_search_plays_a_whole_game(start):
    arguments = ("--game", "nmbr9", "--simulations", "10", "--seed", "3")
    moves, result = start("open_spiel_mcts.py", *arguments).splitlines()
    said = r"MCTS with 10 simulations loses against nmbr9_champion:instant, -?\d+ to -?\d+"
    assert re.fullmatch(said, result)
    assert len(moves.split()) > 30


def test_the_benchmark():
    done = run_benchmark(
        *("open_spiel_games.py", "--games", "python_patchwork", "python_nmbr9", "python_kuhn_poker"),
        *("--rounds", "1", "--seconds", "0.01", "--json"),
    )
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert list(figures) == ["python_patchwork", "python_nmbr9", "python_kuhn_poker"]
    assert all(value > 0 for measured in figures.values() for value in measured.values())

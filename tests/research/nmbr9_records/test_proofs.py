"""The highest scores of tiny games: the solver proves what an exhaustive search by the engine finds."""

from __future__ import annotations

import numpy as np
import pytest

from patchwork_env.agents.nmbr9.greedy import choose_action as highest_placement
from patchwork_env.core.compile import kernel
from patchwork_env.core.kernels import nth_legal
from patchwork_env.nmbr9 import Game
from patchwork_env.nmbr9.actions import choose_action
from patchwork_env.nmbr9.components import NUM_DIGITS
from patchwork_env.nmbr9.engine import apply, is_over, legal, level_of, score, supply
from research.nmbr9_records import proofs
from tests.scripts import run_study


@kernel(allocates=True)
def best_score(states, maps, i) -> int:
    """The highest final score of game ``i``, by trying everything; of the last tile the highest level."""
    if is_over(states, i):
        return score(states, i, 0)
    left, best = np.zeros(NUM_DIGITS, np.int64), 0
    supply(states, i, 0, left)
    for digit in range(NUM_DIGITS):
        if left[digit] == 0:
            continue
        states[i + 1] = states[i]
        apply(states, i + 1, choose_action_of(digit))
        if states[i]["round"] + 1 == states[i]["num_rounds"]:
            level = level_of(states, i + 1, highest_placement(states, i + 1))
            best = max(best, score(states, i, 0) + digit * level)
            continue
        count = legal(states, i + 1, maps[i])
        for n in range(count if states[i]["round"] > 0 else 1):
            states[i + 1] = states[i]
            apply(states, i + 1, choose_action_of(digit))
            apply(states, i + 1, nth_legal(maps[i], n))
            best = max(best, best_score(states, maps, i + 1))
    return best


choose_action_of = kernel(choose_action)


@pytest.mark.libraries
@pytest.mark.parametrize(("max_digit", "copies", "tiles"), [(2, 1, 3), (5, 2, 3), (3, 1, 4)])
def test_proofs_against_an_exhaustive_search(max_digit, copies, tiles):
    pytest.importorskip("ortools")
    game = Game(order="free", max_digit=max_digit, copies=copies, deck_size=tiles)
    states = np.repeat(game.state, tiles + 1)
    expected = best_score(states, np.zeros((tiles + 1, 5, 64), np.uint64), 0)
    name = f"F-{max_digit}-{copies}-{tiles}"
    done = run_study("nmbr9_records.proofs", name)
    assert done.returncode == 0, done.stderr
    found = done.stdout.splitlines()[-1].split()
    assert (found[0], int(found[1])) == (name, expected)
    assert expected > 0


def test_what_is_no_instance_is_refused(monkeypatch, capsys):
    for name in ("F-6-1", "K-6-1-5", "F-2-1-4"):
        monkeypatch.setattr("sys.argv", ["proofs", name])
        assert proofs.main() == 2
        assert name in capsys.readouterr().err


@pytest.mark.libraries
def test_scores_if_tiles_were_liquid():
    pytest.importorskip("ortools")
    done = run_study("nmbr9_records.proofs", "--liquid")
    scores = [int(line.split()[2]) for line in done.stdout.splitlines()]
    assert scores == sorted(scores)
    assert scores[0] == 0
    assert scores[4:7] == [253, 302, 355]

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
def test_what_two_tiles_carry_against_the_solver():
    pytest.importorskip("ortools")
    for pair in [(1, 8), (7, 8)]:
        carried = {load for load in proofs.carried_by(pair) if len(load) == 1}
        assert carried == {(d,) for d in range(10) if proofs.build((pair, (d,)), 8, 1)}
    assert (7, 7) in proofs.carried_by((8, 9))
    assert proofs.build(((8, 9), (7, 7)), 8, 1)


@pytest.mark.libraries
def test_bounds_heed_what_two_tiles_carry(monkeypatch):
    pytest.importorskip("ortools")
    monkeypatch.setattr(proofs, "carried_by", lambda pair: set())
    assert [proofs.bound(levels) for levels in (1, 5, 8)] == [0, 253, None]
    monkeypatch.setattr(proofs, "carried_by", lambda pair: {(9,)} if pair == (7, 7) else {(7, 7)})
    assert [proofs.bound(levels) for levels in (8, 9)] == [366, None]

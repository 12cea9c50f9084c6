"""The pool of past selves: its snapshots, draws and state, with a network of any kind."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from patchwork_env.learning.algorithms.common.league import SnapshotPool
from patchwork_env.learning.config import League


def make_pool(**settings):
    return SnapshotPool(League(**{"size": 3, "opponents": 1} | settings))


def fill(pool, number):
    """Adds copies of one network, whose bias counts them."""
    network = nn.Linear(2, 1)
    for count in range(number):
        with torch.no_grad():
            network.bias.fill_(count)
        pool.add(network)
    with torch.no_grad():
        network.bias.fill_(-1)
    return network


def test_the_last_copies_are_kept():
    pool = make_pool()
    assert pool.draw(np.random.default_rng(0)) == []
    assert pool.statistics() == {}
    network = fill(pool, 5)
    assert {number: snapshot.bias.item() for number, snapshot in pool.snapshots.items()} == {2: 2, 3: 3, 4: 4}
    assert not any(parameter.requires_grad for parameter in pool.snapshots[2].parameters())
    assert not pool.snapshots[2].training
    assert all(parameter.requires_grad for parameter in network.parameters())
    assert network.training


def test_draws_are_by_choice():
    """Vinyals et al. 2019: weights (1 - p)^2 and p (1 - p) of the win rates p."""
    rates = {0: 0.9, 1: 0.5, 2: 0.2}
    for choice, weights in (
        ("uniform", [1, 1, 1]),
        ("hard", [0.01, 0.25, 0.64]),
        ("even", [0.09, 0.25, 0.16]),
    ):
        pool, random, drawn = make_pool(choice=choice, half_life=1000), np.random.default_rng(0), []
        fill(pool, 3)
        for _ in range(200):
            for number, rate in rates.items():
                pool.record({number: round(100 * rate)}, {number: 100})
        assert list(pool.win_rates().values()) == pytest.approx(list(rates.values()), abs=0.005)
        for _ in range(2000):
            drawn += pool.draw(random)
        shares = np.bincount(drawn) / len(drawn)
        assert shares.tolist() == pytest.approx(np.array(weights) / sum(weights), abs=0.035)
        statistics = {"snapshots": 3, "mean_win_rate": 1.6 / 3, "lowest_win_rate": 0.2}
        assert pool.statistics() == pytest.approx(statistics, abs=0.01)


def test_new_snapshots_are_even_and_results_fade():
    pool = make_pool(half_life=2)
    fill(pool, 2)
    assert pool.win_rates() == {0: 0.5, 1: 0.5}
    pool.record({1: 0}, {1: 40})
    assert pool.win_rates() == {0: 0.5, 1: 5 / 50}  # with 10 virtual games, half of them won
    for _ in range(4):  # two half-lives without a game: 40 games count as 10
        pool.record({}, {})
    assert pool.win_rates()[1] == pytest.approx(5 / 20)


def test_a_snapshot_that_is_in_play_is_kept_until_it_is_not():
    pool, random = make_pool(size=1), np.random.default_rng(0)
    fill(pool, 1)
    assert pool.draw(random) == [0]
    network = fill(pool, 2)
    assert pool.draw(random, in_play=[0]) == [2]
    assert pool.policies[0].bias.item() == 0
    other = make_pool(size=1)
    other.load_state_dict(pool.state_dict(), network)
    assert other.policies[0].bias.item() == 0
    for each in (pool, other):
        assert list(each.snapshots) == [2]
        each.record({0: 1}, {0: 1})
        assert each.win_rates() == {2: 0.5}
        each.draw(random)
        with pytest.raises(KeyError):
            each.policies[0]


def test_opponents_differ_and_stay_for_a_while():
    pool, random = make_pool(size=8, opponents=3), np.random.default_rng(0)
    for number in (1, 2, 3):  # as many as there can be
        fill(pool, 1)
        assert sorted(pool.draw(random)) == list(range(number))
    fill(pool, 5)
    for turn in range(3, 40):
        before = pool.opponents.copy()
        drawn = pool.draw(random)
        assert drawn == pool.opponents
        assert len(set(drawn)) == 3
        changed = [place for place in range(3) if drawn[place] != before[place]]
        assert changed in ([], [turn % 3])  # each place in its turn
    fill(pool, 8)  # all that were there have gone
    assert set(pool.draw(random)) <= set(pool.snapshots) == set(range(8, 16))


def restored(pool, network, **settings):
    other = make_pool(**settings)
    other.load_state_dict(pool.state_dict(), network)
    return other


def test_a_restored_pool_may_have_other_settings():
    pool, random = make_pool(size=4, opponents=3), np.random.default_rng(0)
    network = fill(pool, 4)
    assert list(restored(pool, network, size=2).snapshots) == [2, 3]
    drawn = pool.draw(random)
    fewer = restored(pool, network, size=4, opponents=1)
    assert len(fewer.draw(random, in_play=drawn)) == len(fewer.opponents) == 1
    assert set(drawn) <= fewer.policies.keys()  # their games continue
    without = restored(pool, network, fraction=0.0)  # games against past selves
    without.add(network)
    assert without.draw(random) == []
    assert not without.policies
    assert without.state_dict()["policies"] == {}


def test_a_state_that_no_pool_has_is_refused():
    pool = make_pool()
    network = fill(pool, 2)
    for name, value in (
        ("opponents", [7]),
        ("policies", {"2": {}}),
        ("policies", {"-1": {}}),
        ("added", 1),
        ("draws", -1),
        ("records", {"0": [2, 1]}),
        ("records", {"0": [-0.5, 1]}),
        ("records", {"0": [0, math.inf]}),
    ):
        with pytest.raises(ValueError, match=r"snapshot|draws|won"):
            make_pool().load_state_dict(pool.state_dict() | {name: value}, network)
    with pytest.raises(ValueError, match="the number of snapshots"):
        make_pool().load_state_dict(make_pool().state_dict() | {"added": -1}, network)
    state = pool.state_dict()
    state["policies"]["1"].pop("bias")
    with pytest.raises(RuntimeError, match="bias"):
        make_pool().load_state_dict(state, network)

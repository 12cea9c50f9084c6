"""Batches in parts: those that threads encode for a GPU, and those that are kept for learning."""

import numpy as np
import pytest
import torch

from patchwork_env.agents.network_config import NetworkConfig
from patchwork_env.agents.networks import joined, kept, network_class
from patchwork_env.core.batches import begin_games, loop, play_listed, sample_actions
from patchwork_env.core.checks import seed_streams
from patchwork_env.games import rules_of
from patchwork_env.learning.algorithms.common.gradients import ThreadPool, divided_by


def some_states(game):
    """Games after two random turns, with different numbers of legal actions."""
    rules = rules_of(game)
    states, actions = begin_games(rules, seed_streams(3, 8)), np.empty(8, np.int64)
    for seed in range(2):
        loop(sample_actions, rules)(states, seed_streams(seed, 1), actions)
        loop(play_listed, rules)(states, np.arange(8), actions)
    return states


every_kind = pytest.mark.parametrize(
    ("game", "config"),
    [
        ("patchwork", NetworkConfig(width=8, offers=True)),
        ("patchwork", NetworkConfig(width=8, channels=4, features=False)),
        ("nmbr9", NetworkConfig(width=8)),
    ],
)


@every_kind
def test_parts_that_threads_encode_are_joined(game, config):
    network, states = network_class(game)(config), some_states(game)
    whole, joined = network.encode_fully(states), network.encode_fully(states, ThreadPool(3).share)
    for one, other in ((whole, joined), (whole.inputs, joined.inputs), (whole.features, joined.features)):
        for expected, found in zip(one or (), other or (), strict=True):
            if not isinstance(expected, tuple):
                np.testing.assert_array_equal(found, expected)
    assert (whole.features is None) == (joined.features is None) == (not config.features)


@every_kind
def test_what_is_kept_is_read_as_it_was_encoded(game, config):
    network, states, chosen = network_class(game)(config), some_states(game), np.array([6, 0, 7, 2, 6])
    encoded = network.encode_fully(states)
    together = joined([kept(encoded.part(0, 3)), kept(encoded.part(3, 3)), kept(encoded.part(3, 8))])
    (inputs, features), expected = together.read(chosen), network.encode_fully(states[chosen])
    assert (features is None) == (game == "nmbr9" or not config.features)
    pairs = zip((*inputs, *(features or ())), (*expected.inputs, *(expected.features or ())), strict=False)
    for found, one in pairs:
        assert found.dtype == one.dtype
        np.testing.assert_array_equal(found, one)
    last = encoded.actions[np.cumsum(encoded.counts) - 1]
    assert together.positions_of(last).tolist() == (encoded.counts - 1).tolist()


def test_threads_divide_batches_on_a_processor_alone():
    threads = ThreadPool(2)
    assert divided_by(threads, torch.device("cpu")) == (threads, None)
    together, shared = divided_by(threads, torch.device("cuda"))
    assert (together.size, shared) == (1, threads.share)

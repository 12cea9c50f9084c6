"""Policies of NMBR 9: features against counts over cells, and the network against its layers."""

import json

import numpy as np
import pytest
import torch

from patchwork_env import agents
from patchwork_env.agents.network_config import NetworkConfig
from patchwork_env.agents.networks import PolicyAgent, write_policy
from patchwork_env.agents.nmbr9 import policy_network
from patchwork_env.core.files import write_folder
from patchwork_env.nmbr9 import Game
from patchwork_env.nmbr9.actions import FIRST_CHOICE
from patchwork_env.nmbr9.observation import SLICES
from patchwork_env.testing import check_agent
from tests.agents.nmbr9.tables import BESIDE, contact_of, levels_of, positions, with_digit

pytestmark = pytest.mark.bounds

OF_LEVEL = 13


@pytest.fixture(scope="module")
def games():
    """Games played well except for some moves: of wide tables only the middle is counted."""
    return positions([0.8] * 4)[::3]


@pytest.fixture(scope="module")
def inputs(games):
    return policy_network.Nmbr9Network.encode(np.concatenate([game.state for game in games]))[0]


def left_of(game, round_of_game):
    """The number of cards of each digit after a number of tiles."""
    return np.bincount(game.deck[round_of_game:], minlength=10)


def fits_of(game, left):
    """The placements of each digit that is left on each level above the table, ``(22, 10)``."""
    fits = np.zeros((22, 10), np.int64)
    for digit in np.flatnonzero(left):
        fits[1:, digit] = levels_of(with_digit(game, digit))[1:22]
    return fits


def best_of(fits):
    """The highest level that has room for each digit."""
    return np.array([max(np.flatnonzero(of_digit), default=0) for of_digit in fits.T])


def dents_of(cells):
    """The numbers of empty cells with at least two, three and four neighbors among cells."""
    near = {(r + dr, c + dc) for r, c in cells for dr, dc in BESIDE} - cells
    counts = [sum((r + dr, c + dc) in cells for dr, dc in BESIDE) for r, c in near]
    return np.array([sum(count >= least for count in counts) for least in (2, 3, 4)])


def cells_of(game, level):
    return set().union(*(move.cells for move in game.placements(0) if move.level == level))


def spread_of(cells):
    return sum(max(axis) + 1 - min(axis) for axis in zip(*cells, strict=True))


def test_positions(games, inputs):
    positions = policy_network.position_features(inputs.observations).numpy()
    assert positions.shape == (len(games), policy_network.POSITION_FEATURES)
    for row in (*range(0, len(games), 4), 7, 13):  # also with one tile, and with one tile left
        game, left = games[row], left_of(games[row], games[row].round)
        fits, moves = fits_of(game, left), game.placements(0)
        covered = [len(cells_of(game, level)) for level in range(policy_network.LEVELS + 1)]
        for level in range(policy_network.LEVELS):
            found = positions[row, level * OF_LEVEL : (level + 1) * OF_LEVEL]
            tiles = sum(move.level == level for move in moves)
            open_cells = covered[level] - covered[level + 1]
            expected = [tiles / 5, covered[level] / 40, open_cells / 20, *np.log1p(fits[level]) / 2]
            np.testing.assert_allclose(found, expected, atol=1e-6)
        best = best_of(fits)
        points = (left * best * np.arange(10)).sum()
        cells = cells_of(game, 0)
        sides = sorted(max(axis) + 1 - min(axis) for axis in zip(*cells, strict=True)) if cells else [0, 0]
        expected = [*best / 3, points / 100, points / 10 / left.sum(), left.sum() / 10, sides[1] / 10]
        found = positions[row, policy_network.LEVELS * OF_LEVEL :]
        np.testing.assert_allclose(found, [*expected, sides[0] / 10], atol=1e-6)


def test_placements(games, inputs):
    placements, rows = policy_network.features_of(*inputs).placements.numpy(), inputs.rows.numpy()
    assert placements.shape == (len(inputs.actions), policy_network.PLACEMENT_FEATURES)
    assert placements[:, 0].all()
    likely = placements[:, policy_network.IS_LIKELY] > 0
    assert_most_contact_is_likely(placements, rows, likely)
    assert not placements[~likely, policy_network.IS_LIKELY :].any()
    for k in np.random.default_rng(2).choice(np.flatnonzero(likely), 30, replace=False):
        game, action = games[rows[k]], int(inputs.actions[k])
        move, left = game.decode(action), left_of(game, game.round + 1)
        number = max((tile.level for tile in game.placements(0)), default=-1) + 1
        _, edges = contact_of(game, action)
        after = game.clone()
        before, cells = fits_of(game, left), cells_of(game, move.level)
        if game.round < 19:
            after.play(action)
            later = fits_of(after, left)
        else:
            later = before
        above = np.log1p(later[move.level + 1]) - np.log1p(before[move.level + 1])
        same = np.log1p(later[move.level]) - np.log1p(before[move.level])
        higher = best_of(later) - best_of(before)
        dents = (dents_of(cells | move.cells) - dents_of(cells)) / (4, 2, 1)
        spread = spread_of(cells | move.cells) - (spread_of(cells) if cells else 0)
        weight = left * np.arange(10)
        level = move.level
        now = [1, level * move.digit / 10, level / 2, level == number, level == 0, edges / 5, 1]
        sums = [(weight * above).sum() * (level + 1) / 100, (weight * same).sum() * level / 100]
        sums += [of.sum() / 20 for of in (weight * higher, left * above, left * same)]
        expected = [*now, *dents, spread / 3, *sums, *above / 2, *same / 2, *higher]
        np.testing.assert_allclose(placements[k], expected, atol=1e-5)


def assert_most_contact_is_likely(placements, rows, likely):
    levels, contacts = placements[:, 2], placements[:, 5]
    for row in np.unique(rows)[::5]:
        for level in np.unique(levels[rows == row]):
            here = (rows == row) & (levels == level)
            sixth = sorted(contacts[here], reverse=True)[: policy_network.LIKELY][-1]
            np.testing.assert_array_equal(likely[here], contacts[here] >= sixth)


def test_choices_of_a_digit_have_no_features():
    game = Game(seed=2, order="free")
    inputs, _ = policy_network.Nmbr9Network.encode(game.state)
    assert (inputs.actions >= FIRST_CHOICE).all()
    assert not policy_network.features_of(*inputs).placements.any()
    game.play(FIRST_CHOICE + 7)
    features = policy_network.features_of(*policy_network.Nmbr9Network.encode(game.state)[0])
    assert features.placements.any()
    assert features.positions[0, policy_network.LEVELS * OF_LEVEL + 12] == 2  # 20 tiles with the chosen one


def test_arrays_that_are_no_observations_have_finite_features():
    rng = np.random.default_rng(5)
    size = len(Game(seed=1).observation())
    observations = rng.normal(size=(60, size)).astype(np.float32) * 30
    observations[rng.random(observations.shape) < 0.3] = np.nan
    observations[::5] = np.inf
    observations[::3] = rng.random((20, size))
    actions = torch.from_numpy(np.sort(rng.choice(16394, (60, 500))).reshape(-1))
    rows = torch.arange(60).repeat_interleave(500)
    features = policy_network.features_of(torch.from_numpy(observations), rows, actions)
    assert all(torch.isfinite(part).all() for part in features)


SMALL = NetworkConfig(width=16, depth=1)


@pytest.fixture(scope="module")
def network():
    torch.manual_seed(1)
    network = policy_network.Nmbr9Network(SMALL)
    with torch.no_grad():
        network.placement_score.weight.mul_(100)  # so that placements differ
    return network.eval()


@pytest.fixture(scope="module")
def all_orders():
    """Games of all orders, some played well and some at random."""
    return positions([seed / 6 for seed in range(6)], ("unknown", "known", "free"), players=2)


def naive_policy(network, game):
    """Log-probabilities of the legal actions and the value, action by action."""
    inputs, _ = policy_network.Nmbr9Network.encode(game.state)
    features, view = policy_network.features_of(*inputs), game.observation()
    seen = [view[SLICES[name]] for name in network.reads]
    trunk = network.trunk(torch.tensor([[*np.concatenate(seen), *features.positions[0].tolist()]]))[0]
    scores = []
    for action, placement in zip(inputs.actions.tolist(), features.placements, strict=True):
        score = network.choice(trunk)[max(action - FIRST_CHOICE, 0)]
        if action < FIRST_CHOICE:
            score = (network.placement(trunk) * placement).sum()
            if placement[policy_network.IS_LIKELY]:
                hidden = network.placement_hidden(placement) + network.placement_context(trunk)
                score = score + network.placement_score(torch.relu(hidden))[0]
        scores.append(score)
    return torch.log_softmax(torch.stack(scores), 0), network.value(trunk)[0]


def test_policies_and_values_are_those_of_the_layers_action_by_action(network, all_orders):
    inputs, lists = policy_network.Nmbr9Network.encode(np.concatenate([game.state for game in all_orders]))
    expected = [(row, a) for row, game in enumerate(all_orders) for a in game.legal_actions().tolist()]
    assert list(zip(lists.rows.tolist(), lists.actions.tolist(), strict=True)) == expected
    with torch.no_grad():
        output = network(inputs)
        torch.testing.assert_close(output.values, network.values(inputs.observations))
        for row in range(0, len(all_orders), 7):
            expected, value = naive_policy(network, all_orders[row])
            found = output.log_probabilities[inputs.rows == row]
            torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
            entropy = -(expected.exp() * expected).sum()
            torch.testing.assert_close(output.entropies[row], entropy, rtol=1e-4, atol=1e-4)
            torch.testing.assert_close(output.values[row], value, rtol=1e-4, atol=1e-5)


def test_agents_play_all_orders(network):
    for order in ("unknown", "known", "free"):
        check_agent(PolicyAgent(network, sample=True, seed=5), games=1, order=order, deck_size=6)


def test_a_kind_of_policy_of_another_game_is_refused(tmp_path):
    write_folder(tmp_path / "policy", lambda folder: write_policy(folder, policy_network.Nmbr9Network(SMALL)))
    path = tmp_path / "policy" / "checkpoint.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"policy": "maskable_ppo"}))
    with pytest.raises(ValueError, match="'maskable_ppo'; those of nmbr9 that this library plays: 'network'"):
        agents.load(tmp_path / "policy")

"""Learning the value of NMBR 9: whole games, targets as the lambda-return is defined, and the network."""

import numpy as np
import pytest
import torch

from patchwork_env.agents.nmbr9 import greedy
from patchwork_env.agents.nmbr9.value import SCALE, evaluate, new_buffer, new_weights
from patchwork_env.core.checks import seed_streams
from patchwork_env.learning.algorithms.td import nmbr9 as module
from patchwork_env.learning.algorithms.td.config import SoloTd, SoloTdConfig
from patchwork_env.learning.algorithms.td.learner import Positions
from patchwork_env.learning.algorithms.td.nmbr9 import Nmbr9Value, Nmbr9ValueModule, _write_targets, rows_of
from patchwork_env.learning.config import Schedule
from patchwork_env.nmbr9 import Game
from tests.learning.algorithms.naive import naive_returns

ROUNDS, GAMES = 20, 3
BUFFER = new_buffer()
PROGRESS, NO_EXPLORATION = 0.75, Schedule(start=0, end=0)
CASES = {
    "the next value": {"td_lambda": 0.0},
    "the result": {"td_lambda": 1.0, "exploration": NO_EXPLORATION},
    "half explored": {"exploration": Schedule(start=0.05, end=0.65), "temperature": 100.0},
    "careful exploration": {"exploration": Schedule(start=1.0, end=1.0), "temperature": 1e-3},
}


@pytest.mark.parametrize("settings", CASES.values(), ids=CASES)
def test_games_and_targets_are_those_of_plain_play(settings, monkeypatch):
    """Every game is replayed: best actions, exploration, and the returns that follow."""
    td = SoloTd(**{"candidate_placements": 10_000} | settings)
    weights, seen = new_weights(2), []
    weights["weights_3"] *= 30

    def write_targets(games, trace):
        seen.append((games, games.targets.copy()))
        _write_targets(games, trace)

    monkeypatch.setattr(module, "_write_targets", write_targets)
    played = Nmbr9Value(SoloTdConfig(solo_td=td)).play(weights, PROGRESS, seed_streams(np.uint64(4), GAMES))
    ((games, promises),) = seen
    assert played.examples.states.tobytes() == games.positions.tobytes()
    assert played.finals.tobytes() == games.states.tobytes()
    assert (played.lengths.tolist(), played.turns) == ([ROUNDS] * GAMES, GAMES * ROUNDS)
    targets = played.examples.targets.reshape(GAMES, ROUNDS)
    for i in range(GAMES):
        states = np.append(games.positions[i], games.states[i])
        check_turns(states, promises[i], games.explored[i], weights, td.exploration is not NO_EXPLORATION)
        scores = np.array([Game.from_state(states, k).scores()[0] for k in range(ROUNDS + 1)])
        # Of the points of the whole game, so that there are no rewards before the end.
        returns = naive_returns(promises[i] + scores[:-1], games.explored[i], scores[-1], td.td_lambda)
        np.testing.assert_allclose(targets[i] + scores[:-1], returns, atol=1e-3)
    shares = {"half explored": 0.5, "the result": 0.0}
    expected = next((share for name, share in shares.items() if settings is CASES[name]), None)
    assert expected is None or games.explored.mean() == pytest.approx(expected, abs=0.2)


def check_turns(states, promises, explored, weights, may_explore):
    """Compares the turns of a game with the values of all placements."""
    for turn in range(0, ROUNDS, 3):
        game, after = Game.from_state(states, turn), states[turn + 1].tobytes()
        assert game.round == turn
        values, taken = [], []
        for action in game.legal_actions().tolist():
            successor = game.clone()
            successor.play(action)
            values.append(successor.scores()[0] - game.scores()[0])
            if not successor.is_over:
                values[-1] += evaluate(successor.state, 0, 0, weights, BUFFER)
            if successor.state.tobytes() == after:
                taken.append(values[-1])
        assert len(taken) == 1
        assert promises[turn] == pytest.approx(max(values), abs=1e-3)
        assert explored[turn] or taken[0] == pytest.approx(max(values), abs=1e-3)
        assert may_explore or not explored[turn]


def test_decks_differ_and_are_those_of_the_published_game():
    played = Nmbr9Value(SoloTdConfig()).play(new_weights(2), 0.0, seed_streams(np.uint64(4), GAMES))
    decks = {Game.from_state(played.finals, i).deck for i in range(GAMES)}
    assert len(decks) == GAMES
    assert all(sorted(deck) == sorted(2 * list(range(10))) for deck in decks)


@pytest.fixture(scope="module")
def states():
    found = []
    for seed in range(4):
        game = Game(seed=seed)
        while not game.is_over:
            found.append(game.state.copy())
            game.play(greedy.choose_action(game.state, 0))
    return np.concatenate(found)


@pytest.fixture
def weights():
    weights = new_weights(1)
    weights["weights_3"] *= 20
    return weights


def test_module_computes_what_the_kernels_compute(weights, states):
    buffer = new_buffer()
    outputs = Nmbr9ValueModule(weights)(states).detach().numpy() * SCALE
    values = [evaluate(states, i, 0, weights, buffer) for i in range(len(states))]
    np.testing.assert_allclose(outputs, values, atol=1e-3)
    assert np.std(values) > 1
    targets = np.random.default_rng(3).uniform(0, 60, len(states)).astype(np.float32)
    losses, error = (
        Nmbr9ValueModule(weights).losses(Positions(states, targets)),
        np.mean((values - targets) ** 2),
    )
    expected = {"loss": error / SCALE**2, "error": np.sqrt(error)}
    expected |= {"explained_variance": 1 - error / targets.var(ddof=1)}
    assert {name: loss.item() for name, loss in losses.items()} == pytest.approx(expected, rel=1e-3)


def test_gradients_of_tables_against_plain_pytorch(weights, states):
    module = Nmbr9ValueModule(weights)
    module(states).square().sum().backward()
    windows, window_counts, rows, counts, inputs = rows_of(states)
    plain = {name: p.detach().clone().requires_grad_() for name, p in module.named_parameters()}

    def leaky(x):
        return torch.nn.functional.leaky_relu(x, 1 / 8)

    def sums(table, listed, lengths):
        chosen = (torch.from_numpy(row[:length]) for row, length in zip(listed, lengths, strict=True))
        return torch.stack([plain[table][c].sum(0) for c in chosen])

    relief = leaky(plain["relief_bias"] + sums("windows", windows, window_counts))
    hidden = plain["bias"] + sums("features", rows, counts) + relief @ plain["weights_1"]
    hidden = leaky(hidden + torch.from_numpy(inputs) @ plain["numbers"])
    hidden_2 = leaky(plain["bias_2"] + hidden @ plain["weights_2"])
    (plain["bias_3"] + hidden_2 @ plain["weights_3"]).square().sum().backward()
    for name, parameter in module.named_parameters():
        torch.testing.assert_close(parameter.grad, plain[name].grad, rtol=1e-3, atol=1e-4)

"""Learning the value of Patchwork: whole games, targets as the lambda-return is defined, and the network."""

import numpy as np
import pytest
import torch

from patchwork_env.agents.patchwork.value import network
from patchwork_env.agents.patchwork.value.network import OTHER_EMPTY, OTHER_SCORE, OWN_EMPTY, OWN_SCORE, WIN
from patchwork_env.core.checks import seed_streams
from patchwork_env.learning.algorithms.td import patchwork as module
from patchwork_env.learning.algorithms.td.config import Td, TdConfig
from patchwork_env.learning.algorithms.td.learner import Positions
from patchwork_env.learning.algorithms.td.patchwork import (
    PatchworkValue,
    PatchworkValueModule,
    _write_targets,
)
from patchwork_env.learning.config import Reward, Schedule
from patchwork_env.patchwork import Game
from patchwork_env.patchwork.state import NOBODY, empty_states
from tests.agents.positions import many_states
from tests.learning.algorithms.naive import naive_returns

SWAPPED = [OTHER_SCORE, OWN_SCORE, WIN, OTHER_EMPTY, OWN_EMPTY]
BUFFER = network.new_buffer()
PAYOFFS = {"outcome": 0.5, "margin": 1.0}
PROGRESS, NO_EXPLORATION, HALF = 0.75, Schedule(start=0, end=0), Schedule(start=0.05, end=0.65)
CASES = {
    "the next value": {"td_lambda": 0.0},
    "the result": {"td_lambda": 1.0, "exploration": NO_EXPLORATION},
    "half explored": {"exploration": HALF, "temperature": 100.0},
    "careful exploration": {"exploration": Schedule(start=1.0, end=1.0), "temperature": 1e-3},
    "scripted players": {"scripted_player_fraction": 1.0, "exploration": NO_EXPLORATION},
    "openings": {"openings": 1.0, "exploration": NO_EXPLORATION},
    "some of all": {"openings": 0.3, "scripted_player_fraction": 0.3, "rival_weight": 0.2},
}


@pytest.mark.parametrize("settings", CASES.values(), ids=CASES)
def test_games_and_targets_are_those_of_plain_play(settings, monkeypatch):
    """Every game is replayed: best actions, exploration, and the returns that follow."""
    td = Td(**{"openings": 0.0, "scripted_player_fraction": 0.0, "candidate_placements": 448} | settings)
    weights = network.new_weights(2)
    weights["weights_3"] *= 30
    seen = []

    def write_targets(games, trace):
        seen.append((games, games.targets.copy()))
        _write_targets(games, trace)

    monkeypatch.setattr(module, "_write_targets", write_targets)
    game = PatchworkValue(TdConfig(td=td, reward=Reward(**PAYOFFS)))
    played = game.play(weights, PROGRESS, seed_streams(np.uint64(4), 4))
    ((games, promises),) = seen
    targets, positions, own, surprises = [], [], np.zeros(4, bool), []
    for i, length in enumerate(games.lengths):
        states = np.append(games.positions[i, :length], games.states[i])
        explored = games.explored[i, :length].tolist()
        check_turns(states, promises[i], explored, games.scripted[i], network.quantized(weights), td)
        targets += naive_targets(states, promises[i, :length], explored, td.td_lambda)
        positions.append(states[:-1])
        choices = [len(Game.from_state(states, turn).legal_actions()) for turn in range(length)]
        surprises += [away - (1 - 1 / count) / 2 for away, count in zip(explored, choices, strict=True)]
        own[i] = games.openings[i] == 0 and games.scripted[i] == NOBODY
    np.testing.assert_allclose(played.examples.targets, targets, atol=2e-3)
    assert played.examples.states.tobytes() == np.concatenate(positions).tobytes()
    assert played.finals.tobytes() == games.states[own].tobytes()
    assert played.lengths.tolist() == games.lengths[own].tolist()
    assert played.turns == len(targets)
    assert td.exploration is not HALF or abs(np.mean(surprises)) < 0.1


def check_turns(states, promises, explored, scripted, integers, td):
    """Compares the turns of a game with the values of all actions."""
    for turn in range(len(states) - 1):
        game = Game.from_state(states, turn)
        actions = game.legal_actions().tolist()
        successors = [game.clone() for _ in actions]
        for successor, action in zip(successors, actions, strict=True):
            successor.play(action)
        values = [value_of(successor, game.current_player, integers) for successor in successors]
        utilities = [utility(value, td.rival_weight) for value in values]
        best = max(utilities)
        assert utility(promises[turn], td.rival_weight) == pytest.approx(best, abs=1e-3)
        after = states[turn + 1].tobytes()
        taken = [u for u, s in zip(utilities, successors, strict=True) if s.state[0].tobytes() == after]
        assert taken
        if max(taken) < best - 1e-3:
            assert explored[turn]
        elif len(actions) == 1:
            assert not explored[turn]
        if td.exploration is NO_EXPLORATION and game.current_player != scripted:
            assert not explored[turn]


def utility(value, rival_weight):
    margin = PAYOFFS["margin"] / Reward(**PAYOFFS).margin_scale
    own, other, win = value[OWN_SCORE], value[OTHER_SCORE], value[WIN]
    return PAYOFFS["outcome"] * (2 * win - 1) + margin * (own - rival_weight * other)


def value_of(game, player, integers):
    """Scores, win and empty cells from a player's view: true ones after the game, else expected ones."""
    if game.is_over:
        own, other = (game.scores()[p] for p in (player, 1 - player))
        empty = [(~game.quilt(p)).sum() for p in (player, 1 - player)]
        return np.array([own, other, game.winner() == player, *empty], float)
    network.evaluate(game.state, 0, integers, BUFFER)
    outputs = BUFFER[0]["outputs"].astype(float)
    return outputs if game.current_player == player else turned(outputs)


def turned(values):
    """The values from the other player's view."""
    values = values[SWAPPED].copy()
    values[WIN] = 1 - values[WIN]
    return values


def naive_targets(states, promises, explored, trace):
    """The returns of the players to move, computed from the view of player 0."""
    players = states["current_player"][:-1].tolist()
    of_first = [turned(p) if player else p for p, player in zip(promises.astype(float), players, strict=True)]
    result = value_of(Game.from_state(states, len(states) - 1), 0, None)
    returns = naive_returns(of_first, explored, result, trace)
    return [turned(each) if player else each for each, player in zip(returns, players, strict=True)]


def test_scripted_players_have_their_shares_of_the_games():
    n = 8000
    games = module.Episodes(
        seed_streams(np.uint64(1), n),
        empty_states(n),
        empty_states(n).reshape(n, 1),
        np.empty((n, 1, 5), np.float32),
        np.empty((n, 1), np.bool_),
        *np.empty((3, n), np.int64),
    )
    module._draw_roles(games, 0.5, 0.25)
    assert (games.openings > 0).mean() == pytest.approx(0.5, abs=0.02)
    turns = np.bincount(games.openings)[1:]
    assert turns.tolist() == pytest.approx([100] * 40, abs=45)
    seats = np.bincount(games.scripted) / n
    assert seats.tolist() == pytest.approx([0.125, 0.125, 0.75], abs=0.02)
    assert (games.scripted[games.openings > 0] == NOBODY).all()


@pytest.fixture
def weights():
    weights = network.new_weights(1)
    weights["weights_3"] *= 5
    return weights


def test_module_computes_what_the_kernels_compute(weights):
    states, buffer, integers = many_states()[::5], network.new_buffer(), network.quantized(weights)
    outputs = PatchworkValueModule(weights)(states).detach().numpy() * network.SCALES
    for i in range(len(states)):
        margin, win = network.evaluate(states, i, integers, buffer)
        assert margin == pytest.approx(outputs[i, 0] - outputs[i, 1], abs=0.4)
        assert win == pytest.approx(1 / (1 + np.exp(-outputs[i, WIN])), abs=0.005)
    targets = np.random.default_rng(3).uniform(0, 60, outputs.shape).astype(np.float32)
    losses = PatchworkValueModule(weights).losses(Positions(states, targets))
    found, margins = ((x[:, OWN_SCORE] - x[:, OTHER_SCORE]).astype(float) for x in (outputs, targets))
    error = np.mean((found - margins) ** 2)
    assert losses["margin_error"].item() == pytest.approx(np.sqrt(error), rel=1e-4)
    assert losses["explained_variance"].item() == pytest.approx(1 - error / margins.var(ddof=1), rel=1e-3)


@pytest.mark.parametrize(
    ("sums", "zeros"),
    [
        ("quilt_bias", ["patterns"]),
        ("game_bias", ["patterns", "features", "own", "others"]),
        ("bias_2", ["weights_2"]),
    ],
)
def test_activations_are_clipped_as_in_the_network_that_plays(weights, sums, zeros):
    """Otherwise targets from games would be wrong for more and more positions."""
    for name in zeros:
        weights[name] = 0
    weights["weights_3"] /= 50
    weights[sums][0, :4] = 40, -300, 1000, 31
    state, buffer = many_states()[:1], network.new_buffer()
    outputs = PatchworkValueModule(weights)(state).detach().numpy()[0] * network.SCALES
    margin, win = network.evaluate(state, 0, network.quantized(weights), buffer)
    assert margin == pytest.approx(outputs[0] - outputs[1], abs=0.3)
    assert win == pytest.approx(1 / (1 + np.exp(-outputs[WIN])), abs=0.01)


def test_gradients_of_tables_against_plain_pytorch(weights):
    states = many_states()[::9]
    learner = PatchworkValueModule(weights)
    learner(states).square().sum().backward()
    quilt_rows, game_rows, counts = module.rows_of(states)
    plain = {name: p.detach().clone().requires_grad_() for name, p in learner.named_parameters()}

    def leaky(x):
        return torch.nn.functional.leaky_relu(x, 1 / 8)

    quilts = leaky(plain["quilt_bias"] + plain["patterns"][torch.from_numpy(quilt_rows)].sum(1))
    own, other = quilts.view(len(states), 2, -1).unbind(1)
    chosen = [torch.from_numpy(row[:count]) for row, count in zip(game_rows, counts, strict=True)]
    game = torch.stack([plain["features"][rows].sum(0) for rows in chosen])
    hidden = leaky(plain["game_bias"] + game + own @ plain["own"] + other @ plain["others"])
    hidden_2 = leaky(plain["bias_2"] + hidden @ plain["weights_2"])
    (plain["bias_3"] + hidden_2 @ plain["weights_3"]).square().sum().backward()
    for name, parameter in learner.named_parameters():
        torch.testing.assert_close(parameter.grad, plain[name].grad, rtol=1e-3, atol=1e-4)

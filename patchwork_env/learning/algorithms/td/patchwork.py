"""Temporal-difference learning of the value of Patchwork: games, targets, and the network in PyTorch."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, hardtanh, leaky_relu

from patchwork_env.agents import Agent
from patchwork_env.agents.compiled import LEAK
from patchwork_env.agents.patchwork.champion.agent import ValueAgent
from patchwork_env.agents.patchwork.greedy import GreedyBuffers, choose_noisily, new_greedy_buffers
from patchwork_env.agents.patchwork.value import features
from patchwork_env.agents.patchwork.value.expansion import (
    TO_WIN,
    Expansion,
    Payoffs,
    best_action,
    draw_action,
    expand_likely,
    new_expansion,
)
from patchwork_env.agents.patchwork.value.features import signed
from patchwork_env.agents.patchwork.value.network import (
    OTHER_EMPTY,
    OTHER_SCORE,
    OUTPUTS,
    OWN_EMPTY,
    OWN_SCORE,
    RANGE,
    SCALES,
    TABLES,
    WEIGHTS,
    WIN,
    Quantized,
    Weights,
    evaluate,
    new_weights,
    quantized,
)
from patchwork_env.core.batches import begin_games
from patchwork_env.core.compile import kernel
from patchwork_env.core.intrinsics import Floats, Rows, copy, copy_record
from patchwork_env.core.random import Streams, random_below
from patchwork_env.learning.algorithms.td import learner
from patchwork_env.learning.algorithms.td.config import TdConfig
from patchwork_env.patchwork.components import NUM_PLAYERS
from patchwork_env.patchwork.engine import MAX_TURNS, apply, empty_cells, is_over, score, winner
from patchwork_env.patchwork.rules import RULES
from patchwork_env.patchwork.state import NOBODY, States, empty_states

_LONGEST_OPENING = 40


class PatchworkValue(learner.ValueGame):
    """Plays whole games, most of them with the learner on both sides.

    A value that has seen only games between equals fails against other opponents. So scripted players, with
    the quick policy of ``mcts``, play the openings of some games, and one side of other games to the end.
    Nothing is learned from the openings. Statistics leave out all these games.
    """

    weights = WEIGHTS
    no_positions = learner.Positions(empty_states(0), np.empty((0, OUTPUTS), np.float32))

    def __init__(self, config: TdConfig) -> None:
        self._config = config

    def new_module(self) -> PatchworkValueModule:
        return PatchworkValueModule(new_weights(self._config.seed))

    def agent(self, weights: Weights, name: str) -> Agent:
        return ValueAgent(weights, TO_WIN, name)

    def play(self, weights: Weights, progress: float, streams: Streams) -> learner.Played:
        config, shape, streams = self._config.td, (len(streams), MAX_TURNS), streams.copy()
        reward = self._config.reward
        payoffs = Payoffs(reward.outcome, reward.margin / reward.margin_scale, config.rival_weight)
        games = Episodes(
            streams,
            begin_games(RULES, streams, **self._config.training_options),
            empty_states(len(streams) * MAX_TURNS).reshape(shape),
            np.empty((*shape, OUTPUTS), np.float32),
            np.empty(shape, np.bool_),
            *(np.empty(len(streams), np.int64) for _ in range(3)),
        )
        expansion, playout = new_expansion(), new_greedy_buffers()
        _draw_roles(games, config.openings, config.scripted_player_fraction)
        _play_openings(games, playout)
        exploration, width = config.exploration.at(progress), config.candidate_placements
        _play(games, quantized(weights), expansion, playout, payoffs, width, exploration, config.temperature)
        _write_targets(games, config.td_lambda)
        played = np.arange(MAX_TURNS) < games.lengths[:, None]
        own = (games.openings == 0) & (games.scripted == NOBODY)
        return learner.Played(
            learner.Positions(games.positions[played], games.targets[played]),
            games.states[own],
            games.lengths[own],
            int(games.lengths.sum()),
        )


class Episodes(NamedTuple):
    """Games that are played by one thread, turn by turn; entries after the end of a game have no meaning."""

    streams: Streams  # (n,)
    states: States  # (n,), the present states
    positions: States  # (n, MAX_TURNS), before each turn
    targets: Floats  # (n, MAX_TURNS, OUTPUTS), at first the value of the best action, later the target
    explored: npt.NDArray[np.bool_]  # (n, MAX_TURNS), whether another action than the best was played
    lengths: npt.NDArray[np.int64]  # (n,), the numbers of turns
    openings: npt.NDArray[np.int64]  # (n,), the number of opening turns that scripted players play
    scripted: npt.NDArray[np.int64]  # (n,), the player who is scripted to the end, or NOBODY


@kernel
def _draw_roles(games: Episodes, openings: float, scripted: float) -> None:
    """Draw the games whose openings are scripted, and those in which one player is scripted to the end."""
    for i in range(len(games.lengths)):
        number = random_below(games.streams, i, learner.STEPS) / learner.STEPS
        games.openings[i], games.scripted[i] = 0, NOBODY
        if number < openings:
            games.openings[i] = 1 + random_below(games.streams, i, _LONGEST_OPENING)
        elif number < openings + scripted:
            games.scripted[i] = random_below(games.streams, i, NUM_PLAYERS)


@kernel
def _play_openings(games: Episodes, playout: GreedyBuffers) -> None:
    for i in range(len(games.lengths)):
        for _ in range(games.openings[i]):
            if not is_over(games.states, i):
                apply(games.states, i, choose_noisily(games.states, i, playout, games.streams, i))


@kernel
def _play(
    games: Episodes,
    weights: Quantized,
    expansion: Expansion,
    playout: GreedyBuffers,
    payoffs: Payoffs,
    width: int,
    exploration: float,
    temperature: float,
) -> None:
    """Play all games to their ends; ``playout`` is the buffer of scripted players."""
    states = games.states
    for i in range(len(states)):
        turn = 0
        while not is_over(states, i):
            games.positions[i, turn] = states[i]
            count = expand_likely(states, i, width, weights, expansion)
            best = best_action(expansion, count, payoffs)
            action = preferred = signed(expansion.actions[best])
            if states[i]["current_player"] == games.scripted[i]:
                action = choose_noisily(states, i, playout, games.streams, i)
            elif random_below(games.streams, i, learner.STEPS) < exploration * learner.STEPS:
                drawn = draw_action(expansion, count, payoffs, temperature, games.streams, i)
                action = signed(expansion.actions[drawn])
            games.explored[i, turn] = action != preferred
            _write_value(states, i, preferred, weights, expansion, games.targets[i, turn])
            apply(states, i, action)
            turn += 1
        games.lengths[i] = turn


@kernel
def _write_value(
    states: States, i: int, action: int, weights: Quantized, expansion: Expansion, value: Floats
) -> None:
    successor, player = expansion.successor, signed(states[i]["current_player"])
    copy_record(successor, 0, states, i)
    apply(successor, 0, action)
    if is_over(successor, 0):
        _write_result(successor, 0, player, value)
        return
    evaluate(successor, 0, weights, expansion.buffer)
    copy(value, expansion.buffer[0]["outputs"])
    if successor[0]["current_player"] != player:
        _change_sides(value)


@kernel
def _write_result(states: States, i: int, player: int, result: Floats) -> None:
    result[OWN_SCORE] = score(states, i, player)
    result[OTHER_SCORE] = score(states, i, 1 - player)
    result[WIN] = winner(states, i) == player
    result[OWN_EMPTY] = empty_cells(states, i, player)
    result[OTHER_EMPTY] = empty_cells(states, i, 1 - player)


@kernel
def _change_sides(values: Floats) -> None:
    values[OWN_SCORE], values[OTHER_SCORE] = values[OTHER_SCORE], values[OWN_SCORE]
    values[OWN_EMPTY], values[OTHER_EMPTY] = values[OTHER_EMPTY], values[OWN_EMPTY]
    values[WIN] = 1 - values[WIN]


@kernel(allocates=True)
def _write_targets(games: Episodes, td_lambda: float) -> None:
    """Write lambda-returns for the player to move in place of the values of the best actions.

    As in Watkins's Q(lambda), a return ends before an action other than the best. See Sutton and Barto,
    Reinforcement Learning, 2nd edition, sections 12.1 and 12.10.
    """
    following = np.empty(OUTPUTS, np.float32)
    for i in range(len(games.lengths)):
        if games.lengths[i] == 0:
            continue
        last = games.lengths[i] - 1
        player = signed(games.positions[i, last]["current_player"])
        _write_result(games.states, i, player, following)
        for turn in range(last, -1, -1):
            mover = signed(games.positions[i, turn]["current_player"])
            if mover != player:
                _change_sides(following)
                player = mover
            share = 0.0 if games.explored[i, turn] else td_lambda
            target = games.targets[i, turn]
            for k in range(OUTPUTS):
                target[k] += share * (following[k] - target[k])
            following[:] = target


class PatchworkValueModule(learner.ValueModule):
    """The forward pass of :mod:`patchwork_env.agents.patchwork.value.network`, with gradients."""

    tables = TABLES
    quilt_bias: Tensor
    game_bias: Tensor
    own: Tensor
    others: Tensor
    bias_2: Tensor
    weights_2: Tensor
    bias_3: Tensor
    weights_3: Tensor

    def forward(self, states: States) -> Tensor:
        """Return the outputs ``(n, OUTPUTS)`` for the players to move, in units of ``SCALES``."""
        quilt_rows, game_rows, counts = rows_of(states)
        windows = np.full(NUM_PLAYERS * len(states), features.NUM_WINDOWS)
        quilts = _units(self.quilt_bias + learner.EmbeddingSum.apply(self.patterns, quilt_rows, windows))
        own, other = quilts.view(len(states), NUM_PLAYERS, -1).unbind(1)
        game = self.game_bias + learner.EmbeddingSum.apply(self.features, game_rows, counts)
        hidden = _units(game + own @ self.own + other @ self.others)
        hidden_2 = _units(self.bias_2 + hidden @ self.weights_2)
        return self.bias_3 + hidden_2 @ self.weights_3

    def losses(self, samples: learner.Positions) -> dict[str, Tensor]:
        outputs = self(samples.states)
        targets = torch.from_numpy(samples.targets / SCALES)
        squares = (outputs - targets).square().mean(0)
        score_loss = squares[OWN_SCORE] + squares[OTHER_SCORE]
        empty_loss = squares[OWN_EMPTY] + squares[OTHER_EMPTY]
        win_loss = binary_cross_entropy_with_logits(outputs[:, WIN], targets[:, WIN])
        margins, expected = (x[:, OWN_SCORE] - x[:, OTHER_SCORE] for x in (targets, outputs.detach()))
        return {
            "loss": score_loss + empty_loss + win_loss,
            "score_loss": score_loss,
            "empty_loss": empty_loss,
            "win_loss": win_loss,
            "margin_error": SCALES[OWN_SCORE] * (expected - margins).square().mean().sqrt(),
            "explained_variance": 1 - (expected - margins).square().mean() / margins.var().clamp_min(1e-9),
        }


def _units(sums: Tensor) -> Tensor:
    """Return the activations of a layer; sums are clipped as in the integer network that plays."""
    return leaky_relu(hardtanh(sums, -RANGE, RANGE), LEAK)


def rows_of(states: States) -> tuple[Rows, Rows, learner.Counts]:
    """Return the rows of patterns and of features that the network looks up, and the number of the latter."""
    n = len(states)
    quilt_rows = np.empty((NUM_PLAYERS * n, features.NUM_WINDOWS), np.int32)
    game_rows = np.empty((n, features.MAX_ROWS), np.int32)
    counts = np.empty(n, np.int64)
    _write_rows(states, quilt_rows, game_rows, counts)
    return quilt_rows, game_rows, counts


@kernel(allocates=True)
def _write_rows(states: States, quilt_rows: Rows, game_rows: Rows, counts: learner.Counts) -> None:
    bands = np.empty(features.NUM_BANDS, np.uint64)
    for i in range(len(states)):
        mover = signed(states[i]["current_player"])
        quilt = states[i]["quilt"]
        for role in range(NUM_PLAYERS):
            player = mover if role == 0 else 1 - mover
            features.write_bands(quilt[player, 0], quilt[player, 1], bands)
            features.list_rows(bands, quilt_rows[NUM_PLAYERS * i + role])
        counts[i] = features.list_left_rows(states, i, game_rows[i])
        counts[i] += features.list_game_rows(states, i, game_rows[i, counts[i] :])
        for role in range(NUM_PLAYERS):
            counts[i] += features.list_fit_rows(states, i, role, game_rows[i, counts[i] :])
        counts[i] += features.list_square_rows(states, i, game_rows[i, counts[i] :])

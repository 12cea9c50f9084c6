"""Temporal-difference learning of the value of NMBR 9: games, targets, and the network in PyTorch."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn.functional import leaky_relu

from patchwork_env.agents import Agent
from patchwork_env.agents.compiled import LEAK, draw_by_softmax
from patchwork_env.agents.nmbr9 import features, value
from patchwork_env.agents.nmbr9.champion import ValueAgent
from patchwork_env.core.batches import begin_games
from patchwork_env.core.compile import kernel
from patchwork_env.core.intrinsics import Floats, Rows
from patchwork_env.core.random import Streams, random_below
from patchwork_env.learning.algorithms.td import learner
from patchwork_env.learning.algorithms.td.config import ValueRun
from patchwork_env.nmbr9.engine import apply, digit_to_place, level_of, num_placed
from patchwork_env.nmbr9.rules import RULES
from patchwork_env.nmbr9.state import States, empty_states

_ROUNDS = int(RULES.set_up(RULES.options, {}).initial_state[0]["num_rounds"])


class Nmbr9Value(learner.ValueGame):
    """Plays whole games with random decks of unknown order; targets are the points of tiles still to come."""

    weights = value.WEIGHTS
    no_positions = learner.Positions(empty_states(0), np.empty(0, np.float32))

    def __init__(self, config: ValueRun) -> None:
        self._config = config

    def new_module(self) -> Nmbr9ValueModule:
        return Nmbr9ValueModule(value.new_weights(self._config.seed))

    def agent(self, weights: value.Weights, name: str) -> Agent:
        return ValueAgent(weights, name)

    def play(self, weights: value.Weights, progress: float, streams: Streams) -> learner.Played:
        config, shape, streams = self._config.learning, (len(streams), _ROUNDS), streams.copy()
        games = Episodes(
            streams,
            begin_games(RULES, streams),
            empty_states(len(streams) * _ROUNDS).reshape(shape),
            np.empty(shape, np.float32),
            np.empty(shape, np.float32),
            np.empty(shape, np.bool_),
        )
        exploration, width = config.exploration.at(progress), config.candidate_placements
        _play(games, weights, value.new_expansion(), width, exploration, config.temperature)
        _write_targets(games, config.td_lambda)
        positions = learner.Positions(games.positions.reshape(-1), games.targets.reshape(-1))
        lengths = np.full(len(games.states), _ROUNDS, np.int64)
        return learner.Played(positions, games.states, lengths, int(lengths.sum()))


class Episodes(NamedTuple):
    """Games that are played by one thread, turn by turn."""

    streams: Streams  # (n,)
    states: States  # (n,), the present states
    positions: States  # (n, rounds), before each tile
    gains: Floats  # (n, rounds), the points that each tile brought
    targets: Floats  # (n, rounds), at first the value of the best action, later the target
    explored: npt.NDArray[np.bool_]  # (n, rounds), whether another action than the best was played


@kernel
def _play(
    games: Episodes,
    weights: value.Weights,
    expansion: value.Expansion,
    width: int,
    exploration: float,
    temperature: float,
) -> None:
    states = games.states
    for i in range(len(states)):
        for turn in range(_ROUNDS):
            games.positions[i, turn] = states[i]
            count = value.expand(states, i, width, weights, expansion)
            chosen = best = value.best_action(expansion, count)
            if random_below(games.streams, i, learner.STEPS) < exploration * learner.STEPS:
                chosen = draw_by_softmax(expansion.values[:count], temperature, games.streams, i)
            action = expansion.actions[chosen]
            games.explored[i, turn] = chosen != best
            games.targets[i, turn] = expansion.values[best]
            games.gains[i, turn] = digit_to_place(states, i) * level_of(states, i, action)
            apply(states, i, action)


@kernel
def _write_targets(games: Episodes, td_lambda: float) -> None:
    """Write lambda-returns in place of the values of the best actions.

    As in Watkins's Q(lambda), a return ends before an action other than the best. See Sutton and Barto,
    Reinforcement Learning, 2nd edition, sections 12.1 and 12.10.
    """
    for i in range(len(games.states)):
        following = 0.0
        for turn in range(_ROUNDS - 1, -1, -1):
            target = games.targets[i, turn]
            if not games.explored[i, turn]:
                target += td_lambda * (games.gains[i, turn] + following - target)
            games.targets[i, turn] = target
            following = target


class Nmbr9ValueModule(learner.ValueModule):
    """The forward pass of :mod:`patchwork_env.agents.nmbr9.value`, with gradients."""

    tables = value.TABLES
    relief_bias: Tensor
    bias: Tensor
    numbers: Tensor
    weights_1: Tensor
    bias_2: Tensor
    weights_2: Tensor
    bias_3: Tensor
    weights_3: Tensor

    def forward(self, states: States) -> Tensor:
        """Return the values ``(n,)`` of the first players of running games, in units of ``SCALE``."""
        windows, window_counts, rows, counts, inputs = rows_of(states)
        relief = leaky_relu(
            self.relief_bias + learner.EmbeddingSum.apply(self.windows, windows, window_counts), LEAK
        )
        hidden = self.bias + learner.EmbeddingSum.apply(self.features, rows, counts)
        hidden = leaky_relu(hidden + torch.from_numpy(inputs) @ self.numbers + relief @ self.weights_1, LEAK)
        hidden_2 = leaky_relu(self.bias_2 + hidden @ self.weights_2, LEAK)
        return self.bias_3 + hidden_2 @ self.weights_3

    def losses(self, samples: learner.Positions) -> dict[str, Tensor]:
        values = self(samples.states)
        targets = torch.from_numpy(samples.targets) / value.SCALE
        loss = (values - targets).square().mean()
        return {
            "loss": loss,
            "error": value.SCALE * loss.detach().sqrt(),
            "explained_variance": 1 - loss.detach() / targets.var().clamp_min(1e-9),
        }


def rows_of(states: States) -> tuple[Rows, learner.Counts, Rows, learner.Counts, Floats]:
    """Return the inputs of the network: rows of windows and their number, rows of features, and numbers."""
    n = len(states)
    windows, rows = np.empty((n, value.MAX_WINDOWS), np.int32), np.empty((n, features.MAX_ROWS), np.int32)
    window_counts, counts = np.empty(n, np.int64), np.empty(n, np.int64)
    inputs = np.empty((n, features.NUM_INPUTS), np.float32)
    _write_rows(states, value.new_buffer(), windows, window_counts, rows, counts, inputs)
    return windows, window_counts, rows, counts, inputs


@kernel(allocates=True)
def _write_rows(
    states: States,
    buffer: value.Buffer,
    windows: Rows,
    window_counts: learner.Counts,
    rows: Rows,
    counts: learner.Counts,
    inputs: Floats,
) -> None:
    for i in range(len(states)):
        number, found = value.read_table(states, i, 0, buffer[0])
        windows[i, :found] = buffer[0]["rows"][:found]
        window_counts[i] = found
        left = int(states[i]["num_rounds"]) - num_placed(states, i, 0)
        counts[i] = features.list_rows(buffer[0], number, left, rows[i])
        inputs[i] = buffer[0]["inputs"]

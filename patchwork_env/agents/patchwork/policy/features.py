"""Features of Patchwork for policy networks: figures of the quilts, and the effects of every action.

A network learns these numbers only slowly from the cells. All are from the view of the player to move, and
most are scaled to -2 ... 2.

- **Positions**, :data:`POSITION_FEATURES`: for both players, the player to move first: the figures of the
  quilt (below), the logarithm of the number of placements of each of the next :data:`NEXT` patches, and the
  final buttons if the player bought nothing more and earned nothing by advancing.
- **Kinds of action** (advancing, the three slots, the special patch), :data:`KIND_FEATURES` each: the effects
  that every action of the kind has, see :func:`_write_kind`; the largest gains of its placements in
  compactness and in joints; and the number of its placements.
- **Placements**, :data:`PLACEMENT_FEATURES` each: the changes of the figures of the own quilt.
- **Offers**, only for networks with ``offers``. Positions get :data:`POSITION_OFFERS`: for both players and
  each of the next :data:`SOON` patches, its value in greedy play, and whether the player can pay for it.
  Kinds get :data:`KIND_OFFERS`: for each patch that is offered after the action its size and time, and for
  both players its value, whether the player can pay for it, and the logarithm of the number of its placements
  before the action.

The figures of a quilt: its empty cells with no, one, two, three and four empty neighbors; its covered cells
with none and one; the pairs of neighboring empty cells (:mod:`.placements`); and the empty cells of the 7x7
square that has the fewest.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from patchwork_env.agents.patchwork.greedy import patch_value
from patchwork_env.agents.patchwork.joints import ROWS_0_TO_4, ROWS_5_TO_8, count_neighbors
from patchwork_env.agents.patchwork.placements import NUM_KINDS, cells_of, end_of_kind, kind_of
from patchwork_env.agents.patchwork.value.features import missing_cells, projected_buttons, signed
from patchwork_env.agents.ragged import end_of_row
from patchwork_env.agents.ragged_policy import array_of
from patchwork_env.core.bits import popcount
from patchwork_env.core.compile import kernel
from patchwork_env.core.intrinsics import Floats, copy_record
from patchwork_env.patchwork.actions import ADVANCE, NUM_ACTIONS
from patchwork_env.patchwork.components import LAST_SPACE, NUM_OFFERED, NUM_PLAYERS
from patchwork_env.patchwork.engine import apply, count_placements, empty_cells
from patchwork_env.patchwork.observation import read_observation
from patchwork_env.patchwork.state import States, empty_states
from patchwork_env.patchwork.tables import FULL_WORD, PRICES, SIZES, TIMES

NEXT = 8  # the number of patches, from the neutral token on, whose placements are counted
_FIGURES = 9
POSITION_FEATURES = NUM_PLAYERS * (_FIGURES + NEXT + 1)
PLACEMENT_FEATURES = _FIGURES
KIND_FEATURES = 13
SOON = 2 * NUM_OFFERED
"""The number of patches, from the neutral token on, that can be offered now or after one move."""
_JUDGED = 2
POSITION_OFFERS = NUM_PLAYERS * SOON * _JUDGED
_OFFER = 2 + NUM_PLAYERS * (_JUDGED + 1)
KIND_OFFERS = NUM_OFFERED * _OFFER
_IS_POSSIBLE, _MOST_COMPACT, _MOST_JOINTS, _NUM_PLACEMENTS = 0, 10, 11, 12

Indices = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]


class _Memory(NamedTuple):
    states: States  # a state and a successor
    words: Words  # of many quilts
    figures: Floats  # of these quilts
    before: Floats


class Features(NamedTuple):
    """The features of ``n`` positions with ``total`` legal actions, without those of offers; float32."""

    positions: Tensor  # (n, POSITION_FEATURES)
    kinds: Tensor  # (n, NUM_KINDS, KIND_FEATURES); zeros where no action of a kind is legal
    placements: Tensor  # (total, PLACEMENT_FEATURES), multiples of 1/4; zeros for advancing

    def packed(self) -> Features:
        return self._replace(placements=(4 * self.placements).to(torch.int8))

    def unpacked(self) -> Features:
        return self._replace(placements=self.placements.float().mul_(0.25))


def features_of(observations: Tensor, rows: Tensor, actions: Tensor, offers: bool = False) -> Features:
    """Return the features of positions and their legal actions, as in :class:`.networks.Inputs`."""
    positions, device = position_features(observations, offers), observations.device
    kinds = np.zeros((len(positions), NUM_KINDS, KIND_FEATURES + offers * KIND_OFFERS), np.float32)
    placements = np.zeros((actions.shape[0], PLACEMENT_FEATURES), np.float32)
    arrays = array_of(observations), array_of(rows), array_of(actions), array_of(fits_of(positions))
    _write_actions(*arrays, _new_memory(), kinds, placements)
    return Features(positions, torch.from_numpy(kinds).to(device), torch.from_numpy(placements).to(device))


def position_features(observations: Tensor, offers: bool = False) -> Tensor:
    """Return the features of positions alone, as in :class:`Features`."""
    array = array_of(observations)
    positions = np.zeros((len(array), POSITION_FEATURES + offers * POSITION_OFFERS), np.float32)
    _write_positions(array, _new_memory(), positions)
    return torch.from_numpy(positions).to(observations.device)


def _new_memory() -> _Memory:
    words, figures = np.empty((2, NUM_ACTIONS), np.uint64), np.empty((_FIGURES, NUM_ACTIONS), np.float32)
    return _Memory(empty_states(2), words, figures, np.empty(_FIGURES, np.float32))


def fits_of(positions: Tensor) -> Tensor:
    """Return the logarithms of numbers of placements in positions, ``(n, NUM_PLAYERS, NEXT)``."""
    of_players = positions[:, :POSITION_FEATURES].reshape(-1, NUM_PLAYERS, POSITION_FEATURES // NUM_PLAYERS)
    return of_players[:, :, _FIGURES : _FIGURES + NEXT]


# --- positions ----------------------------------------------------------------------------------------------


@kernel
def _write_positions(observations: Floats, memory: _Memory, positions: Floats) -> None:
    """Write the features of positions into zeros, with those of offers if there is room for them."""
    for i in range(len(observations)):
        read_observation(observations[i], memory.states, 0)
        for player in range(NUM_PLAYERS):
            first = player * (_FIGURES + NEXT + 1)
            _write_player(player, memory, positions[i, first : first + _FIGURES + NEXT + 1])
        if positions.shape[1] > POSITION_FEATURES:
            _write_position_offers(memory.states, positions[i, POSITION_FEATURES:])


@kernel
def _write_player(player: int, memory: _Memory, out: Floats) -> None:
    state = memory.states[0]
    _count_quilt(state["quilt"][player, 0], state["quilt"][player, 1], memory, out)
    for k in range(_FIGURES):
        out[k] /= 20
    for k in range(min(NEXT, signed(state["num_patches"]))):
        quilt = state["quilt"][player]
        placements = count_placements(quilt[0], quilt[1], signed(state["circle"][k]))
        out[_FIGURES + k] = math.log(1.0 + placements) / 5
    out[_FIGURES + NEXT] = projected_buttons(memory.states, 0, player) / 40


@kernel
def _count_quilt(word_0: np.uint64, word_1: np.uint64, memory: _Memory, out: Floats) -> None:
    memory.words[0, 0], memory.words[1, 0] = word_0, word_1
    _write_figures(memory.words, 1, memory.figures)
    for k in range(_FIGURES):
        out[k] = memory.figures[k, 0]


@kernel
def _write_figures(words: Words, count: int, figures: Floats) -> None:
    """Write the figures of ``count`` quilts, a row of ``figures`` for each figure.

    The loops have no branches, so the compiler vectorizes them: eight quilts at once.
    """
    for k in range(count):
        word_0, word_1 = words[0, k], words[1, k]
        (one_0, two_0, four_0), (one_1, two_1, four_1) = count_neighbors(word_0, word_1)
        empty_0, empty_1 = ~word_0 & FULL_WORD, ~word_1 & FULL_WORD
        none_0, none_1 = ~(one_0 | two_0 | four_0), ~(one_1 | two_1 | four_1)
        single_0, single_1 = one_0 & ~two_0, one_1 & ~two_1
        figures[0, k] = _count(empty_0 & none_0, empty_1 & none_1)
        figures[1, k] = _count(empty_0 & single_0, empty_1 & single_1)
        figures[2, k] = _count(empty_0 & two_0 & ~one_0, empty_1 & two_1 & ~one_1)
        figures[3, k] = _count(empty_0 & two_0 & one_0, empty_1 & two_1 & one_1)
        figures[4, k] = _count(empty_0 & four_0, empty_1 & four_1)
        figures[5, k] = _count(word_0 & none_0, word_1 & none_1)
        figures[6, k] = _count(word_0 & single_0, word_1 & single_1)
    for k in range(count):  # every pair is counted at both of its cells
        figures[7, k] = (figures[1, k] + 2 * figures[2, k] + 3 * figures[3, k] + 4 * figures[4, k]) / 2
    for k in range(count):
        figures[8, k] = missing_cells(words[0, k], words[1, k])


@kernel(inline=True)
def _count(cells_0: np.uint64, cells_1: np.uint64) -> int:
    """Count the cells of a quilt that are marked in its two words, whose rows overlap."""
    return popcount(cells_0 & ROWS_0_TO_4) + popcount(cells_1 & ROWS_5_TO_8)


# --- actions ------------------------------------------------------------------------------------------------


@kernel
def _write_actions(
    observations: Floats,
    rows: Indices,
    actions: Indices,
    fits: Floats,
    memory: _Memory,
    kinds: Floats,
    placements: Floats,
) -> None:
    """Write the features of the kinds and placements of all legal actions into zeros."""
    begin = 0
    while begin < len(actions):
        end, row = end_of_row(rows, begin), rows[begin]
        read_observation(observations[row], memory.states, 0)
        _write_placements(actions[begin:end], memory, placements[begin:end])
        _write_kinds(actions[begin:end], placements[begin:end], fits[row], memory.states, kinds[row])
        begin = end


@kernel
def _write_placements(actions: Indices, memory: _Memory, placements: Floats) -> None:
    quilt = memory.states[0]["quilt"]
    _count_quilt(quilt[0, 0], quilt[0, 1], memory, memory.before)
    for k in range(len(actions)):
        word_0, word_1 = np.uint64(0), np.uint64(0)
        if actions[k] != ADVANCE:
            word_0, word_1 = cells_of(memory.states, 0, actions[k])
        memory.words[0, k], memory.words[1, k] = quilt[0, 0] | word_0, quilt[0, 1] | word_1
    _write_figures(memory.words, len(actions), memory.figures)
    for k in range(len(actions)):
        for figure in range(_FIGURES):
            placements[k, figure] = (memory.figures[figure, k] - memory.before[figure]) / 4


@kernel
def _write_kinds(actions: Indices, placements: Floats, fits: Floats, states: States, kinds: Floats) -> None:
    """Write the features of kinds, with those of offers if there is room for them."""
    begin = 0
    while begin < len(actions):
        kind, end = kind_of(actions[begin]), end_of_kind(actions, begin, len(actions))
        if is_possible(states, kind):
            copy_record(states, 1, states, 0)
            apply(states, 1, actions[begin])
            _write_kind(states, kinds[kind])
            if kind > 0:
                _write_best(placements[begin:end], kinds[kind])
            if kinds.shape[1] > KIND_FEATURES:
                _write_kind_offers(states, kind, fits, kinds[kind, KIND_FEATURES:])
        begin = end


@kernel(inline=True)
def is_possible(states: States, kind: int) -> bool:
    """Whether actions of a kind can be legal: False for a listed action if the observation is invalid."""
    if kind == NUM_KINDS - 1 or states[0]["pending_special"]:
        return bool(states[0]["pending_special"]) and kind == NUM_KINDS - 1
    return kind <= signed(states[0]["num_patches"])


@kernel
def _write_kind(states: States, out: Floats) -> None:
    """Write the effects of an action on its player that do not depend on the placement."""
    before, after = states[0], states[1]
    space, target = signed(before["position"][0]), signed(after["position"][0])
    covered = empty_cells(states, 0, 0) - empty_cells(states, 1, 0)
    buttons = signed(after["buttons"][0])
    out[_IS_POSSIBLE] = 1
    out[1] = buttons / 30
    out[2] = (buttons - signed(before["buttons"][0])) / 10
    out[3] = (signed(after["income"][0]) - signed(before["income"][0])) / 3
    out[4] = (projected_buttons(states, 1, 0) - projected_buttons(states, 0, 0)) / 20
    out[5] = covered / 8
    out[6] = covered * target / (4 * LAST_SPACE)
    out[7] = (target - space) / 6
    out[8] = (signed(before["position"][1]) - target) / 10
    out[9] = int(after["current_player"] == 0) + int(after["pending_special"])


@kernel
def _write_best(placements: Floats, out: Floats) -> None:
    """Write the largest gains of placements in compactness and in joints, and their number."""
    most_compact, most_joints = np.float32(-np.inf), np.float32(-np.inf)
    for k in range(len(placements)):
        most_compact = max(most_compact, 2 * placements[k, 5] + placements[k, 6])
        most_joints = max(most_joints, placements[k, 7])
    out[_MOST_COMPACT], out[_MOST_JOINTS] = most_compact / 4, most_joints / 4 + 3
    out[_NUM_PLACEMENTS] = len(placements) / 100


# --- offers -------------------------------------------------------------------------------------------------


@kernel
def _write_position_offers(states: States, out: Floats) -> None:
    for player in range(NUM_PLAYERS):
        for k in range(min(SOON, signed(states[0]["num_patches"]))):
            at = (player * SOON + k) * _JUDGED
            _judge(states, 0, player, signed(states[0]["circle"][k]), out[at : at + _JUDGED])


@kernel
def _write_kind_offers(states: States, kind: int, fits: Floats, out: Floats) -> None:
    """Write the offer in the second state, which follows from the first by an action of a kind."""
    left = signed(states[1]["num_patches"])
    before = signed(states[0]["num_patches"])
    first = kind if left < before else 0  # the neutral token moves to the place of the patch that is bought
    for k in range(min(NUM_OFFERED, left)):
        place = (first + k) % before
        patch = signed(states[0]["circle"][place])
        at = k * _OFFER
        out[at], out[at + 1] = SIZES[patch] / 8, TIMES[patch] / 6
        for player in range(NUM_PLAYERS):
            begin = at + 2 + player * (_JUDGED + 1)
            _judge(states, 1, player, patch, out[begin : begin + _JUDGED])
            out[begin + _JUDGED] = fits[player, place]


@kernel
def _judge(states: States, i: int, player: int, patch: int, out: Floats) -> None:
    """Write the value of a patch for a player, and whether the player can pay for it."""
    states[i]["current_player"] = player
    out[0] = patch_value(states, i, patch) / 10
    out[1] = signed(states[i]["buttons"][player]) >= signed(PRICES[patch])

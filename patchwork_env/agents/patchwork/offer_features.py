"""What the patches that are offered, now and after every kind of move, are for both players.

A network with ``offers`` reads these numbers beside those of :mod:`.policy_features`, which explains their
scales. The choice of a patch is also that of the patches which the other player finds.

**Positions**, :data:`POSITION_OFFERS`: for both players, the own one first, the value that greedy play gives
each of the next :data:`SOON` patches, and whether the player can pay for it.

**Kinds of action**, :data:`KIND_OFFERS` each: of the patches that are offered after an action of the kind
their size and time, and for both players value, whether it can be paid, and how many placements it has on the
quilt as it is before the action (logarithms).
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from patchwork_env.agents.compiled.vectors import Floats
from patchwork_env.agents.patchwork.heuristics import NUM_KINDS, kind_of, patch_value
from patchwork_env.agents.patchwork.policy_features import (
    Features,
    Indices,
    array_of,
    fits_of,
    is_possible,
)
from patchwork_env.agents.patchwork.value.features import signed
from patchwork_env.agents.ragged import end_of_row
from patchwork_env.core.compile import kernel
from patchwork_env.patchwork.components import NUM_OFFERED, NUM_PLAYERS, PATCHES
from patchwork_env.patchwork.engine import apply
from patchwork_env.patchwork.observation import read_observation
from patchwork_env.patchwork.state import States, empty_states
from patchwork_env.patchwork.tables import PRICES, TIMES

SOON = 2 * NUM_OFFERED
"""The number of patches, from the neutral token on, that can be offered now or after one move."""
_JUDGED = 2
POSITION_OFFERS = NUM_PLAYERS * SOON * _JUDGED
_OFFER = 2 + NUM_PLAYERS * (_JUDGED + 1)
KIND_OFFERS = NUM_OFFERED * _OFFER
_SIZES = np.array([patch.size for patch in PATCHES], np.int64)


def with_offers(features: Features, observations: Tensor, rows: Tensor, actions: Tensor) -> Features:
    """The features of positions and kinds with those of offers behind them; see :func:`.features_of`."""
    kinds = np.zeros((observations.shape[0], NUM_KINDS, KIND_OFFERS), np.float32)
    fits = array_of(fits_of(features.positions))
    _write_kinds(array_of(observations), array_of(rows), array_of(actions), fits, empty_states(2), kinds)
    offers = torch.from_numpy(kinds).to(observations.device)
    positions = positions_with_offers(features.positions, observations)
    return features._replace(positions=positions, kinds=torch.cat([features.kinds, offers], 2))


def positions_with_offers(positions: Tensor, observations: Tensor) -> Tensor:
    """The features of positions with those of offers behind them; see :func:`.position_features`."""
    offers = np.zeros((observations.shape[0], POSITION_OFFERS), np.float32)
    _write_positions(array_of(observations), empty_states(1), offers)
    return torch.cat([positions, torch.from_numpy(offers).to(observations.device)], 1)


@kernel
def _write_positions(observations: Floats, states: States, out: Floats) -> None:
    """Writes the features of positions into an array of zeros."""
    for i in range(len(observations)):
        read_observation(observations[i], states, 0)
        for player in range(NUM_PLAYERS):
            for k in range(min(SOON, signed(states[0]["num_patches"]))):
                at = (player * SOON + k) * _JUDGED
                _judge(states, 0, player, signed(states[0]["circle"][k]), out[i, at : at + _JUDGED])


@kernel
def _write_kinds(
    observations: Floats, rows: Indices, actions: Indices, fits: Floats, states: States, out: Floats
) -> None:
    """Writes the features of the kinds of all legal actions into an array of zeros."""
    begin = 0
    while begin < len(actions):
        end, row, last = end_of_row(rows, begin), rows[begin], -1
        read_observation(observations[row], states, 0)
        for k in range(begin, end):
            kind = kind_of(actions[k])
            if kind != last and is_possible(states, kind):
                states[1] = states[0]
                apply(states, 1, actions[k])
                _write_offers(states, kind, fits[row], out[row, kind])
            last = kind
        begin = end


@kernel
def _write_offers(states: States, kind: int, fits: Floats, out: Floats) -> None:
    """Writes what is offered in the second state, after an action of a kind in the first one."""
    left = signed(states[1]["num_patches"])
    before = signed(states[0]["num_patches"])
    first = kind if left < before else 0  # the neutral token moves behind the patch that is bought
    for k in range(min(NUM_OFFERED, left)):
        place = (first + k) % before
        patch = signed(states[0]["circle"][place])
        at = k * _OFFER
        out[at], out[at + 1] = _SIZES[patch] / 8, TIMES[patch] / 6
        for player in range(NUM_PLAYERS):
            begin = at + 2 + player * (_JUDGED + 1)
            _judge(states, 1, player, patch, out[begin : begin + _JUDGED])
            out[begin + _JUDGED] = fits[player, place]


@kernel
def _judge(states: States, i: int, player: int, patch: int, out: Floats) -> None:
    """Writes what a patch is worth for a player, and whether it can be paid."""
    states[i]["current_player"] = player
    out[0] = patch_value(states, i, patch) / 10
    out[1] = signed(states[i]["buttons"][player]) >= signed(PRICES[patch])

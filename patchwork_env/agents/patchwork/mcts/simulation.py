"""The simulations of :mod:`~patchwork_env.search.uct` for Patchwork."""

from __future__ import annotations

from types import ModuleType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.patchwork.mcts.candidates import (
    CandidateBuffers,
    list_candidates,
    new_candidate_buffers,
)
from patchwork_env.agents.patchwork.mcts.playout import PlayoutBuffers, new_playout_buffers, play_out
from patchwork_env.core.compile import kernel, specialize
from patchwork_env.core.random import Streams
from patchwork_env.patchwork.components import NUM_PLAYERS
from patchwork_env.patchwork.engine import MAX_TURNS, apply, is_over, score, winner
from patchwork_env.patchwork.state import States, empty_states
from patchwork_env.search import uct
from patchwork_env.search.tree import Path, new_path

MARGIN_SHARE = 0.2
"""The share of the difference of the scores in the value of a game's end, 0-1; the outcome has the rest."""


class Workspace(NamedTuple):
    """What simulations need besides the tree; see :class:`patchwork_env.search.uct.Workspace`.

    Attributes:
        state: One record, in which games are played out.
        actions: int64, the actions of a node, the same array as in ``candidates``.
        values: float64 ``(2,)``, the value of the end of a game for each player.
        path: The path of the current simulation.
        candidates: The buffers in which the actions of a node are listed.
        playout: The buffers of playouts.
    """

    state: States
    actions: npt.NDArray[np.int64]
    values: npt.NDArray[np.float64]
    path: Path
    candidates: CandidateBuffers
    playout: PlayoutBuffers


def new_workspace() -> Workspace:
    """A workspace for simulations of any game."""
    candidates, values = new_candidate_buffers(), np.empty(NUM_PLAYERS)
    path, playout = new_path(MAX_TURNS), new_playout_buffers()
    return Workspace(empty_states(1), candidates.actions, values, path, candidates, playout)


@kernel(inline=True)
def _list_actions(states: States, i: int, work: Workspace, streams: Streams) -> int:
    return list_candidates(states, i, work.candidates)


@kernel(inline=True)
def _play_out(work: Workspace, streams: Streams) -> None:
    play_out(work.state, 0, work.playout, streams, 0)
    value = value_of(work.state, 0, MARGIN_SHARE)
    work.values[0], work.values[1] = value, -value


@kernel
def value_of(states: States, i: int, margin_share: float) -> float:
    """The value of the end of a game for player 0, from -1 to 1.

    ``margin_share`` is the share of the difference of the scores in it; the outcome has the rest.
    """
    outcome = 1.0 if winner(states, i) == 0 else -1.0
    margin = (score(states, i, 0) - score(states, i, 1)) / 50.0
    return (1.0 - margin_share) * outcome + margin_share * min(max(margin, -1.0), 1.0)


def _game() -> ModuleType:
    """The kernels of Patchwork that simulations are compiled for."""
    game = ModuleType("patchwork_mcts")
    game.apply, game.is_over = apply, is_over  # type: ignore[attr-defined]
    game.list_actions, game.play_out = _list_actions, _play_out  # type: ignore[attr-defined]
    return game


simulate = specialize(uct.simulate, _game())

"""What a player sees of a state of OpenSpiel, as tensors and as text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyspiel

from patchwork_env.core.tensors import Observation

_HISTORY = "history"
_Private = pyspiel.PrivateInfoType


class Observer:
    """An observer after the interface of ``open_spiel.python.observation``.

    The tensors of the usual observation are those that the environments show, under the same names. With
    perfect recall they hold all that the player has seen and done as well: where they do not already, there
    is one more, ``history``, with ``(action + 1) / num_distinct_actions`` for each outcome of chance and each
    move so far, then zeros. Observers of what is public alone, or private alone, have a text and no tensors.
    """

    tensor: Observation | None
    dict: dict[str, Observation]

    def __init__(self, table: Any, kind: Any = None) -> None:
        self._kind = kind or pyspiel.IIGObservationType(perfect_recall=False)
        self._remembers = self._kind.perfect_recall and not table.recalls
        self._layout = table.rules.layout
        self.tensor, self.dict = None, {}
        if self._kind.public_info and self._kind.private_info == _Private.SINGLE_PLAYER:
            length = table.setting.deals + table.setting.turns if self._remembers else 0
            self.tensor = np.zeros(self._layout.size + length, np.float32)
            self.dict = self._layout.as_dict(self.tensor[: self._layout.size])
            if self._remembers:
                self.dict[_HISTORY] = self.tensor[self._layout.size :]

    def set_from(self, state: Any, player: int) -> None:
        """Writes what a player sees of a state into the tensors."""
        if self.tensor is None:
            return
        table, node = state.get_game(), state.node
        view = self.tensor[: self._layout.size]
        table.rules.kernels.write_observation(node.game.state, 0, player, view)
        if node.dealing is not None:
            table.hide_undealt(node, self.dict)
        if self._remembers:
            history = state.history()
            self.dict[_HISTORY][:] = 0
            self.dict[_HISTORY][: len(history)] = np.add(history, 1) / table.rules.num_actions

    def string_from(self, state: Any, player: int) -> str:
        """What a player sees of a state, as text."""
        table, node, kind = state.get_game(), state.node, self._kind
        each = {_Private.NONE: (), _Private.SINGLE_PLAYER: (player,)}
        players = each.get(kind.private_info, tuple(range(table.setting.players)))
        if not kind.public_info:
            return str(table.private_text(node, players))
        text = table.text(node, players)
        if self._remembers:
            text += f" history={','.join(map(str, state.history())) or '-'}"
        return str(text)

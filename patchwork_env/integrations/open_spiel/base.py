"""Games and states of OpenSpiel, written over the :class:`~patchwork_env.core.rules.Rules` of a game."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyspiel

from patchwork_env.core import storage
from patchwork_env.core.batches import MARGIN, MARGIN_SCALE, OUTCOME, loop, reward_of
from patchwork_env.core.checks import as_action, check_action, check_between
from patchwork_env.core.game import BaseGame
from patchwork_env.core.names import short_repr
from patchwork_env.core.rules import Rules
from patchwork_env.core.tensors import Observation
from patchwork_env.errors import IllegalActionError
from patchwork_env.games import rules_of

CHANCE, TERMINAL = int(pyspiel.PlayerId.CHANCE), int(pyspiel.PlayerId.TERMINAL)
_HISTORY = "history"
_Private = pyspiel.PrivateInfoType
_Information = pyspiel.GameType.Information
_Utility = pyspiel.GameType.Utility
_ChanceMode = pyspiel.GameType.ChanceMode


class Node:
    """A node of the game tree. It never changes, so that all copies of a state share it.

    Its game must not be changed. Where chance is to move, ``dealing`` is the number of its decisions so far.
    """

    __slots__ = ("_legal", "dealing", "game", "player")

    def __init__(self, game: BaseGame, dealing: int | None = None) -> None:
        self.game, self.dealing = game, dealing
        if dealing is not None:
            self.player = CHANCE
        else:
            self.player = TERMINAL if game.is_over else game.current_player
        self._legal: list[int] | None = None

    def copy_of_game(self) -> BaseGame:
        """Return a game at this position, without its history."""
        return type(self.game).unchecked(self.game.state)

    @property
    def legal(self) -> list[int]:
        """The legal actions, ascending, computed once for all copies."""
        if self._legal is None:
            self._legal = self.game.legal_actions().tolist()
        return self._legal

    def __copy__(self) -> Node:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Node:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        state = self.game.state
        return _restored, (rules_of(state).name, state.tobytes(), self.dealing)


def _restored(name: str, record: bytes, dealing: int | None) -> Node:
    """Return the node of a stored state, whose set-up may be incomplete at a chance node."""
    rules = rules_of(name)
    states = np.frombuffer(record, rules.dtype)
    if dealing is None:
        return Node(rules.game.from_state(states))
    return Node(rules.game.unchecked(rules.check_ranges(states)), dealing)


class Setting(NamedTuple):
    """The properties of a game that follow from its parameters."""

    players: int
    rewards: int
    scores: tuple[int, int]  # the bounds of a player's score
    turns: int  # an upper bound of the decisions of players
    deals: int  # the number of chance nodes
    has_hidden_information: bool = False  # whether players do not know all outcomes so far

    def utilities(self) -> tuple[float, float, float | None]:
        """Return the lowest and the highest return of a player, and the sum of all returns if it is fixed."""
        lowest, highest = self.scores
        if self.rewards == OUTCOME:
            return -1.0 / (self.players - 1), 1.0, 0.0
        if self.rewards == MARGIN:
            most = (highest - lowest) / MARGIN_SCALE
            return -most, most, 0.0 if self.players == 2 else None
        return float(lowest), float(highest), None


class Kind(NamedTuple):
    """The entries of a game in OpenSpiel's registry."""

    short_name: str  # the name in ``pyspiel.load_game``
    long_name: str
    players: tuple[int, int]  # the lowest and the highest number
    parameters: Mapping[str, int | str]  # with their defaults, numbers or texts

    def type_of(self, setting: Setting) -> pyspiel.GameType:
        """Return the type of a game with given parameters."""
        is_zero_sum = setting.utilities()[2] == 0
        return pyspiel.GameType(
            short_name=self.short_name,
            long_name=self.long_name,
            dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
            chance_mode=_ChanceMode.EXPLICIT_STOCHASTIC if setting.deals else _ChanceMode.DETERMINISTIC,
            information=_Information.IMPERFECT_INFORMATION
            if setting.has_hidden_information
            else _Information.PERFECT_INFORMATION,
            utility=_Utility.ZERO_SUM if is_zero_sum else _Utility.GENERAL_SUM,
            reward_model=pyspiel.GameType.RewardModel.TERMINAL,
            min_num_players=self.players[0],
            max_num_players=self.players[1],
            provides_information_state_string=True,
            provides_information_state_tensor=True,
            provides_observation_string=True,
            provides_observation_tensor=True,
            provides_factored_observation_string=True,
            parameter_specification=dict(self.parameters),
        )


def seed_of(params: Mapping[str, Any]) -> int | None:
    """Return the seed among the parameters; None if there is none."""
    seed = check_between(params["seed"], -1, 2**31 - 1, "seed, if not -1 for none,")
    return None if seed < 0 else seed


def numbers_of(words: Iterable[str]) -> list[int] | None:
    """Return the numbers of a circle or deck; None if there are none."""
    return [storage.parse_number(word) for word in words] or None


def _readable(value: Any) -> Any:
    """Return a parameter in a form that OpenSpiel reads as a str, with a space after a single number."""
    if not isinstance(value, str):
        return value
    words = value.split()
    return " ".join(words) + " " if len(words) == 1 and words[0].isdecimal() else " ".join(words)


class RulesGame(pyspiel.Game):  # type: ignore[misc]
    """A game of OpenSpiel. A derived class has the chance nodes and the observations."""

    kind: ClassVar[Kind]
    rules: ClassVar[Rules]
    recalls: ClassVar[bool]
    """Whether one observation determines all observations and actions of the player so far."""

    def __init__(
        self, setting: Setting, first: Node, max_chance_outcomes: int, params: Mapping[str, Any]
    ) -> None:
        lowest, highest, total = setting.utilities()
        info = pyspiel.GameInfo(
            num_distinct_actions=self.rules.num_actions,
            max_chance_outcomes=max_chance_outcomes if setting.deals else 0,
            num_players=setting.players,
            min_utility=lowest,
            max_utility=highest,
            utility_sum=total,
            max_game_length=setting.turns,
        )
        kept = {name: _readable(value) for name, value in params.items()}
        super().__init__(self.kind.type_of(setting), info, kept)
        self.setting, self.first = setting, first

    def __reduce__(self) -> tuple[Any, ...]:
        """Support pickles and copies, which OpenSpiel's own method does not for games in Python."""
        return _loaded, (str(self),)

    # --- the interface of OpenSpiel -----------------------------------------------------------------------

    def new_initial_state(self, start: Any = None) -> State:
        """Return the first state of a game, or the state of a position.

        The position is its text, see ``Game.position_text``, the struct of a state, or that as a dictionary.
        """
        return State(self, self.first if start is None else self._node_at(_text_of(start)))

    def make_py_observer(self, iig_obs_type: Any = None, params: Mapping[str, Any] | None = None) -> Observer:
        """Return an observer of states."""
        if isinstance(iig_obs_type, Mapping):  # OpenSpiel does so for default observations
            iig_obs_type, params = None, iig_obs_type
        if params:
            raise ValueError(f"observations have no parameters, but {short_repr(params)} are given")
        return Observer(self, iig_obs_type)

    def max_chance_nodes_in_history(self) -> int:
        """Return the most chance nodes in a game."""
        return self.setting.deals

    # --- the tree -----------------------------------------------------------------------------------------

    def play(self, node: Node, action: int) -> Node:
        """Return the node after a legal action of a player."""
        game = node.copy_of_game()
        game.play(action)
        return self._after(node.game, game)

    def returns(self, game: BaseGame) -> list[float]:
        """Return the returns of all players of a game that is over."""
        reward, kind = loop(reward_of, self.rules), self.setting.rewards
        return [float(reward(game.state, 0, player, kind, 0)) for player in range(self.setting.players)]

    def check_outcome(self, node: Node, action: Any) -> tuple[int, int]:
        """Return a valid outcome of chance, and the number of earlier ones."""
        if node.dealing is None or action not in dict(self.chance_outcomes(node)):
            raise IllegalActionError(f"{short_repr(action)} is no outcome of chance now")
        return int(action), node.dealing

    def _node_at(self, text: str) -> Node:
        game = self.rules.game.from_position(text)
        if game.num_players != self.setting.players:
            raise ValueError(
                f"the position has {game.num_players} players, and this game {self.setting.players}"
            )
        return Node(game)

    def _after(self, before: BaseGame, game: BaseGame) -> Node:
        return Node(game)

    # --- chance nodes -------------------------------------------------------------------------------------

    def chance_outcomes(self, node: Node) -> list[tuple[int, float]]:
        """Return the outcomes of a chance node, ascending, with their probabilities."""
        raise NotImplementedError

    def outcome_text(self, node: Node, outcome: int) -> str:
        """Return an outcome as text."""
        raise NotImplementedError

    def deal(self, node: Node, outcome: int) -> Node:
        """Return the node after an outcome of chance."""
        raise NotImplementedError

    # --- observations -------------------------------------------------------------------------------------

    def hide_undealt(self, node: Node, tensors: Mapping[str, Observation]) -> None:
        """Remove from a player's tensors, at a chance node, the values that are not decided yet."""
        raise NotImplementedError

    def text(self, node: Node, players: tuple[int, ...] | None) -> str:
        """Return the position as those players know it together: all for None, what is public for ()."""
        raise NotImplementedError

    def private_text(self, node: Node, players: tuple[int, ...]) -> str:
        """Return what several players know beyond the public part."""
        raise NotImplementedError

    def struct(self, node: Node, player: int | None) -> dict[str, Any]:
        """Return the table for JSON, as a player knows it; None for all of it."""
        raise NotImplementedError


def _loaded(text: str) -> Any:
    """Return a game from its text; unpickling imports this module and so registers the games."""
    return pyspiel.load_game(text)


def _text_of(start: Any) -> str:
    if isinstance(start, pyspiel.StateStruct):
        start = start.to_dict()
    text = start.get("position") if isinstance(start, Mapping) else start
    if not isinstance(text, str):
        raise ValueError(f"a position is a text or the struct of a state, not {short_repr(start)}")
    return text


class State(pyspiel.State):  # type: ignore[misc]
    """A state of OpenSpiel: a node, and the history that OpenSpiel itself keeps.

    A copy shares the node, so that it costs no more than OpenSpiel's own part.
    """

    def __init__(self, table: RulesGame, node: Node) -> None:
        super().__init__(table)
        self._node = node

    @property
    def node(self) -> Node:
        """The node of the game tree."""
        return self._node

    def position(self) -> BaseGame:
        """Return the position as a ``Game`` without its history.

        While chance is to move there is none, which raises ValueError.
        """
        if self._node.player == CHANCE:
            raise ValueError("there is no position for players while chance is to move")
        return self._node.copy_of_game()

    # --- the interface of OpenSpiel -----------------------------------------------------------------------

    def current_player(self) -> int:
        """Return the player to move, or the number of chance or of the end."""
        return self._node.player

    def is_terminal(self) -> bool:
        """Return whether the game is over."""
        return self._node.player == TERMINAL

    def _legal_actions(self, player: int) -> list[int]:
        return self._node.legal

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """Return the outcomes of a chance node, ascending, with their probabilities."""
        outcomes: list[tuple[int, float]] = self.get_game().chance_outcomes(self._node)
        return outcomes

    def apply_action(self, action: Any) -> None:
        """Play a legal action, or an outcome of chance: an integer, as in all environments here."""
        is_outcome = self._node.player == CHANCE
        rules: Rules = self.get_game().rules
        super().apply_action(as_action(action) if is_outcome else check_action(action, rules.num_actions))

    apply_action_with_legality_check = apply_action

    def child(self, action: Any) -> State:
        """Return the state after :meth:`apply_action`; this one does not change."""
        child: State = self.clone()
        child.apply_action(action)
        return child

    def _apply_action(self, action: int) -> None:
        table: RulesGame = self.get_game()
        move = table.deal if self._node.player == CHANCE else table.play
        self._node = move(self._node, action)

    def _action_to_string(self, player: int, action: int) -> str:
        if player == CHANCE:
            return str(self.get_game().outcome_text(self._node, action))
        return self._node.game.move_text(action)

    def string_to_action(self, *of_player_and_text: Any) -> int:
        """Return the action of a word of the notation, or of the text of an outcome of chance.

        Called as ``string_to_action(text)`` or ``string_to_action(player, text)``.
        """
        text = of_player_and_text[-1]
        if self._node.player != CHANCE:
            return self._node.game.parse_move(text)
        for outcome, _ in self.chance_outcomes():
            if self._action_to_string(CHANCE, outcome) == text:
                return outcome
        raise IllegalActionError(f"{short_repr(text)} is no outcome of chance now")

    def returns(self) -> list[float]:
        """Return the returns of all players, 0 until the end."""
        table: RulesGame = self.get_game()
        return table.returns(self._node.game) if self.is_terminal() else [0.0] * table.setting.players

    def __str__(self) -> str:
        return str(self.get_game().text(self._node, None))

    # --- structs ------------------------------------------------------------------------------------------

    def _to_struct(self) -> dict[str, Any]:
        return self._struct(None)

    def _to_observation_struct(self, player: int) -> dict[str, Any]:
        return self._struct(player) | {"observer": player}

    def _struct(self, player: int | None) -> dict[str, Any]:
        table: RulesGame = self.get_game()
        seen = None if player is None else (player,)
        return {
            "current_player": self._node.player,
            "is_terminal": self.is_terminal(),
            "position": table.text(self._node, seen),
            **table.struct(self._node, player),
        }

    def _action_to_struct(self, player: int, action: int) -> dict[str, Any]:
        word = self._action_to_string(player, action)
        if player == CHANCE:
            return {"move": word}
        parts = self._node.game.decode(action)._asdict()
        return {"move": word, **parts, "cells": sorted(map(list, parts["cells"]))}

    def _struct_to_actions(self, struct: dict[str, Any]) -> list[int]:
        if not isinstance(struct, Mapping) or "move" not in struct:
            raise IllegalActionError(
                f"the struct of an action has a field 'move', unlike {short_repr(struct)}"
            )
        return [self.string_to_action(struct["move"])]


class Observer:
    """An observer with the interface of ``open_spiel.python.observation``.

    The tensors are those that the environments show, under the same names. With perfect recall they hold all
    that the player has seen and done: where they do not already, there is one more, ``history``, with
    ``(action + 1) / num_distinct_actions`` for each outcome of chance and each move so far, then zeros.
    Observers of what is public alone, or private alone, have a text and no tensors.
    """

    tensor: Observation | None
    dict: dict[str, Observation]

    def __init__(self, table: RulesGame, kind: Any = None) -> None:
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

    def set_from(self, state: State, player: int) -> None:
        """Write a player's observation of a state into the tensors."""
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

    def string_from(self, state: State, player: int) -> str:
        """Return a player's observation of a state as text."""
        table, node, kind = state.get_game(), state.node, self._kind
        each = {_Private.NONE: (), _Private.SINGLE_PLAYER: (player,)}
        players = each.get(kind.private_info, tuple(range(table.setting.players)))
        if not kind.public_info:
            return str(table.private_text(node, players))
        text = table.text(node, players)
        if self._remembers:
            text += f" history={','.join(map(str, state.history())) or '-'}"
        return str(text)

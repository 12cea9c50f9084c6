"""Games and states of OpenSpiel, built from the :class:`~patchwork_env.core.rules.Rules` of a game."""

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
_Information = pyspiel.GameType.Information
_Utility = pyspiel.GameType.Utility
_ChanceMode = pyspiel.GameType.ChanceMode


class Node:
    """An immutable node of the game tree, which all copies of a state share.

    At a chance node ``dealing`` is the number of earlier outcomes, else None.
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
    """Return the node of a pickled state."""
    rules = rules_of(name)
    return Node(rules.game.unchecked(np.frombuffer(record, rules.dtype)), dealing)


class Setting(NamedTuple):
    """The properties of a game that follow from its parameters."""

    players: int
    rewards: int
    scores: tuple[int, int]  # the bounds of a player's score
    turns: int  # an upper bound of the number of players' decisions
    deals: int  # the number of chance nodes
    has_hidden_information: bool = False

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
    parameters: Mapping[str, int | str]  # the defaults by name
    recalls: bool  # whether an observation determines all earlier observations and actions of the player

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
            provides_information_state_string=self.recalls,
            provides_information_state_tensor=self.recalls,
            provides_observation_string=True,
            provides_observation_tensor=True,
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
    """Return a parameter that OpenSpiel reads back as a str: a single number gets a space after it."""
    if not isinstance(value, str):
        return value
    words = value.split()
    return " ".join(words) + " " if len(words) == 1 and words[0].isdecimal() else " ".join(words)


class RulesGame(pyspiel.Game):  # type: ignore[misc]
    """A game of OpenSpiel; derived classes add chance nodes and observations."""

    kind: ClassVar[Kind]
    rules: ClassVar[Rules]

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

    def new_initial_state(self, position: str | None = None) -> State:
        """Return the first state of a game, or the state of a position, see ``Game.position_text``."""
        return State(self, self.first if position is None else self._node_at(position))

    def make_py_observer(
        self, iig_obs_type: Any = None, params: Mapping[str, Any] | None = None
    ) -> Observer | None:
        """Return an observer of states for one player; None for another kind of information."""
        if isinstance(iig_obs_type, Mapping):  # OpenSpiel calls it this way for default observations
            iig_obs_type, params = None, iig_obs_type
        if params:
            raise ValueError(f"observations have no parameters, but {short_repr(params)} are given")
        kind = iig_obs_type or pyspiel.IIGObservationType(perfect_recall=False)
        is_of_one_player = kind.private_info == pyspiel.PrivateInfoType.SINGLE_PLAYER
        if not (kind.public_info and is_of_one_player and (self.kind.recalls or not kind.perfect_recall)):
            return None
        return Observer(self)

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
            raise IllegalActionError(f"{short_repr(action)} is not an outcome of chance now")
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
        """Remove values that chance has not decided yet from a player's tensors."""
        raise NotImplementedError

    def text(self, node: Node, player: int | None) -> str:
        """Return the position as a player knows it; None for all of it."""
        raise NotImplementedError


def _loaded(text: str) -> Any:
    """Return a game from its text. Unpickling imports this package, which registers the games."""
    return pyspiel.load_game(text)


class State(pyspiel.State):  # type: ignore[misc]
    """A state of OpenSpiel: a node, which copies share, and the history that OpenSpiel keeps."""

    def __init__(self, table: RulesGame, node: Node) -> None:
        super().__init__(table)
        self._node = node

    @property
    def node(self) -> Node:
        """The node of the game tree."""
        return self._node

    def position(self) -> BaseGame:
        """Return the position as a ``Game`` without its history.

        ValueError while chance is to move.
        """
        if self._node.player == CHANCE:
            raise ValueError("there is no position for players while chance is to move")
        return self._node.copy_of_game()

    # --- the interface of OpenSpiel -----------------------------------------------------------------------

    def current_player(self) -> int:
        """Return the player to move, or OpenSpiel's number for chance or the end."""
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
        """Play a legal action, or an outcome of chance."""
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
        raise IllegalActionError(f"{short_repr(text)} is not an outcome of chance now")

    def returns(self) -> list[float]:
        """Return the returns of all players, 0 until the end."""
        table: RulesGame = self.get_game()
        return table.returns(self._node.game) if self.is_terminal() else [0.0] * table.setting.players

    def __str__(self) -> str:
        return str(self.get_game().text(self._node, None))


class Observer:
    """An observer with the interface of ``open_spiel.python.observation``.

    The tensors are those of the environments, under the same names.
    """

    def __init__(self, table: RulesGame) -> None:
        layout = table.rules.layout
        self.tensor = np.zeros(layout.size, np.float32)
        self.dict = layout.as_dict(self.tensor)

    def set_from(self, state: State, player: int) -> None:
        """Write a player's observation of a state into the tensors."""
        table, node = state.get_game(), state.node
        table.rules.kernels.write_observation(node.game.state, 0, player, self.tensor)
        if node.dealing is not None:
            table.hide_undealt(node, self.dict)

    def string_from(self, state: State, player: int) -> str:
        """Return a player's observation of a state as text."""
        return str(state.get_game().text(state.node, player))

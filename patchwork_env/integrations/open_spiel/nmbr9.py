"""NMBR 9 as a game of OpenSpiel, ``python_nmbr9``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from patchwork_env.core.game import BaseGame
from patchwork_env.core.storage import numbers_text
from patchwork_env.core.tensors import Observation
from patchwork_env.envs.options import check_rewards
from patchwork_env.integrations.open_spiel.base import Kind, Node, RulesGame, Setting, numbers_of, seed_of
from patchwork_env.nmbr9.components import COPIES, MAX_PLAYERS, NUM_DIGITS
from patchwork_env.nmbr9.game import Game
from patchwork_env.nmbr9.rules import RULES

KIND = Kind(
    short_name="python_nmbr9",
    long_name="NMBR 9",
    players=(1, MAX_PLAYERS),
    parameters={
        "players": 1,
        "order": "unknown",
        "deck": "",
        "seed": -1,
        "max_digit": NUM_DIGITS - 1,
        "copies": COPIES,
        "deck_size": 0,
        "rewards": "",
    },
    recalls=True,  # an observation lists the tiles of all tables in the order in which they were placed
)
"""The options of ``Game``, with these differences. ``deck`` is a str of digits with spaces between them.
``seed`` is at most 2**31 - 1, and -1 for none. ``deck_size`` 0 stands for as many rounds as there are cards.
``rewards`` is ``outcome``, ``margin`` or ``score``; empty for the outcome, or for one player the score."""
_NOTHING = "-"


class Nmbr9Game(RulesGame):
    """NMBR 9 for 1 to 4 players, who place the tile of a card in turn without seeing each other's moves.

    Without a deck and a seed, chance turns the cards: one in each round, or all of them before the first
    round if their order is known. In the record, the cards that have not been turned are sorted.
    """

    kind = KIND
    rules = RULES

    def __init__(self, params: Mapping[str, Any]) -> None:
        deck, seed = numbers_of(params["deck"].split()), seed_of(params)
        options = {name: params[name] for name in ("players", "order", "max_digit", "copies")}
        game = Game(seed, deck=deck, deck_size=params["deck_size"] or None, **options)
        players, rounds, is_free = game.num_players, game.num_rounds, game.order == "free"
        self._deals = deck is None and seed is None and not is_free
        setting = Setting(
            players=players,
            rewards=check_rewards(params["rewards"] or None, players),
            scores=(0, max(1, sum(game.deck) * ((rounds - 1) // 2))),  # a level has 2 tiles, but the highest
            turns=players * rounds * (2 if is_free else 1),
            deals=rounds if self._deals else 0,
            has_hidden_information=players > 1 or (game.order == "unknown" and not self._deals),
        )
        if self._deals:
            _sort_from(game, 0)
        super().__init__(setting, Node(game, 0 if self._deals else None), NUM_DIGITS, params)

    def _after(self, before: BaseGame, game: BaseGame) -> Node:
        """Return the node after a move; chance turns a card at the beginning of a round."""
        earlier, later = cast(Game, before), cast(Game, game)
        begins = later.round > earlier.round and not later.is_over
        turns = begins and self._deals and later.order == "unknown"
        return Node(later, later.round if turns else None)

    def _node_at(self, text: str) -> Node:
        node = super()._node_at(text)
        game, first = cast(Game, node.game), cast(Game, self.first.game)
        if (game.order, game.num_rounds) != (first.order, first.num_rounds):
            raise ValueError(
                f"the position has {game.num_rounds} rounds in {game.order} order, "
                f"and this game {first.num_rounds} in {first.order} order"
            )
        if self._deals and game.order == "unknown":
            _sort_from(game, game.round + 1)
        return node

    # --- chance nodes -------------------------------------------------------------------------------------

    def chance_outcomes(self, node: Node) -> list[tuple[int, float]]:
        """Return the digits of the remaining cards, with probabilities by their number of cards."""
        left = cast(Game, node.game).deck[node.dealing :]
        return [(digit, left.count(digit) / len(left)) for digit in sorted(set(left))]

    def outcome_text(self, node: Node, outcome: int) -> str:
        """Return an outcome as text, such as ``turn 7``."""
        return f"turn {outcome}"

    def deal(self, node: Node, outcome: int) -> Node:
        """Turn a card of that digit."""
        outcome, turned = self.check_outcome(node, outcome)
        game = cast(Game, node.copy_of_game())
        cards = game.state["deck"][0]
        place = turned + int(np.argmax(cards[turned:] == outcome))
        cards[turned : place + 1] = np.roll(cards[turned : place + 1], 1)
        goes_on = game.order == "known" and turned + 1 < game.num_rounds
        return Node(game, turned + 1 if goes_on else None)

    # --- observations -------------------------------------------------------------------------------------

    def hide_undealt(self, node: Node, tensors: Mapping[str, Observation]) -> None:
        """Remove the player to move and the next card, which is not turned yet."""
        game, turned = cast(Game, node.game), cast(int, node.dealing)
        tensors["phase"][:2] = 0
        tensors["upcoming"][max(turned - 1, 0) :] = 0
        if turned == game.round:
            tensors["tile"][:] = 0
            tensors["remaining"][game.deck[turned]] += np.float32(0.5)

    def text(self, node: Node, player: int | None) -> str:
        """Return the position; a player knows the others' tables as they were when the round began."""
        dealt = f" dealt={node.dealing}" if node.dealing is not None else ""
        return (node.game.position_text() if player is None else _seen(node, player)) + dealt


def _sort_from(game: Game, first: int) -> None:
    """Sort the cards that have not been turned."""
    cards: npt.NDArray[np.uint8] = game.state["deck"][0, first : len(game.deck)]
    cards.sort()


def _seen(node: Node, player: int) -> str:
    """Return the position text from a player's view, with a field ``left``.

    ``deck`` has the cards whose place is known, and ``left`` the number of the other cards of each digit.
    """
    game = cast(Game, node.game)
    notation, *words = game.position_text().split()
    fields = dict(word.split("=", 1) for word in words)
    known = game.deck[: _num_known(node, game)]
    rest = game.deck[len(known) :]
    tables, chosen = fields.pop("tables").split("|"), fields.pop("chosen").split(",")
    for other in set(range(game.num_players)) - {player}:
        chosen[other] = _NOTHING
        tables[other] = ";".join(tables[other].split(";")[: game.round]) or _NOTHING
    fields |= {
        "deck": numbers_text(known),
        "left": numbers_text([rest.count(digit) for digit in range(NUM_DIGITS)]),
        "chosen": ",".join(chosen),
        "tables": "|".join(tables),
    }
    return " ".join((notation, *(f"{name}={value}" for name, value in fields.items())))


def _num_known(node: Node, game: Game) -> int:
    if game.order == "free":
        return len(game.deck)
    if node.dealing is not None:
        return node.dealing
    return game.num_rounds if game.order == "known" else min(game.round + 1, game.num_rounds)

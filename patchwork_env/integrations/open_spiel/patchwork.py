"""Patchwork as a game of OpenSpiel, ``python_patchwork``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from patchwork_env.core.batches import REWARDS
from patchwork_env.core.checks import check_between, check_one_of
from patchwork_env.core.tensors import Observation
from patchwork_env.integrations.open_spiel.base import (
    Kind,
    Node,
    RulesGame,
    Setting,
    numbers_of,
    seed_of,
)
from patchwork_env.patchwork.components import (
    BONUS_POINTS,
    LAST_SPACE,
    NUM_CELLS,
    NUM_PATCHES,
    NUM_PLAYERS,
    PATCHES,
    PENALTY_PER_EMPTY_CELL,
    START_PATCH,
)
from patchwork_env.patchwork.engine import MAX_TURNS
from patchwork_env.patchwork.game import Game
from patchwork_env.patchwork.rules import RULES, most_buttons

PRINTS = {"revised": "revised", "edition2014": "2014"}
"""The prints of the time track by their names here; OpenSpiel would read ``2014`` as an integer."""
KIND = Kind(
    short_name="python_patchwork",
    long_name="Patchwork",
    players=(NUM_PLAYERS, NUM_PLAYERS),
    parameters={
        "circle": "",
        "seed": -1,
        "first_player": 0,
        "special_patches": "revised",
        "rewards": "outcome",
    },
    recalls=False,
)
"""``circle`` has all patches with spaces between them, the 1x2 patch (0) last; ``seed`` is that of a
``Game(seed)``, at most 2**31 - 1, and -1 for none; ``first_player`` is 0, 1, or -1 if chance decides;
``special_patches`` is one of :data:`PRINTS`, and ``rewards`` is ``outcome``, ``margin`` or ``score``."""
_DRAWN = -1  # the first player that chance decides
_NUM_DEALT = NUM_PATCHES - 1  # the patches that lie in random order; the 1x2 patch comes last


class PatchworkGame(RulesGame):
    """Patchwork. Without circle and seed, chance deals the circle patch by patch, before the first turn."""

    kind = KIND
    rules = RULES

    def __init__(self, params: Mapping[str, Any]) -> None:
        circle, seed = numbers_of(params["circle"].split()), seed_of(params)
        first_player = check_between(params["first_player"], _DRAWN, NUM_PLAYERS - 1, "first_player")
        special_patches = PRINTS[check_one_of(params["special_patches"], PRINTS, "special_patches")]
        self._draws_first_player = first_player == _DRAWN
        game = Game(seed, circle=circle, first_player=max(first_player, 0), special_patches=special_patches)
        dealt = _NUM_DEALT
        if circle is None and seed is None:
            game.state["circle"], game.state["num_patches"], dealt = 0, 0, 0
        setting = Setting(
            players=NUM_PLAYERS,
            rewards=REWARDS.index(check_one_of(params["rewards"], REWARDS, "rewards")),
            scores=_bounds_of_scores(),
            turns=MAX_TURNS,
            deals=_NUM_DEALT - dealt + self._draws_first_player,
        )
        super().__init__(setting, self._node(game, dealt), NUM_PATCHES, params)

    def _node(self, game: Game, dealt: int) -> Node:
        """Return the node of a set-up that chance has decided in part."""
        return Node(game, dealt if dealt < _NUM_DEALT + self._draws_first_player else None)

    def chance_outcomes(self, node: Node) -> list[tuple[int, float]]:
        """Return the remaining patches for the next place of the circle; then the first player."""
        if node.dealing == _NUM_DEALT:
            outcomes = [*range(NUM_PLAYERS)]
        else:
            gone = {START_PATCH, *cast(Game, node.game).circle}
            outcomes = [patch for patch in range(NUM_PATCHES) if patch not in gone]
        return [(outcome, 1 / len(outcomes)) for outcome in outcomes]

    def outcome_text(self, node: Node, outcome: int) -> str:
        """Return an outcome as text: ``deal 7`` or ``player 1 begins``."""
        return f"player {outcome} begins" if node.dealing == _NUM_DEALT else f"deal {outcome}"

    def deal(self, node: Node, outcome: int) -> Node:
        """Add a patch to the circle, or set the first player."""
        outcome, dealt = self.check_outcome(node, outcome)
        game = cast(Game, node.copy_of_game())
        if dealt == _NUM_DEALT:
            game.state["current_player"] = outcome
        else:
            game.state["circle"][0, dealt], game.state["num_patches"] = outcome, dealt + 1
        if dealt == _NUM_DEALT - 1:
            game.state["circle"][0, _NUM_DEALT], game.state["num_patches"] = START_PATCH, NUM_PATCHES
        return self._node(game, dealt + 1)

    def hide_undealt(self, node: Node, tensors: Mapping[str, Observation]) -> None:
        """Remove the player to move; the circle has only the patches that were dealt."""
        tensors["players"][:, 0] = 0

    def text(self, node: Node, player: int | None) -> str:
        """Return the position, which all players know."""
        return node.game.position_text() + (f" dealt={node.dealing}" if node.dealing is not None else "")


def _bounds_of_scores() -> tuple[int, int]:
    """Return the score of an empty quilt without buttons, and an upper bound."""
    lowest = -PENALTY_PER_EMPTY_CELL * NUM_CELLS
    return lowest, most_buttons(LAST_SPACE, sum(patch.income for patch in PATCHES)) + BONUS_POINTS

"""Patchwork as a game of OpenSpiel, ``python_patchwork``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from patchwork_env.core.batches import REWARDS
from patchwork_env.core.checks import check_between, check_one_of
from patchwork_env.core.tensors import Observation
from patchwork_env.integrations.open_spiel.base import Kind, Node, RulesGame, Setting, numbers_of, seed_of
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
"""The prints of the time track by their names in OpenSpiel, which would read ``2014`` as an integer."""
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
``Game(seed)``, at most 2**31 - 1, and -1 for none; ``special_patches`` is one of :data:`PRINTS`, and
``rewards`` is ``outcome``, ``margin`` or ``score``."""
_NUM_DEALT = NUM_PATCHES - 1  # the patches in random order; the 1x2 patch is last


class PatchworkGame(RulesGame):
    """Patchwork. Without circle and seed, chance deals the circle patch by patch, before the first turn."""

    kind = KIND
    rules = RULES

    def __init__(self, params: Mapping[str, Any]) -> None:
        circle, seed = numbers_of(params["circle"].split()), seed_of(params)
        special_patches = PRINTS[check_one_of(params["special_patches"], PRINTS, "special_patches")]
        first_player = check_between(params["first_player"], 0, NUM_PLAYERS - 1, "first_player")
        game = Game(seed, circle=circle, first_player=first_player, special_patches=special_patches)
        is_dealt = circle is not None or seed is not None
        if not is_dealt:
            game.state["circle"], game.state["num_patches"] = 0, 0
        setting = Setting(
            players=NUM_PLAYERS,
            rewards=REWARDS.index(check_one_of(params["rewards"], REWARDS, "rewards")),
            scores=_bounds_of_scores(),
            turns=MAX_TURNS,
            deals=0 if is_dealt else _NUM_DEALT,
        )
        super().__init__(setting, Node(game, None if is_dealt else 0), NUM_PATCHES, params)

    def _node_at(self, text: str) -> Node:
        node = super()._node_at(text)
        given, own = (cast(Game, each.game).special_patches for each in (node, self.first))
        if given != own:
            raise ValueError(f"the position has the special patches of {given!r}, and this game of {own!r}")
        return node

    def chance_outcomes(self, node: Node) -> list[tuple[int, float]]:
        """Return the remaining patches for the next place of the circle."""
        gone = {START_PATCH, *cast(Game, node.game).circle}
        left = [patch for patch in range(NUM_PATCHES) if patch not in gone]
        return [(patch, 1 / len(left)) for patch in left]

    def outcome_text(self, node: Node, outcome: int) -> str:
        """Return an outcome as text, such as ``deal 7``."""
        return f"deal {outcome}"

    def deal(self, node: Node, outcome: int) -> Node:
        """Add a patch to the circle, and after the last one the 1x2 patch."""
        patch, dealt = self.check_outcome(node, outcome)
        game = cast(Game, node.copy_of_game())
        game.state["circle"][0, dealt], game.state["num_patches"] = patch, dealt + 1
        if dealt + 1 < _NUM_DEALT:
            return Node(game, dealt + 1)
        game.state["circle"][0, _NUM_DEALT], game.state["num_patches"] = START_PATCH, NUM_PATCHES
        return Node(game)

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

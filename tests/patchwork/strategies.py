"""Games in mid-play for property tests."""

from __future__ import annotations

import random

from hypothesis import strategies as st

from patchwork_env.patchwork import Game
from patchwork_env.patchwork.components import VARIANTS

MOST_TURNS = 63

STYLES = st.sampled_from(("any", "buys", "packs"))
"""How :func:`random_action` plays."""


@st.composite
def set_ups(draw: st.DrawFn) -> Game:
    """A game before its first turn."""
    return Game(
        circle=[*draw(st.permutations(range(1, 33))), 0],
        first_player=draw(st.integers(0, 1)),
        special_patches=draw(st.sampled_from(VARIANTS)),
    )


@st.composite
def games(draw: st.DrawFn, *, over: bool | None = None) -> Game:
    """A game after any number of turns; ``over`` says whether it must have ended (or must not have)."""
    game = draw(set_ups())
    rng = random.Random(draw(st.integers(0, 2**32 - 1)))
    style = draw(STYLES)
    for _ in range(draw(st.integers(0, MOST_TURNS)) if over is None or not over else MOST_TURNS + 1):
        following = game.clone()
        following.play(random_action(game, rng, style))
        if following.is_over and over is False:
            break
        game = following
        if game.is_over:
            break
    return game


def random_action(game: Game, rng: random.Random, style: str = "any") -> int:
    """A legal action: any; one that buys, if there is one; or one that also stays near the top-left."""
    actions = game.legal_actions().tolist()
    if style == "any" or len(actions) == 1:
        return rng.choice(actions)
    purchases = actions[1:]
    if style == "packs":
        nearest = min(map(_steps_from_corner, purchases))
        purchases = [action for action in purchases if _steps_from_corner(action) == nearest]
    return rng.choice(purchases)


def _steps_from_corner(action: int) -> int:
    return sum(divmod((action - 1) % 81, 9))

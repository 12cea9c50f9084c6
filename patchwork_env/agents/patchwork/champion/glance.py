"""What a value says of all legal actions without a search, as lines."""

from __future__ import annotations

from patchwork_env.agents.patchwork.champion.lines import Line
from patchwork_env.agents.patchwork.value.choice import Payoffs, worth
from patchwork_env.agents.patchwork.value.expansion import Expansion, expand
from patchwork_env.agents.patchwork.value.network import Weights
from patchwork_env.patchwork.game import Game


def glance(game: Game, weights: Weights, payoffs: Payoffs, expansion: Expansion) -> list[Line]:
    """A line of one action, without visits, for every legal action; those of most utility first.

    Args:
        game: Goes on; it is left as it was.
        weights: Of the value.
        payoffs: What players are after.
        expansion: Room.
    """
    count = expand(game.state, 0, weights, expansion)
    order = sorted(range(count), key=lambda k: -worth(payoffs, expansion, k))
    parts = (values[order].tolist() for values in (expansion.actions, expansion.margins, expansion.wins))
    return [_line(game, *figures) for figures in zip(*parts, strict=True)]


def _line(game: Game, action: int, margin: float, win: float) -> Line:
    after = game.clone()
    after.play(action)
    return Line(action, 0, margin, win, after.is_over, (action,))

"""The module of NMBR 9: rules, champion, analysis and the levels of partner."""

from __future__ import annotations

from typing import Any

from patchwork_env.agents import partner
from patchwork_env.agents.checkpoints import SHIPPED_FOLDER, read_checkpoint
from patchwork_env.agents.nmbr9.champion import ANALYSIS_SEED, DEFAULT_LEVEL, INSTANT, LEVELS
from patchwork_env.agents.nmbr9.partner import HABITS
from patchwork_env.agents.nmbr9.value import read_value
from patchwork_env.nmbr9.actions import NUM_TURNS
from patchwork_env.nmbr9.components import COPIES, MAX_CARDS, NUM_DIGITS
from patchwork_env.nmbr9.tables import middle
from tools.site.agents import Call, Offer
from tools.site.modules import nmbr9_levels, nmbr9_rules, nmbr9_search
from tools.site.modules.nmbr9_levels import name_of
from tools.site.modules.nmbr9_memory import BLOCK

__all__ = [
    "AGENTS",
    "ANALYSIS",
    "BLOCK",
    "EXPORTS",
    "NUMBERS",
    "SHARED",
    "WEIGHTS_AT",
    "read_weights",
]

EXPORTS = (*nmbr9_rules.EXPORTS, *nmbr9_levels.EXPORTS, *nmbr9_search.EXPORTS)
SHARED = ("states", "actions", "supply", "work.actions", "work.sums")
"""The arrays that JavaScript reads or writes."""
WEIGHTS_AT = "weights"
"""The array that JavaScript fills with the weights."""
EXACT = True
"""Whether it multiplies and adds as exactly as the package: values often differ only in the last bit."""


def read_weights() -> Any:
    """The weights of the champion, one record."""
    return read_value(read_checkpoint(SHIPPED_FOLDER / "nmbr9_champion"))


def _person(level: int) -> Offer:
    call = Call(name_of(level), draws=True, places=level not in HABITS)
    aliases = ("partner",) if level == partner.DEFAULT_LEVEL else ()
    return Offer(f"partner:level={level}", "partner", call, level, aliases=aliases)


def _champion(level: str) -> Offer:
    if level == INSTANT:
        return Offer(f"nmbr9_champion:{level}", "champion", Call("choose_by_value", places=True), level)
    call = Call("choose", (LEVELS[level],), draws=True, places=True)
    aliases = ("nmbr9_champion",) if level == DEFAULT_LEVEL else ()
    return Offer(f"nmbr9_champion:{level}", "champion", call, level, _search(LEVELS[level]), aliases)


def _search(evaluations: int) -> dict[str, int]:
    """The budget of an analysis, and how it is spent; see ``champion.py``."""
    return {"evaluations": evaluations, "results": _RESULTS, "seed": ANALYSIS_SEED}


_RESULTS = 40
"""The approximate number of results of an analysis."""
ANALYSIS = _search(LEVELS["analysis"])
"""The analysis of a position, unless an agent is named."""
AGENTS = (
    *(_person(level) for level in range(partner.BEGINNER, partner.CHAMPION + 1)),
    *(_champion(level) for level in (INSTANT, "fast", "strong")),
    Offer("greedy", "other", Call("choose_greedily")),
    Offer("random", "other", Call("choose_at_random", draws=True)),
)
NUMBERS: dict[str, Any] = {
    "max_cards": MAX_CARDS,
    "max_digit": NUM_DIGITS - 1,
    "copies": COPIES,
    "middles": [list(middle(piece)) for piece in range(NUM_DIGITS * NUM_TURNS)],
}
"""Further facts that the page needs."""

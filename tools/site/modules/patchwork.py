"""The module of Patchwork: rules, champion, analysis and the levels of partner."""

from __future__ import annotations

from typing import Any

from patchwork_env.agents import partner
from patchwork_env.agents.checkpoints import SHIPPED_FOLDER, read_checkpoint
from patchwork_env.agents.patchwork.champion.agent import (
    DEFAULT_LEVEL,
    FIRST_EFFORT,
    LEVELS,
    SOLVER_SHARE,
    limits_of,
)
from patchwork_env.agents.patchwork.champion.search import NO_LIMIT
from patchwork_env.agents.patchwork.people.levels import CHAMPION, HABITS
from patchwork_env.agents.patchwork.placements import NO_ACTION
from patchwork_env.agents.patchwork.value.network import quantized, read_value
from tools.site.agents import Call, Offer
from tools.site.modules import patchwork_levels, patchwork_rules, patchwork_search
from tools.site.modules.patchwork_levels import name_of
from tools.site.modules.patchwork_memory import BLOCK, LEVELS_IN_MEMORY, MOST_NODES

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

EXPORTS = (*patchwork_rules.EXPORTS, *patchwork_levels.EXPORTS, *patchwork_search.EXPORTS)
SHARED = ("states", "actions", "figures", "exact")
"""The arrays that JavaScript reads or writes."""
WEIGHTS_AT = "evaluator.weights"
"""The array that JavaScript fills with the weights."""
EXACT = False
"""Whether it multiplies and adds as exactly as the package, which takes longer."""


def read_weights() -> Any:
    """The weights of the champion in integers, one record."""
    return quantized(read_value(read_checkpoint(SHIPPED_FOLDER / "champion")))


def _person(level: int) -> Offer:
    call = Call(name_of(level), draws=True) if level in HABITS else _champion(CHAMPION).call
    aliases = ("partner",) if level == partner.DEFAULT_LEVEL else ()
    return Offer(f"partner:level={level}", "partner", call, level, aliases=aliases)


def _champion(level: str) -> Offer:
    simulations, effort, to_solve, _ = limits_of(level, None, None)
    call = Call("choose", (simulations, effort, to_solve))
    aliases = ("champion",) if level == DEFAULT_LEVEL else ()
    analysis = _search(simulations, effort, to_solve)
    return Offer(f"champion:{level}", "champion", call, level, analysis, aliases)


def _search(simulations: int, effort: int, to_solve: int) -> dict[str, int]:
    """The budget of an analysis, and how it is spent; see ``analysis.py``."""
    limits = {"simulations": simulations, "effort": effort, "to_solve": to_solve}
    return {**limits, "first": FIRST_EFFORT, "share": SOLVER_SHARE, "step": _STEP}


_STEP = 50_000
"""The most effort between two results, about a tenth of a second."""
ANALYSIS = _search(MOST_NODES - 1, NO_LIMIT, LEVELS["strong"] // SOLVER_SHARE)
"""The analysis of a position, unless an agent is named: until the tree is full."""
AGENTS = (
    *(_person(level) for level in range(partner.BEGINNER, partner.CHAMPION + 1)),
    *(_champion(level) for level in LEVELS_IN_MEMORY),
    Offer("greedy", "other", Call("choose_greedily")),
    Offer("random", "other", Call("choose_at_random", draws=True)),
)
NUMBERS: dict[str, Any] = {"nothing": NO_ACTION}
"""Further facts that the page needs."""

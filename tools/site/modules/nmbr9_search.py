"""Exports of NMBR 9: the value, the champion, and analyses in steps."""

from __future__ import annotations

from collections.abc import Callable

from patchwork_env.agents.nmbr9 import champion
from patchwork_env.agents.nmbr9.value import LIKELY, best_action, evaluate, expand
from patchwork_env.core.compile import kernel
from tools.site.modules.nmbr9_memory import Memory, memory


def choose_by_value() -> int:
    """The action with the best value, which is what the champion plays at the level ``instant``."""
    here = memory()
    count = expand(here.states, 0, LIKELY, here.weights, here.work.expansion)
    return here.work.expansion.actions[best_action(here.work.expansion, count)]


def choose(evaluations: int) -> int:
    """The champion's action with a budget."""
    return search_action(memory(), evaluations)


@kernel
def search_action(here: Memory, evaluations: int) -> int:
    """The action that :class:`ChampionAgent` chooses with a budget."""
    work = here.work
    considered = champion.begin(here.states, 0, champion.SETTINGS, here.weights, work)
    if work.root[0]["round"] + 1 == work.root[0]["num_rounds"]:
        return work.actions[0]
    rounds = 0
    while 1 << rounds < considered:
        rounds += 1
    for done in range(1, rounds + 1):
        before = work.rollouts[0]
        while work.rollouts[0] == before or work.evaluations[0] / evaluations < done / rounds:
            champion.roll_out(considered, champion.SETTINGS, here.weights, work, here.streams)
        champion.keep_best(considered, (considered + 1) // 2, work)
        considered = (considered + 1) // 2
    return work.actions[0]


# --- analysis ---------------------------------------------------------------------------------------------


def begin_search() -> int:
    """Begins a search: lists the candidates; returns their number."""
    here = memory()
    return champion.begin(here.states, 0, champion.SETTINGS, here.weights, here.work)


def roll_out(considered: int, evaluations: int) -> int:
    """Plays at least one rollout of the first candidates, until a number of placements are evaluated."""
    here = memory()
    before = here.work.rollouts[0]
    while here.work.rollouts[0] == before or here.work.evaluations[0] < evaluations:
        champion.roll_out(considered, champion.SETTINGS, here.weights, here.work, here.streams)
    return here.work.rollouts[0]


def keep_best(considered: int, number: int) -> int:
    """Moves the best of the first candidates to the front."""
    champion.keep_best(considered, number, memory().work)
    return 0


def expected_points(player: int) -> float:
    """The expected further points of a player, by the value of the table."""
    here = memory()
    return evaluate(here.states, 0, player, here.weights, here.work.expansion.buffer)


EXPORTS: tuple[Callable[..., float], ...] = (
    *(choose_by_value, choose),
    *(begin_search, roll_out, keep_best, expected_points),
)

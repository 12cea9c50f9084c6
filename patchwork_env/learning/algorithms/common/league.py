"""The league: past selves that the learner keeps playing against, harder ones more often.

A game keeps its opponent: a past self that is drawn plays only in games that begin later.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt
from torch import nn

from patchwork_env.core.checks import check_between
from patchwork_env.core.names import short_repr
from patchwork_env.learning.algorithms.common.trainer import MAX_EXACT_INT, State
from patchwork_env.learning.config import League

Policy = TypeVar("Policy", bound=nn.Module)
Shares = npt.NDArray[np.float64]

_PRIOR_GAMES = 10.0  # every estimate of a win rate starts from this number of games, half of them won

_WEIGHTS: dict[str, Callable[[Shares], Shares]] = {
    "uniform": np.ones_like,
    "hard": lambda win_rates: (1 - win_rates) ** 2,
    "even": lambda win_rates: win_rates * (1 - win_rates),
}


@dataclass
class _Record:
    """The learner's results against a snapshot: discounted sums of wins and of games."""

    wins: float = 0.0
    games: float = 0.0

    @property
    def win_rate(self) -> float:
        return (self.wins + _PRIOR_GAMES / 2) / (self.games + _PRIOR_GAMES)


class SnapshotPool(Generic[Policy]):
    """The last snapshots of the learner, a network of any kind, and its results against each of them.

    Opponents are drawn by prioritized fictitious self-play (Vinyals et al. 2019), with weights that depend on
    the learner's win rate p against a snapshot: ``(1 - p)^2`` for ``hard``, ``p (1 - p)`` for ``even``, 1 for
    ``uniform``. Results lose half of their weight every ``half_life`` calls of :meth:`record`, so that a
    snapshot that was easy long ago is drawn again. No number of a snapshot is used twice.

    Attributes:
        opponents: The numbers of the snapshots that are opponents in new games, all different.
        policies: The frozen policies of the snapshots in the pool or in play, by number.
    """

    def __init__(self, config: League) -> None:
        self.config = config
        self.opponents: list[int] = []
        self.policies: dict[int, Policy] = {}
        self._records: dict[int, _Record] = {}
        self._added = 0
        self._draws = 0

    @property
    def snapshots(self) -> dict[int, Policy]:
        """The frozen policies that may be drawn, by number, oldest first."""
        return {number: self.policies[number] for number in self._records}

    def add(self, policy: Policy) -> None:
        """Add a copy of the learner; replace the oldest of a full pool. With a fraction of 0, do nothing."""
        if self.config.fraction:
            self._keep(self._added, policy)
            self._records[self._added] = _Record()
            self._added += 1
            self._retire()

    def draw(self, random: np.random.Generator, in_play: Collection[int] = ()) -> list[int]:
        """Replace opponents: one at every call, in turn, and all that have left the pool.

        Policies that are ``in_play`` are kept. Returns a copy of :attr:`opponents`: ``config.opponents``
        numbers, fewer if the pool has fewer snapshots.
        """
        for number in self.policies.keys() - self._records.keys() - set(in_play):
            del self.policies[number]
        places = min(self.config.opponents, len(self._records))
        del self.opponents[places:]
        due = self._draws % max(places, 1)
        self._draws += 1
        for place in range(places):
            if place == len(self.opponents):
                self.opponents.append(self._draw_one(random))
            elif place == due or self.opponents[place] not in self._records:
                self.opponents[place] = -1
                self.opponents[place] = self._draw_one(random)
        return self.opponents.copy()

    def record(self, wins: Mapping[int, float], games: Mapping[int, float]) -> None:
        """Add the learner's wins and the games that ended, by snapshot; earlier results lose some weight."""
        kept = 0.5 ** (1 / self.config.half_life)
        for record in self._records.values():
            record.wins *= kept
            record.games *= kept
        for number in games.keys() & self._records.keys():
            self._records[number].wins += float(wins[number])
            self._records[number].games += float(games[number])

    def win_rates(self) -> dict[int, float]:
        """Return the learner's estimated win rate against each snapshot; one half against a new one."""
        return {number: record.win_rate for number, record in self._records.items()}

    def statistics(self) -> dict[str, float]:
        """Return the number of snapshots, the mean and the lowest win rate; empty without snapshots."""
        rates = list(self.win_rates().values())
        if not rates:
            return {}
        mean = float(np.mean(rates))
        return {"snapshots": len(rates), "mean_win_rate": mean, "lowest_win_rate": min(rates)}

    def state_dict(self) -> State:
        """Return the state of the pool, for :meth:`load_state_dict`; tensors are those in use."""
        return {
            "policies": {str(number): policy.state_dict() for number, policy in self.policies.items()},
            "records": {str(number): [r.wins, r.games] for number, r in self._records.items()},
            "opponents": list(self.opponents),
            "added": self._added,
            "draws": self._draws,
        }

    def load_state_dict(self, state: State, like: Policy) -> None:
        """Load a state into an empty pool; ``like`` is a policy with the same architecture."""
        self._added = check_between(state["added"], 0, MAX_EXACT_INT, "the number of snapshots")
        self._draws = check_between(state["draws"], 0, MAX_EXACT_INT, "the number of draws")
        for name, weights in state["policies"].items():
            number = check_between(int(name), 0, self._added - 1, "a snapshot")
            self._keep(number, like)
            self.policies[number].load_state_dict(weights)
        for name, (wins, games) in state["records"].items():
            if not 0 <= wins <= games < math.inf:
                raise ValueError(f"{short_repr(wins)} of {short_repr(games)} games cannot have been won")
            self._records[int(name)] = _Record(wins, games)
        self.opponents = list(state["opponents"])
        if not self.policies.keys() >= {*self.opponents, *self._records}:
            raise ValueError(f"opponents {short_repr(self.opponents)} or records are not among the snapshots")
        self._retire()

    def _retire(self) -> None:
        """Remove the oldest snapshots from the pool if there are too many; policies in play are kept."""
        places = self.config.size if self.config.fraction else 0
        for number in list(self._records)[: max(len(self._records) - places, 0)]:
            del self._records[number]

    def _keep(self, number: int, policy: Policy) -> None:
        self.policies[number] = copy.deepcopy(policy).eval().requires_grad_(False)

    def _draw_one(self, random: np.random.Generator) -> int:
        free = [number for number in self._records if number not in self.opponents]
        rates = np.array([self._records[number].win_rate for number in free])
        weights = _WEIGHTS[self.config.choice](rates)
        return int(random.choice(free, p=weights / weights.sum()))

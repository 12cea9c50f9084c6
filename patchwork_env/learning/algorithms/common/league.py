"""The league: past selves that the learner keeps playing against, the more often the harder they are."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt
from torch import Tensor, nn

from patchwork_env.learning.algorithms.common.state import TrainerState, prefixed, with_prefix
from patchwork_env.learning.config import League

Policy = TypeVar("Policy", bound=nn.Module)
Shares = npt.NDArray[np.float64]

_PRIOR_GAMES = 10.0
"""Games, half of them won, that every estimate of a win rate begins with."""

_WEIGHTS: dict[str, Callable[[Shares], Shares]] = {
    "uniform": np.ones_like,
    "hard": lambda win_rates: (1 - win_rates) ** 2,
    "even": lambda win_rates: win_rates * (1 - win_rates),
}


@dataclass
class _Record:
    """What the learner did against a snapshot: sums in which old games count less and less."""

    wins: float = 0.0
    games: float = 0.0

    @property
    def win_rate(self) -> float:
        return (self.wins + _PRIOR_GAMES / 2) / (self.games + _PRIOR_GAMES)


class Pool(Generic[Policy]):
    """The last snapshots of the learner, whatever kind of network it is, and how it does against each.

    Opponents are drawn by prioritized fictitious self-play (Vinyals et al. 2019): with a weight that depends
    on the learner's win rate p against a snapshot, ``(1 - p)^2`` for ``hard``, ``p (1 - p)`` for ``even``,
    the same for all for ``uniform``. Results lose half of their weight every ``half_life`` calls of
    :meth:`record`, so that a snapshot that was easy and has not been met for long gets another chance.

    Attributes:
        snapshots: Frozen policies by number, oldest first. Numbers count up and never come again.
        opponents: Numbers of those that are played at present, all different.
    """

    def __init__(self, config: League) -> None:
        self.config = config
        self.snapshots: dict[int, Policy] = {}
        self.opponents: list[int] = []
        self._records: dict[int, _Record] = {}
        self._added = 0
        self._draws = 0

    def add(self, policy: Policy) -> None:
        """Keeps a copy of the learner; the oldest snapshot goes if the pool is full."""
        self._keep(self._added, policy)
        self._records[self._added] = _Record()
        self._added += 1
        for number in list(self.snapshots)[: -self.config.size]:
            del self.snapshots[number], self._records[number]

    def draw(self, random: np.random.Generator) -> list[Policy]:
        """Replaces one of the opponents, each in its turn, and those that have left the pool.

        The others stay where they are: most games meet one opponent from their beginning to their end.

        Returns:
            The policies of :attr:`opponents`: ``config.opponents`` of them, or as many as there are.
        """
        places = min(self.config.opponents, len(self.snapshots))
        due = self._draws % max(places, 1)
        self._draws += 1
        for place in range(places):
            if place == len(self.opponents):
                self.opponents.append(self._draw_one(random))
            elif place == due or self.opponents[place] not in self.snapshots:
                self.opponents[place] = -1
                self.opponents[place] = self._draw_one(random)
        return [self.snapshots[number] for number in self.opponents]

    def record(
        self, wins: Sequence[float] | npt.NDArray[Any], games: Sequence[float] | npt.NDArray[Any]
    ) -> None:
        """Notes results of the learner against :attr:`opponents`; all earlier ones lose some weight.

        Args:
            wins: ``(k,)``, the games that the learner won against each opponent.
            games: ``(k,)``, all games that ended.
        """
        kept = 0.5 ** (1 / self.config.half_life)
        for record in self._records.values():
            record.wins *= kept
            record.games *= kept
        for number, won, played in zip(self.opponents, wins, games, strict=True):
            if number in self._records:
                self._records[number].wins += float(won)
                self._records[number].games += float(played)

    def win_rates(self) -> dict[int, float]:
        """The learner's estimated win rate against each snapshot; one half against a new one."""
        return {number: record.win_rate for number, record in self._records.items()}

    def statistics(self) -> dict[str, float]:
        """Number of snapshots, and the mean and the lowest win rate against them; nothing without any."""
        rates = list(self.win_rates().values())
        if not rates:
            return {}
        return {
            "snapshots": len(rates),
            "mean_win_rate": float(np.mean(rates)),
            "lowest_win_rate": min(rates),
        }

    def state(self) -> TrainerState:
        """All that :meth:`restore` needs."""
        values = {
            "records": {str(number): [r.wins, r.games] for number, r in self._records.items()},
            "opponents": list(self.opponents),
            "added": self._added,
            "draws": self._draws,
        }
        tensors: dict[str, Tensor] = {}
        for number, snapshot in self.snapshots.items():
            tensors |= prefixed(str(number), snapshot.state_dict())
        return TrainerState(values, tensors)

    def restore(self, state: TrainerState, like: Policy) -> None:
        """Brings an empty pool to the state of another one.

        Args:
            state: See :meth:`state`.
            like: A policy of the same kind and sizes; it stays as it is.

        Raises:
            KeyError, TypeError, ValueError, RuntimeError: The state does not fit.
        """
        values, tensors = state
        for name, (wins, games) in values["records"].items():
            self._keep(int(name), like)
            self.snapshots[int(name)].load_state_dict(with_prefix(name, tensors))
            self._records[int(name)] = _Record(wins, games)
        self.opponents = list(values["opponents"])
        self._added, self._draws = values["added"], values["draws"]

    def _keep(self, number: int, policy: Policy) -> None:
        self.snapshots[number] = copy.deepcopy(policy).eval().requires_grad_(False)

    def _draw_one(self, random: np.random.Generator) -> int:
        """A snapshot that is not among the opponents."""
        free = [number for number in self.snapshots if number not in self.opponents]
        rates = np.array([self._records[number].win_rate for number in free])
        weights = _WEIGHTS[self.config.choice](rates)
        return int(random.choice(free, p=weights / weights.sum()))

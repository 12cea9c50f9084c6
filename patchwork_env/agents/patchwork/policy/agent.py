"""Trained policies of Patchwork as agents, with and without search. Needs the extra ``train``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.base import Actions, BatchAgent
from patchwork_env.agents.checkpoints import Checkpoint
from patchwork_env.agents.networks import NetworkEvaluator, PolicyAgent, read_network
from patchwork_env.agents.options import FEWEST_SIMULATIONS, MOST_SIMULATIONS
from patchwork_env.agents.patchwork.placements import clipped_margin
from patchwork_env.agents.patchwork.policy.network import PatchworkNetwork
from patchwork_env.core.batches import list_games, list_over, loop, play_forced, play_listed
from patchwork_env.core.checks import as_number, check_between
from patchwork_env.core.compile import kernel
from patchwork_env.core.names import short_repr
from patchwork_env.games import PATCHWORK
from patchwork_env.patchwork.engine import outcome
from patchwork_env.patchwork.rules import RULES
from patchwork_env.patchwork.state import States
from patchwork_env.search import GumbelSearch

_MOST_POINTS = 600.0  # more than any two scores can differ


class PatchworkDynamics:
    """The rules for batches of states, and the payoffs at the end of a game.

    The payoff is ``outcome`` for a win or minus ``outcome`` for a loss, plus ``margin`` times the difference
    of the scores, which is divided by ``margin_scale`` points and clipped to ``-margin_cut ... margin_cut``.
    """

    def __init__(
        self,
        outcome: float = 1.0,
        margin: float = 0.0,
        margin_scale: float = 100.0,
        margin_cut: float | None = None,
    ) -> None:
        self.outcome = as_number(outcome, "outcome", least=0)
        self.margin = as_number(margin, "margin", least=0)
        self.margin_scale = as_number(margin_scale, "margin_scale", above=0)
        self.margin_cut = _MOST_POINTS / self.margin_scale
        if margin_cut is not None:
            self.margin_cut = as_number(margin_cut, "margin_cut", above=0)
        if self.outcome == self.margin == 0:
            raise ValueError("outcome and margin are both 0; one of them must be above 0")

    @property
    def value_range(self) -> float:
        return 2 * (self.outcome + self.margin * self.margin_cut)

    def step(self, states: States, actions: npt.NDArray[np.int64]) -> None:
        loop(play_listed, RULES)(states, np.arange(len(states)), actions)
        loop(play_forced, RULES)(states)

    def finished(self, states: States) -> npt.NDArray[np.bool_]:
        finished = np.zeros(len(states), np.bool_)
        finished[list_games(list_over, RULES, states)] = True
        return finished

    def players(self, states: States) -> npt.NDArray[np.int64]:
        return states["current_player"].astype(np.int64)

    def returns(self, states: States) -> npt.NDArray[np.float32]:
        payoffs = np.empty(len(states), np.float32)
        _write_payoffs(states, self.outcome, self.margin, self.margin_scale, self.margin_cut, payoffs)
        return payoffs


@kernel
def _write_payoffs(
    states: States,
    weight: float,
    margin: float,
    margin_scale: float,
    margin_cut: float,
    payoffs: npt.NDArray[np.float32],
) -> None:
    for i in range(len(states)):
        lead = clipped_margin(states, i, margin_scale, margin_cut)
        payoffs[i] = weight * outcome(states, i, 0) + margin * lead


DEFAULT_PAYOFFS = {"outcome": 1.0, "margin": 1.0, "margin_scale": 40.0, "margin_cut": 1.0}
"""The payoffs for checkpoints that do not have their own."""

# Measured in matches of planning against the same policy without it. The values of a position's moves are
# close together compared with payoffs, so their differences get more weight than in the paper. With few
# simulations, few actions are considered.
_C_SCALE = 3.0
_SIMULATIONS_PER_ACTION = 4
_MOST_CONSIDERED = 8


class GumbelAgent(BatchAgent):
    """Plays a policy network with a deterministic search: the same batch of states gets the same actions.

    It copies the network's current weights. Their values estimate the payoffs of the dynamics.
    """

    games = (PATCHWORK,)

    def __init__(
        self,
        network: PatchworkNetwork,
        name: str = "planning",
        *,
        simulations: int = 64,
        dynamics: PatchworkDynamics | None = None,
    ) -> None:
        check_between(simulations, FEWEST_SIMULATIONS, MOST_SIMULATIONS, "simulations")
        self.name = name
        self.simulations = simulations
        self.dynamics = dynamics or PatchworkDynamics(**DEFAULT_PAYOFFS)
        self._evaluate = NetworkEvaluator(network)
        self._search = GumbelSearch(
            self.dynamics,
            simulations,
            max(FEWEST_SIMULATIONS, min(simulations // _SIMULATIONS_PER_ACTION, _MOST_CONSIDERED)),
            c_scale=_C_SCALE,
            value_range=self.dynamics.value_range,
            gumbel_scale=0.0,
        )

    def act_batch(self, states: States) -> Actions:
        self.check_states(states)
        return self._search.run(states, self._evaluate).chosen


def dynamics_of(info: Mapping[str, Any], name: str) -> PatchworkDynamics:
    """Return the rules with the payoffs in ``info["reward"]`` of a checkpoint, or else the default ones."""
    payoffs = info.get("reward", DEFAULT_PAYOFFS)
    try:
        if not isinstance(payoffs, dict) or payoffs.keys() | {"margin_cut"} != DEFAULT_PAYOFFS.keys():
            raise ValueError(f"{short_repr(payoffs)} does not give {', '.join(DEFAULT_PAYOFFS)}")
        return PatchworkDynamics(**DEFAULT_PAYOFFS | payoffs)
    except ValueError as error:
        raise ValueError(f"checkpoint {name!r}: info.reward: {error}") from None


def load(
    checkpoint: Checkpoint, seed: int | None = None, *, sample: bool = False, simulations: int | None = None
) -> BatchAgent:
    """Return the agent that plays the policy of a checkpoint; for the options see :class:`PolicyAgent`.

    With ``simulations``, at least 2, it is a :class:`GumbelAgent`, which plans every move.
    """
    if sample and simulations is not None:
        raise ValueError(
            f"sample=true and simulations={simulations} are given for {str(checkpoint.folder)!r}; "
            "allowed is one of them"
        )
    network = read_network(checkpoint, PatchworkNetwork)
    if simulations is None:
        return PolicyAgent(network, checkpoint.name, sample=sample, seed=seed)
    dynamics = dynamics_of(checkpoint.info, str(checkpoint.folder))
    return GumbelAgent(network, checkpoint.name, simulations=simulations, dynamics=dynamics)

"""Trained policies of Patchwork as agents, with and without search. Needs the extra ``train``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from patchwork_env.agents.base import Actions, BatchAgent
from patchwork_env.agents.networks import NetworkEvaluator, PolicyAgent, read_network, save_policy
from patchwork_env.agents.patchwork.dynamics import PatchworkDynamics
from patchwork_env.agents.patchwork.policy_network import PatchworkNetwork
from patchwork_env.agents.specs import FEWEST_SIMULATIONS, MOST_SIMULATIONS
from patchwork_env.core.checks import check_between
from patchwork_env.core.names import short_repr
from patchwork_env.games import PATCHWORK
from patchwork_env.patchwork.state import States
from patchwork_env.search import GumbelSearch

__all__ = ["PolicyAgent", "load", "load_policy", "save_policy"]


DEFAULT_PAYOFFS = {"outcome": 1.0, "margin": 1.0, "margin_scale": 40.0}
"""The payoffs that a network is assumed to have learned from if its checkpoint does not give any."""

# Measured in matches of planning against the same policy without. Payoffs are far apart, but the moves of a
# position are close to each other, so differences of values get more weight than in the paper. Few
# simulations are better spent on few actions.
_C_SCALE = 3.0
_SIMULATIONS_PER_ACTION = 4
_MOST_CONSIDERED = 8


class GumbelAgent(BatchAgent):
    """Plays a policy network with search. Nothing is drawn: the same batch of states gets the same actions.

    The network keeps the weights that it has now. The dynamics are the rules with the payoffs that the
    network's values estimate, by default those of :data:`DEFAULT_PAYOFFS`.
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
    """The rules with the payoffs in ``info["reward"]`` of a checkpoint, or else the default ones."""
    payoffs = info.get("reward", DEFAULT_PAYOFFS)
    try:
        if not isinstance(payoffs, dict) or set(payoffs) != set(DEFAULT_PAYOFFS):
            raise ValueError(f"{short_repr(payoffs)} does not give {', '.join(DEFAULT_PAYOFFS)}")
        return PatchworkDynamics(**payoffs)
    except ValueError as error:
        raise ValueError(f"checkpoint {name!r}: info.reward: {error}") from None


def load_policy(folder: Path) -> tuple[PatchworkNetwork, dict[str, Any]]:
    """Reads a policy and the facts on its making; for errors see :func:`~patchwork_env.agents.load`."""
    return read_network(folder, PatchworkNetwork)


def load(
    path: str | Path, seed: int | None = None, *, sample: bool = False, simulations: int | None = None
) -> BatchAgent:
    """The agent that plays the policy of a checkpoint folder; for the options see :class:`PolicyAgent`.

    With ``simulations``, at least 2, it plans every move with a :class:`GumbelAgent`, and draws nothing.
    """
    if sample and simulations is not None:
        raise ValueError(
            f"sample=true and simulations={simulations} are given for {str(path)!r}; allowed is one of them: "
            "an agent that plans does not draw its actions"
        )
    network, info = load_policy(Path(path))
    if simulations is None:
        return PolicyAgent(network, Path(path).name, sample=sample, seed=seed)
    dynamics = dynamics_of(info, str(path))
    return GumbelAgent(network, Path(path).name, simulations=simulations, dynamics=dynamics)

"""The project's policies as RLlib needs them: evaluated from observations and masks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from patchwork_env.agents import Agent, ragged
from patchwork_env.agents.networks import NetworkConfig, Output
from patchwork_env.agents.nmbr9 import policy as nmbr9_policy
from patchwork_env.agents.nmbr9 import policy_network as nmbr9_network
from patchwork_env.agents.nmbr9.policy_network import Nmbr9Network
from patchwork_env.agents.patchwork import policy, policy_network
from patchwork_env.agents.patchwork.policy_network import PatchworkNetwork
from patchwork_env.games import NMBR9, PATCHWORK
from patchwork_env.patchwork.actions import FIRST_BUY

IMPOSSIBLE = float(torch.finfo(torch.float32).min)
"""The log-probability of illegal actions: finite, so that no gradient becomes undefined."""


class Policies(NamedTuple):
    """The policies of one game.

    Attributes:
        new: The function that makes a network of given sizes, with random weights.
        inputs: The function that makes a network's inputs from observations ``(n, size)``, and from the rows
            and actions of :class:`Evaluated`.
        kinds: The function that tells the kind of each legal action. Agents play the likeliest action of the
            likeliest kind.
        num_kinds: The number of kinds.
        agent: The function that makes an agent from a network and a name.
        write: The function that writes a network, and what is to be told about it, into an existing folder.
        load: The function that reads both from a folder.
    """

    new: Callable[[NetworkConfig], Any]
    inputs: Callable[[Tensor, Tensor, Tensor], Any]
    kinds: Callable[[npt.NDArray[np.int64]], npt.NDArray[np.int64]]
    num_kinds: int
    agent: Callable[[Any, str], Agent]
    write: Callable[[Path, Any, dict[str, Any]], None]
    load: Callable[[Path], tuple[Any, dict[str, Any]]]


def _patchwork_inputs(observations: Tensor, rows: Tensor, actions: Tensor) -> policy_network.Inputs:
    kinds = torch.from_numpy(policy_network.kinds_of(actions.cpu().numpy())).to(actions.device)
    return policy_network.Inputs(observations, rows, kinds, (actions - FIRST_BUY).clamp(min=0))


POLICIES: Mapping[str, Policies] = {
    PATCHWORK: Policies(
        PatchworkNetwork,
        _patchwork_inputs,
        policy_network.kinds_of,
        policy_network.NUM_KINDS,
        policy.PolicyAgent,
        policy.write_policy,
        policy.load_policy,
    ),
    NMBR9: Policies(
        Nmbr9Network,
        nmbr9_network.Inputs,
        np.zeros_like,
        1,
        nmbr9_policy.PolicyAgent,
        nmbr9_policy.write_policy,
        nmbr9_policy.load_policy,
    ),
}
"""The policies of each game, by the name of the game."""


class Evaluated(NamedTuple):
    """The output of a network for ``n`` observations with ``total`` legal actions.

    Attributes:
        rows: int64 ``(total,)``, the index of each legal action's observation, ascending.
        actions: int64 ``(total,)``, the legal actions, ascending within a row.
        output: The log-probabilities ``(total,)`` of these actions, and the entropies and values ``(n,)``.
    """

    rows: Tensor
    actions: Tensor
    output: Output

    def dense(self, num_actions: int) -> Tensor:
        """Log-probabilities ``(n, num_actions)``; :data:`IMPOSSIBLE` for illegal actions."""
        shape = len(self.output.values), num_actions
        dense = self.output.values.new_full(shape, IMPOSSIBLE)
        return dense.index_put((self.rows, self.actions), self.output.log_probabilities)

    def of(self, chosen: Tensor) -> Tensor:
        """Log-probabilities ``(n,)`` of one action for each row; :data:`IMPOSSIBLE` for an illegal one.

        Args:
            chosen: The actions, int64 ``(n,)``.
        """
        width = int(max(self.actions.max(), chosen.max())) + 1 if len(self.actions) else 1
        listed = self.rows * width + self.actions
        wanted = torch.arange(len(chosen), device=chosen.device) * width + chosen
        positions = torch.searchsorted(listed, wanted).clamp(max=len(listed) - 1)
        found = listed[positions] == wanted
        return torch.where(found, self.output.log_probabilities.index_select(0, positions), IMPOSSIBLE)


def evaluate(game: str, network: nn.Module, observations: Tensor, masks: Tensor) -> Evaluated:
    """Asks a network about observations.

    Args:
        game: The name of the game.
        network: A network of the game.
        observations: The observations of the players to move, float32 ``(n, size)``.
        masks: The masks ``(n, actions)``, not 0 for the legal actions; a row may have none.
    """
    rows, actions = _legal(masks)
    output = network(POLICIES[game].inputs(observations, rows, actions))
    return Evaluated(rows, actions, output)


def draw(evaluated: Evaluated, uniforms: npt.NDArray[np.float64]) -> Tensor:
    """Draws a legal action for each observation.

    Args:
        evaluated: The ``n`` observations, each with a legal action.
        uniforms: Random numbers ``(n,)``, drawn evenly from 0 to 1.

    Returns:
        int64 ``(n,)``.

    Raises:
        ValueError: An observation has no legal action.
    """
    counts = _counts(evaluated)
    log_probabilities = evaluated.output.log_probabilities.detach().cpu().numpy()
    chosen = ragged.sample(counts, log_probabilities, uniforms)
    return evaluated.actions[torch.from_numpy(chosen).to(evaluated.actions.device)]


def likeliest(game: str, evaluated: Evaluated) -> Tensor:
    """The action that the agents of the game play for each observation, int64 ``(n,)``.

    Raises:
        ValueError: An observation has no legal action.
    """
    policies, counts = POLICIES[game], _counts(evaluated)
    log_probabilities = evaluated.output.log_probabilities.detach().cpu().numpy()
    kinds = policies.kinds(evaluated.actions.cpu().numpy())
    chosen = ragged.most_probable(counts, kinds, log_probabilities, policies.num_kinds)
    return evaluated.actions[torch.from_numpy(chosen).to(evaluated.actions.device)]


def _counts(evaluated: Evaluated) -> npt.NDArray[np.int64]:
    counts = np.bincount(evaluated.rows.cpu().numpy(), minlength=len(evaluated.output.values))
    if not counts.all():
        raise ValueError(f"observation {counts.argmin()} of {len(counts)} has a mask without a legal action")
    return counts


def _legal(masks: Tensor) -> tuple[Tensor, Tensor]:
    """Rows and columns of the entries that are not 0; on the CPU NumPy finds them faster."""
    if masks.device.type != "cpu":
        rows, actions = masks.nonzero(as_tuple=True)
        return rows, actions
    flat = np.flatnonzero(masks.numpy())
    rows_and_actions = np.divmod(flat, masks.shape[1])
    return torch.from_numpy(rows_and_actions[0]), torch.from_numpy(rows_and_actions[1])

"""Agents that play a trained policy network of NMBR 9. Needs torch and safetensors: the extra ``train``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from patchwork_env.agents import ragged
from patchwork_env.agents.base import Actions, SamplingAgent
from patchwork_env.agents.checkpoint_tensors import read_network, write_kind_of_policy
from patchwork_env.agents.checkpoints import NETWORK
from patchwork_env.agents.nmbr9.policy_network import Inputs, Nmbr9Network
from patchwork_env.agents.ragged import LegalLists
from patchwork_env.core.compile import kernel
from patchwork_env.games import NMBR9
from patchwork_env.nmbr9.actions import TABLE_SIZE
from patchwork_env.nmbr9.engine import NUM_MAPS, legal, meets_edge, write_actions
from patchwork_env.nmbr9.observation import OBSERVATION_SIZE, write_observations
from patchwork_env.nmbr9.state import States


class PolicyAgent(SamplingAgent):
    """Plays a policy network, without search, and keeps its tiles away from the edge of the table.

    Args:
        network: The network, on any device. The agent plays its present weights, also while it learns.
        name: The name of the agent in tables and messages.
        sample: Whether to draw from the policy, instead of taking the most probable action.
        seed: The seed of the draws, ``0 ... 2**64 - 1``; None for fresh ones.
    """

    games = (NMBR9,)

    def __init__(
        self,
        network: Nmbr9Network,
        name: str = "nmbr9 policy",
        *,
        sample: bool = False,
        seed: int | None = None,
    ) -> None:
        super().__init__(name, sample, seed)
        self.network = network

    def act_batch(self, states: States) -> Actions:
        """A legal action for the current player of every game, int64 ``(n,)``."""
        self.check_states(states)
        inputs, lists = encode(states)
        with torch.inference_mode():
            log_probabilities = self.network(inputs.to(self.network.device)).log_probabilities.cpu().numpy()
        if self.sample:
            chosen = ragged.sample(lists.counts, log_probabilities, self._random.random(len(states)))
        else:
            chosen = ragged.most_probable(
                lists.counts, np.zeros_like(lists.actions), log_probabilities, num_kinds=1
            )
        return lists.actions[chosen]


def encode(states: States) -> tuple[Inputs, LegalLists]:
    """The network's inputs for states, none of which is over, and the actions that it chooses from."""
    observations = np.empty((len(states), OBSERVATION_SIZE), np.float32)
    write_observations(states, observations)
    lists = playable_lists(states)
    return Inputs(*map(torch.from_numpy, (observations, lists.rows, lists.actions))), lists


def playable_lists(states: States) -> LegalLists:
    """Lists the legal actions of states, none of which is over, without those that meet the table's edge.

    If all legal actions of a state meet the edge, all of them are listed.
    """
    counts = np.empty(len(states), np.int64)
    _count(states, counts)
    actions = np.empty(counts.sum(), np.int16)
    total = _list(states, counts, actions)
    return LegalLists(counts, actions[:total].astype(np.int64), np.repeat(np.arange(len(states)), counts))


@kernel(allocates=True)
def _count(states: States, counts: npt.NDArray[np.int64]) -> None:
    maps = np.empty((NUM_MAPS, TABLE_SIZE), np.uint64)
    for i in range(len(states)):
        counts[i] = legal(states, i, maps)


@kernel(allocates=True)
def _list(states: States, counts: npt.NDArray[np.int64], actions: npt.NDArray[np.int16]) -> int:
    """Lists the playable actions and lowers the counts to them; returns the length of the list."""
    maps, begin = np.empty((NUM_MAPS, TABLE_SIZE), np.uint64), 0
    for i in range(len(states)):
        legal(states, i, maps)
        write_actions(maps, actions[begin : begin + counts[i]])
        end = begin
        for k in range(begin, begin + counts[i]):
            if not meets_edge(states, i, actions[k]):
                actions[end] = actions[k]
                end += 1
        if end > begin:
            counts[i] = end - begin
        begin += counts[i]
    return begin


# --- on disk ----------------------------------------------------------------------------------------------


def write_policy(folder: Path, network: Nmbr9Network, info: dict[str, Any] | None = None) -> None:
    """Writes the two files of a policy into an existing folder."""
    write_kind_of_policy(folder, NETWORK, asdict(network.config), network.state_dict(), info, game=NMBR9)


def load_policy(folder: Path) -> tuple[Nmbr9Network, dict[str, Any]]:
    """Reads a policy and what was remembered of its making.

    Raises:
        FileNotFoundError: There is no checkpoint.
        ValueError: It is damaged, of another game, version or kind of policy.
    """
    return read_network(folder, NMBR9, Nmbr9Network)


def load(path: str | Path, seed: int | None = None, *, sample: bool = False) -> PolicyAgent:
    """The agent that plays the policy of a checkpoint folder; for the options see :class:`PolicyAgent`.

    Raises:
        FileNotFoundError: There is no checkpoint.
        ValueError: It is damaged, of another game, version or kind of policy.
    """
    network, _ = load_policy(Path(path))
    return PolicyAgent(network, Path(path).name, sample=sample, seed=seed)

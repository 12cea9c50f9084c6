"""What the policy networks of all games share: sizes, trunk, and a policy over lists of legal actions.

Needs torch. Lists of legal actions are those of :mod:`~patchwork_env.agents.ragged`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class NetworkConfig:
    """The sizes of a network.

    Attributes:
        width: The units of each hidden layer of the trunk.
        depth: The number of hidden layers of the trunk, at least 1.
        channels: The features of each cell or placement; see the network of each game.
    """

    width: int = 256
    depth: int = 2
    channels: int = 32

    def __post_init__(self) -> None:
        for name in ("width", "depth", "channels"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ValueError(f"network.{name} is {value!r}; it must be an integer of at least 1")


class Output(NamedTuple):
    """The output of a network for ``n`` states.

    Attributes:
        log_probabilities: ``(total,)``, the log-probabilities of the legal actions.
        entropies: ``(n,)``, the entropy of the policy in each state, in nats.
        values: ``(n,)``, the expected return of the current player of each state.
    """

    log_probabilities: Tensor
    entropies: Tensor
    values: Tensor


def new_trunk(inputs: int, config: NetworkConfig) -> nn.Sequential:
    """Fully connected layers of rectified units, with the ``width`` and ``depth`` of a configuration."""
    sizes = [inputs, *[config.width] * config.depth]
    layers = ((nn.Linear(*pair), nn.ReLU()) for pair in pairwise(sizes))
    return nn.Sequential(*(module for layer in layers for module in layer))


def hierarchical_policy(
    kind_logits: Tensor, scores: Tensor, rows: Tensor, kinds: Tensor
) -> tuple[Tensor, Tensor]:
    """Log-probabilities of the legal actions, and entropies of the states in nats.

    ``log p(action) = log p(kind) + log p(action | kind)``. A state without legal actions is no error, and
    adds nothing to gradients.

    Args:
        kind_logits: ``(n, kinds)``, the logits of the kinds of action.
        scores: ``(total,)``, the logits of the legal actions within their kind.
        rows: ``(total,)``, the state that each legal action belongs to.
        kinds: ``(total,)``, the kind of each legal action.

    Returns:
        The log-probabilities ``(total,)`` and the entropies ``(n,)``.
    """
    groups = rows * kind_logits.shape[1] + kinds
    highest = scores.new_full((kind_logits.numel(),), -torch.inf)
    highest = highest.scatter_reduce(0, groups, scores.detach(), "amax")
    centered = scores - highest.index_select(0, groups)
    sums = torch.zeros_like(highest).index_add(0, groups, centered.exp())
    placement = centered - sums.clamp(min=1e-30).log().index_select(0, groups)
    placement_entropies = torch.zeros_like(highest).index_add(0, groups, -placement.exp() * placement)
    possible = (sums > 0).view_as(kind_logits)
    kind = torch.log_softmax(kind_logits.masked_fill(~possible, -1e9), 1)
    probabilities = kind.exp()
    entropies = (probabilities * (placement_entropies.view_as(kind) - kind)).sum(1)
    return kind.view(-1).index_select(0, groups) + placement, entropies

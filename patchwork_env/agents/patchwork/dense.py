"""Policies in the form that other libraries expect: masks in, all 2026 actions out. Needs torch."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from patchwork_env.agents.patchwork.dense_features import DenseFeatures, by_kind
from patchwork_env.agents.patchwork.placements import NUM_KINDS
from patchwork_env.agents.patchwork.policy_network import PatchworkNetwork
from patchwork_env.agents.ragged import TIE
from patchwork_env.patchwork.actions import FIRST_BUY

_IMPOSSIBLE = -1e9


class DensePolicy(nn.Module):
    """The same policy and value as the network's, from masks and for all 2026 actions instead of from lists.

    With ``network.features``, a position takes most of a megabyte of memory while it is evaluated.

    Args:
        network: The network whose weights it uses.

    Raises:
        ValueError: The network looks ahead: the rules of the game are no operations on tensors.
    """

    def __init__(self, network: PatchworkNetwork) -> None:
        super().__init__()
        if network.looks_ahead:
            raise ValueError("network.lookahead is True; networks that look ahead have no dense form")
        self.network = network
        self.features = DenseFeatures(network.config.offers) if network.config.features else None

    def forward(self, observation: Tensor, action_mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Evaluates a batch.

        Args:
            observation: float32 ``(n, OBSERVATION_SIZE)``, from the view of the players to move.
            action_mask: ``(n, NUM_ACTIONS)`` of any type: not 0 for the legal actions, at least one in every
                row; else 0.

        Returns:
            The most probable placements of the most probable kinds of move, int64 ``(n,)``; log-probabilities
            of all actions, ``(n, NUM_ACTIONS)``, minus infinity for those that are not legal; and the
            expected returns of the players to move, ``(n,)``.
        """
        legal = action_mask != 0
        kind_logits, scores, values = self._scores(observation, legal)
        groups = by_kind(functional.pad(scores, (FIRST_BUY, 0)))
        masks = by_kind(legal)
        possible = torch.stack([mask.any(1) for mask in masks], 1)
        kinds = kind_logits.masked_fill(~possible, _IMPOSSIBLE).log_softmax(1)
        placements = [
            group.masked_fill(~mask, _IMPOSSIBLE).log_softmax(1)
            for group, mask in zip(groups, masks, strict=True)
        ]
        joint = torch.cat([kinds[:, k : k + 1] + placements[k] for k in range(NUM_KINDS)], 1)
        log_probabilities = joint.masked_fill(~legal, -torch.inf)
        return _choose(kinds, placements), log_probabilities, values

    def _scores(self, observations: Tensor, legal: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Logits of the kinds ``(n, NUM_KINDS)``, of all placements ``(n, 2025)``, and values ``(n,)``."""
        network = self.network
        features = None if self.features is None else self.features(observations, legal)
        trunk = network.trunk_of(observations, None if features is None else features.positions)
        kinds, scores = network.kind(trunk), trunk.new_zeros(())
        if features is not None:
            kinds = kinds + network.kind_scores(trunk, features.kinds)
            scores = scores + (features.placements @ network.placement(trunk).unsqueeze(2)).squeeze(2)
        if network.config.channels:
            scores = scores + network.placement_maps(observations, trunk).flatten(1)
        return kinds, scores, network.value(trunk).squeeze(1)


def _choose(kinds: Tensor, placements: list[Tensor]) -> Tensor:
    """The action as :func:`~patchwork_env.agents.ragged.most_probable` chooses it, int64 ``(n,)``."""
    begin, best = 0, []
    for scores in placements:
        is_best = scores >= scores.amax(1, keepdim=True) - TIE
        best.append(begin + is_best.float().argmax(1))  # the first one
        begin += scores.shape[1]
    return torch.stack(best, 1).gather(1, kinds.argmax(1, keepdim=True)).squeeze(1)

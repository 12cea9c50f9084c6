"""MaskablePPO's policy and rollout buffer, without the work on illegal actions.

Algorithm and results stay the same. ``MaskablePPO`` gets both by arguments that it has for this purpose, and
the weights are those of its ``MlpPolicy``.
"""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
import torch
from sb3_contrib.common.maskable.buffers import MaskableRolloutBuffer
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from torch import Tensor

from patchwork_env.agents import ragged
from patchwork_env.errors import DivergenceError
from patchwork_env.integrations.sb3.threads import in_parallel
from patchwork_env.learning.algorithms.common.threads import ThreadPool
from patchwork_env.patchwork.actions import NUM_ACTIONS

Masks = npt.NDArray[Any] | Tensor


class LegalSoftmax(NamedTuple):
    """The distribution over the legal actions of ``n`` states, ``total`` in all.

    Attributes:
        positions: int64 ``(total,)``, the indices of the legal actions in the flattened masks.
        log_probabilities: ``(total,)``, the log-probabilities of these actions.
        normalizers: ``(n,)``, what is subtracted from the logits for log-probabilities.
        entropies: ``(n,)``, in nats.
    """

    positions: Tensor
    log_probabilities: Tensor
    normalizers: Tensor
    entropies: Tensor


def legal_softmax(logits: Tensor, masks: Tensor) -> LegalSoftmax:
    """The results of ``MaskableCategorical``, computed from the logits of the legal actions: a few percent.

    Args:
        logits: The logits of all actions, ``(n, actions)``.
        masks: The masks, bool ``(n, actions)``, with a legal action in every row.
    """
    positions = _true_positions(masks)
    rows = positions // logits.shape[1]
    legal = logits.reshape(-1).index_select(0, positions)
    highest = legal.new_full((len(logits),), -torch.inf)
    highest = highest.scatter_reduce(0, rows, legal.detach(), "amax")
    centered = legal - highest.index_select(0, rows)
    weights = centered.exp()
    sums = torch.zeros_like(highest).index_add(0, rows, weights)
    log_sums = sums.log()
    entropies = log_sums - torch.zeros_like(highest).index_add(0, rows, weights * centered) / sums
    return LegalSoftmax(positions, centered - log_sums.index_select(0, rows), highest + log_sums, entropies)


def _true_positions(masks: Tensor) -> Tensor:
    """Indices of the true entries of the flattened masks; on the CPU NumPy finds them faster."""
    if masks.device.type == "cpu":
        return torch.from_numpy(np.flatnonzero(masks.numpy()))
    return masks.flatten().nonzero().squeeze(1)


class LegalMlpPolicy(MaskableActorCriticPolicy):
    """``MlpPolicy`` of MaskablePPO, with the same results up to rounding; threads share each batch.

    The other arguments are those of ``MaskableActorCriticPolicy``.
    """

    def __init__(self, *args: Any, threads: ThreadPool | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._threads = threads or ThreadPool()

    def forward(
        self, obs: Tensor, deterministic: bool = False, action_masks: Masks | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Actions ``(n,)``, values ``(n, 1)`` and log-probabilities ``(n,)``."""
        if action_masks is None or deterministic:
            return super().forward(obs, deterministic, action_masks)  # type: ignore[arg-type]
        logits, values = self._logits_and_values(obs)
        softmax = legal_softmax(logits, self._as_bool(action_masks))
        actions = _draw(softmax)
        return actions, values, _pick(logits, actions) - softmax.normalizers

    def evaluate_actions(
        self, obs: Tensor, actions: Tensor, action_masks: Masks | None = None
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Values ``(n, 1)``, log-probabilities ``(n,)`` of the actions, and entropies ``(n,)``.

        Raises:
            DivergenceError: One of them is not finite, so that the loss would not be finite either.
        """
        if action_masks is None:
            return super().evaluate_actions(obs, actions, action_masks)
        samples = (obs, actions, self._as_bool(action_masks))
        results = in_parallel(self._threads, self._evaluate, list(self.parameters()), samples)
        return check_finite(results)

    def _evaluate(self, obs: Tensor, actions: Tensor, masks: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        logits, values = self._logits_and_values(obs)
        softmax = legal_softmax(logits, masks)
        return values, _pick(logits, actions) - softmax.normalizers, softmax.entropies

    def _logits_and_values(self, obs: Tensor) -> tuple[Tensor, Tensor]:
        features = cast(Tensor, self.extract_features(obs))  # for both networks, as in MlpPolicy
        logits = self.action_net(self.mlp_extractor.forward_actor(features))
        return logits, self.value_net(self.mlp_extractor.forward_critic(features))

    def _as_bool(self, masks: Masks) -> Tensor:
        return torch.as_tensor(masks, dtype=torch.bool, device=self.device)


def check_finite(results: tuple[Tensor, ...]) -> tuple[Tensor, Tensor, Tensor]:
    """The values, log-probabilities and entropies of a minibatch, unless one of them is not finite.

    Raises:
        DivergenceError: One is not.
    """
    if not all(torch.isfinite(result.sum()) for result in results):
        names = ("values", "log-probabilities", "entropies")
        means = {name: result.mean().item() for name, result in zip(names, results, strict=True)}
        listed = ", ".join(f"{name} {mean:.4g}" for name, mean in means.items())
        raise DivergenceError(f"training diverged: means over a minibatch are {listed}", means)
    return cast(tuple[Tensor, Tensor, Tensor], results)


def _draw(softmax: LegalSoftmax) -> Tensor:
    """Draws actions with one random number a state; ``torch.multinomial`` would draw one for every action."""
    counts = torch.bincount(softmax.positions // NUM_ACTIONS).cpu().numpy()
    uniforms = torch.rand(len(counts), dtype=torch.float64).numpy()
    chosen = ragged.sample(counts, softmax.log_probabilities.cpu().numpy(), uniforms)
    return softmax.positions[torch.from_numpy(chosen)] % NUM_ACTIONS


def _pick(logits: Tensor, actions: Tensor) -> Tensor:
    return logits.gather(1, actions.long().unsqueeze(1)).squeeze(1)


class BoolMaskBuffer(MaskableRolloutBuffer):
    """MaskablePPO's rollout buffer with masks of one byte per action instead of four."""

    def reset(self) -> None:
        """Empties the buffer."""
        super(MaskableRolloutBuffer, self).reset()  # its own would allocate the large masks
        self.mask_dims = int(cast(Any, self.action_space).n)
        self.action_masks = np.ones((self.buffer_size, self.n_envs, self.mask_dims), np.bool_)

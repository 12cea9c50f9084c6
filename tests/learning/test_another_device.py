"""The code for GPUs, run on the CPU, against the compiled code: weights, games, files.

Tensors of a :class:`Device` have PyTorch's device ``lazy`` and store their numbers on the CPU. As on a GPU,
NumPy cannot read them, and operations refuse to mix them with others.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.optim import optimizer
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only

from patchwork_env.core.batches import begin_games
from patchwork_env.core.checks import seed_streams
from patchwork_env.games import rules_of
from patchwork_env.learning.algorithms.common.trainer import make_trainer
from patchwork_env.learning.config import load_config
from patchwork_env.learning.runs.checkpoints import load_checkpoint, save_checkpoint
from tests.learning.tiny_runs import TINY_RUNS

NAME = "lazy"
_FEW = ("alphazero.gradient_steps=1", "alphazero.evaluation_simulations=2")
_SHORT = ("ppo.rollout_steps=6", "ppo.epochs=1")
CASES = {
    "maskable_ppo of nmbr9": ("maskable_ppo of nmbr9", "maskable_ppo.rollout_steps=10"),
    "ppo": ("ppo", "network.offers=true", "network.lookahead=true", *_SHORT),
    "ppo without features": ("ppo", "network.features=false", *_SHORT),
    "ppo of nmbr9": ("ppo of nmbr9", "ppo.rollout_steps=10", "ppo.epochs=1"),
    "maskable_ppo": ("maskable_ppo", "maskable_ppo.rollout_steps=8", "maskable_ppo.epochs=1"),
    "alphazero": ("alphazero", "alphazero.num_envs=4", "alphazero.rollout_steps=4", *_FEW),
}
_COPIES = ("aten::copy_", "aten::_to_copy")


class OnDevice(Tensor):
    """A tensor on the device; ``held`` has its numbers."""

    held: Tensor

    @staticmethod
    def __new__(cls, held):
        with torch.inference_mode(False):
            own = Tensor._make_wrapper_subclass(
                cls, held.shape, strides=held.stride(), dtype=held.dtype, device=NAME
            )
        own.held = held
        return own

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        return computed(function, args, kwargs or {})

    def __deepcopy__(self, memo):
        return memo.setdefault(id(self), nn.Parameter(OnDevice(self.held.clone()), self.requires_grad))


class Device(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        return computed(function, args, kwargs or {})


def computed(function, args, kwargs):
    tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
    there = {id(tensor.held): tensor for tensor in tensors if isinstance(tensor, OnDevice)}
    others = [tensor for tensor in tensors if not isinstance(tensor, OnDevice) and tensor.dim()]
    if there and others and function._schema.name not in _COPIES:
        raise RuntimeError(f"{function}: expected all tensors to be on the same device")
    asked = kwargs.get("device")
    is_there = bool(there) if asked is None else torch.device(asked).type == NAME
    args, kwargs = tree_map_only(OnDevice, lambda tensor: tensor.held, (args, kwargs))
    if is_there and asked is not None:
        kwargs["device"] = torch.device("cpu")
    results = function(*args, **kwargs)
    if not is_there:
        return results
    return tree_map_only(
        Tensor, lambda tensor: there[id(tensor)] if id(tensor) in there else OnDevice(tensor), results
    )


@pytest.fixture
def device(monkeypatch):
    """The device, to which modules move as to a GPU, and which optimizers have fused kernels for."""
    monkeypatch.setattr(torch.__future__, "_swap_module_params_on_conversion", True)
    monkeypatch.setattr(optimizer, "_get_fused_kernels_supported_devices", lambda: ["cpu", NAME])
    with Device():
        yield


def test_what_is_there_is_not_mixed_with_what_is_here(device):
    there, here = torch.ones(2, device=NAME), torch.ones(2)
    with pytest.raises(RuntimeError, match="same device"):
        there + here
    with pytest.raises(RuntimeError, match="not supported for tensor subclasses"):
        there.numpy()
    assert (there.cpu() + here).tolist() == (there + here.to(NAME)).cpu().tolist() == [2, 2]


def new_trainer(case, tmp_path, device):
    run, *overrides = case
    path = tmp_path / "tiny.yaml"
    path.write_text(TINY_RUNS[run])
    return make_trainer(load_config(path, [*overrides, f"device={device}"]))


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_training_there_is_that_on_the_processor(case, tmp_path, device):
    """An iteration, a checkpoint, an iteration of the restored trainer, and games of the agent."""
    here, there, restored = (new_trainer(case, tmp_path, name) for name in ("cpu", NAME, NAME))
    assert restored.network.device.type == NAME
    assert_same(there.step(), here.step())
    for weights, twin in zip(here.network.parameters(), there.network.parameters(), strict=True):
        largest = float(weights.grad.abs().max())
        torch.testing.assert_close(twin.grad.cpu(), weights.grad, rtol=0, atol=1e-3 * largest + 1e-7)
    save_checkpoint(tmp_path, there)
    load_checkpoint(tmp_path, restored)
    assert_same(restored.step(), here.step())
    for weights, twin in zip(here.network.parameters(), restored.network.parameters(), strict=True):
        # Where a gradient is 0 but for rounding, a step of Adam is as long as elsewhere, either way.
        assert ((twin.cpu() - weights).abs() > 1e-3).float().mean() < 0.03
    states = begin_games(rules_of(here.config.game), seed_streams(3, 8))
    actions = restored.agent().act_batch(states)
    np.testing.assert_array_equal(actions, here.agent().act_batch(states))


def assert_same(metrics, expected):
    metrics, expected = (
        {name: value for name, value in figures.items() if not name.startswith("time/")}
        for figures in (metrics, expected)
    )
    assert metrics == pytest.approx(expected, rel=1e-2, abs=1e-5)

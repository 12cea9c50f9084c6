"""What a trainer's state may hold, which comes from a file."""

from __future__ import annotations

import pytest
import torch

from patchwork_env.learning.algorithms.common.trainer import (
    join,
    load_optimizer_state,
    optimizer_state,
)


@pytest.fixture
def learner():
    module = torch.nn.Linear(3, 2)
    optimizer = torch.optim.Adam(module.parameters())
    module(torch.ones(3)).sum().backward()
    optimizer.step()
    return optimizer


def test_what_an_optimizer_keeps_fits_its_parameters_and_shares_no_memory(learner):
    """Its steps may be compiled code that checks no bounds."""
    for number, name, tensor in (
        ("0", "exp_avg", torch.zeros(3, 2)),
        ("0", "exp_avg_sq", torch.zeros(())),
        ("1", "step", torch.zeros(2)),
        ("1", "step", torch.tensor(-1e8)),
        ("0", "step", torch.tensor(torch.nan)),
        ("1", "exp_avg", None),
        ("1", "momentum", torch.zeros(2)),
        ("2", "exp_avg", torch.zeros(2)),
    ):
        state = optimizer_state(learner)
        load_optimizer_state(learner, state)
        kept = {**state.get(number, {}), name: tensor}
        state[number] = {key: value for key, value in kept.items() if value is not None}
        with pytest.raises(ValueError, match="optimizer holds"):
            load_optimizer_state(learner, state)
    state = optimizer_state(learner)
    load_optimizer_state(learner, state)
    state["0"]["exp_avg"][:] = 7
    assert (optimizer_state(learner)["0"]["exp_avg"] != 7).all()


def test_a_tensor_without_a_place_is_refused():
    for path in ("b/c", "a/d", "f/g", "h/i"):
        with pytest.raises((KeyError, TypeError)):
            join({"a": [], "f": 2.5, "h": None}, {path: torch.ones(1)})

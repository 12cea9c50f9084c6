"""What a trainer's state may hold, which comes from a file."""

import pytest
import torch

from patchwork_env.learning.algorithms.common.trainer import join, load_optimizer_state, optimizer_state


@pytest.fixture
def learner():
    module = torch.nn.Linear(3, 2)
    optimizer = torch.optim.Adam(module.parameters())
    module(torch.ones(3)).sum().backward()
    optimizer.step()
    return optimizer


def test_what_an_optimizer_keeps_shares_no_memory(learner):
    state = optimizer_state(learner)
    load_optimizer_state(learner, state)
    state["0"]["exp_avg"][:] = 7
    assert (optimizer_state(learner)["0"]["exp_avg"] != 7).all()


def test_a_tensor_without_a_place_is_refused():
    for path in ("b/c", "a/d", "f/g", "h/i"):
        with pytest.raises((KeyError, TypeError)):
            join({"a": [], "f": 2.5, "h": None}, {path: torch.ones(1)})

"""What a trainer's state may hold, which comes from a file."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from patchwork_env.integrations.sb3.random_states import RandomStates
from patchwork_env.learning.algorithms.common.state import (
    TrainerState,
    array_value_part,
    count_part,
    restore_optimizer,
    tensors_of_optimizer,
)


@pytest.fixture
def learner():
    module = torch.nn.Linear(3, 2)
    optimizer = torch.optim.Adam(module.parameters())
    module(torch.ones(3)).sum().backward()
    optimizer.step()
    return optimizer, module


@pytest.mark.parametrize(
    ("name", "tensor"),
    [
        ("weight.exp_avg", torch.zeros(3, 2)),
        ("weight.exp_avg_sq", torch.zeros(())),
        ("bias.step", torch.zeros(2)),
        ("bias.step", torch.tensor(-1.0)),
        ("bias.step", torch.tensor(-1e8)),
        ("weight.step", torch.tensor(torch.nan)),
        ("weight.step", torch.tensor(1e30)),
        ("bias.exp_avg", None),
        ("bias.momentum", torch.zeros(2)),
        ("other.exp_avg", torch.zeros(2)),
    ],
)
def test_what_an_optimizer_keeps_fits_its_parameters(learner, name, tensor):
    """Its steps may be compiled code that checks no bounds."""
    tensors = tensors_of_optimizer(*learner)
    restore_optimizer(*learner, tensors)
    changed = {key: value for key, value in {**tensors, name: tensor}.items() if value is not None}
    with pytest.raises(ValueError, match=r"optimizer holds|not in list"):
        restore_optimizer(*learner, changed)


@pytest.mark.parametrize("place", [-1, 625, 2**31, "1", 1.5])
def test_random_numbers_do_not_go_on_behind_their_state(place):
    """NumPy takes any place, and reads there."""
    states = RandomStates(3)
    values, tensors = states.state()
    states.restore(TrainerState(values, tensors))
    values["state"] = values["state"] | {"pos": place}
    with pytest.raises(ValueError, match="pos"):
        states.restore(TrainerState(values, tensors))


@pytest.mark.parametrize("count", [-1, 0.5, "3", None, True, 2**60])
def test_counts_are_whole_numbers(count):
    owner = type("Owner", (), {"steps": 5})()
    part = count_part("updates", owner, "steps")
    assert part.save().values == {"updates": 5}
    with pytest.raises(ValueError, match="updates"):
        part.restore(TrainerState({"updates": count}, {}))
    assert owner.steps == 5


def test_numbers_of_opponents_are_those_there_are():
    array = np.zeros(3, np.int64)
    part = array_value_part("league_games", array, -1, lambda: {-1, 0, 4})
    part.restore(TrainerState({"league_games": [4, 0, -1]}, {}))
    assert array.tolist() == [4, 0, -1]
    with pytest.raises(ValueError, match="league_games holds 3"):
        part.restore(TrainerState({"league_games": [4, 3, -1]}, {}))

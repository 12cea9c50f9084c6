"""What holds for every learner of a compiled value."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from patchwork_env.agents.compiled.records import arrays_of
from patchwork_env.errors import DivergenceError


def check_average(learner: Any, positions: Any, weights: npt.NDArray[np.void]) -> None:
    """Learns for a while: the weights change in place, and the average stays among what they were."""
    seen = [weights.copy()]
    for _ in range(3):
        learner.update(positions, 4, 0.0, np.random.default_rng(2))
        seen.append(weights.copy())
    assert learner.steps == 12
    for name, array in arrays_of(learner.average).items():
        low, high = (bound([s[name][0] for s in seen], axis=0) for bound in (np.min, np.max))
        assert not np.array_equal(seen[0][name], seen[-1][name])
        assert (array >= low - 0.05).all()
        assert (array <= high + 0.05).all()


def check_trained(learner: Any, positions: Any, power: float) -> None:
    """What is trained is a mean of what played, in which steps count by a power of their numbers."""
    played, ends = [], [0]
    for steps in (2, 3, 5):
        learner.update(positions, steps, 0.0, np.random.default_rng(2))
        played.append(learner.average.copy())
        ends.append(learner.steps)
    shares = np.diff((np.array(ends) / ends[-1]) ** (power + 1))
    for name, array in arrays_of(learner.trained).items():
        mean = sum(share * average[name][0] for share, average in zip(shares, played, strict=True))
        np.testing.assert_allclose(array, mean, atol=1e-6)


def check_damaged_window(trainer: Any, other: Any) -> None:
    """Records that no game reaches are refused before compiled code reads them."""
    trainer.step()
    state = trainer.state_dict()
    state["window"]["0"]["states"][:] = 255
    with pytest.raises(ValueError, match="state"):
        other.load_state_dict(state)


def check_divergence(learner: Any, positions: Any) -> None:
    """A target that is no number stops learning, and the error has the batch."""
    positions.targets[:] = np.nan
    with pytest.raises(DivergenceError) as caught:
        learner.update(positions, 4, 0.0, np.random.default_rng(2))
    assert set(caught.value.batch) == {"states", "targets"}

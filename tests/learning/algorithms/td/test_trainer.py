"""Temporal-difference learning of both games."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from patchwork_env.agents.compiled import arrays_of
from patchwork_env.errors import DivergenceError
from patchwork_env.learning.algorithms.common.trainer import make_trainer
from patchwork_env.learning.algorithms.td.config import Td, TdConfig
from patchwork_env.learning.config import load_config
from tests.learning.same_runs import state_of
from tests.learning.tiny_runs import SOLO_TD, TD, TINY_RUNS


@pytest.fixture(scope="module", params=["td", "solo_td"])
def name(request):
    return request.param


@pytest.fixture(scope="module")
def config(name, tmp_path_factory):
    path = tmp_path_factory.mktemp("configs") / "tiny.yaml"
    path.write_text(TINY_RUNS[name])
    return path


def test_games_are_played_to_their_ends(config, name):
    least, most = {"td": (21, 111), "solo_td": (20, 20)}[name]
    assert least <= make_trainer(load_config(config)).step()["games/turns_per_game"] <= most


def test_memory_is_that_of_the_games_that_are_learned_from():
    """At most as many as are played in the whole run."""
    for total_steps, iterations in ((100, 3), (10_000, 4)):
        config = TdConfig(total_steps=total_steps, td=Td(games=50, window=4))
        assert config.least_memory() == {("td.games", "td.window"): 50 * iterations * config.BYTES_OF_GAME}


def test_threads_change_nothing(config):
    one, three = (make_trainer(load_config(config, [f"threads={threads}"])) for threads in (1, 3))
    for trainer in (one, three):
        trainer.step()
    assert state_of(one) == state_of(three)


def test_records_that_no_game_reaches_are_refused_before_compiled_code_reads_them(config):
    trainer, other = (make_trainer(load_config(config)) for _ in range(2))
    trainer.step()
    state = trainer.state_dict()
    state["window"]["0"]["states"][:] = 255
    with pytest.raises(ValueError, match="state"):
        other.load_state_dict(state)


@pytest.mark.parametrize(
    "change",
    [
        {"states": torch.zeros(5, dtype=torch.uint8)},
        {"targets": torch.zeros(3, 2)},
        {"targets": torch.zeros(3, dtype=torch.float16)},
        {"targets": torch.zeros(())},
    ],
)
def test_a_window_of_other_types_is_refused(config, change):
    trainer = make_trainer(load_config(config))
    trainer.step()
    state = trainer.state_dict()
    state["window"]["0"] |= change
    with pytest.raises(ValueError, match=r"array|size"):
        trainer.load_state_dict(state)


def test_a_target_for_every_position(config):
    trainer, other = (make_trainer(load_config(config)) for _ in range(2))
    trainer.step()
    state = trainer.state_dict()
    state["window"]["0"]["targets"] = state["window"]["0"]["targets"][1:]
    with pytest.raises(ValueError, match="positions and targets for"):
        other.load_state_dict(state)


def test_the_value_of_patchwork_comes_to_explain_the_results(tmp_path):
    path = tmp_path / "tiny.yaml"
    path.write_text(TD)
    settings = [
        "td={games: 32, gradient_steps: 16, minibatch_size: 256, warmup: 20, table_rate: 1, td_lambda: 0.9}",
        "td.exploration={start: 1.0, end: 1.0}",
        "td.temperature=10.0",
        "td.learning_rate={start: 5e-3, end: 5e-3}",
    ]
    trainer = make_trainer(load_config(path, settings))
    explained = [trainer.step()["losses/explained_variance"] for _ in range(9)]
    assert explained[0] < 0.2
    assert np.mean(explained[-3:]) > 0.4


@pytest.mark.slow
def test_the_value_of_nmbr9_comes_to_play_better_than_greedy(tmp_path):
    """Greedy scores 53, and so does a value of nothing with the most contact."""
    path = tmp_path / "tiny.yaml"
    path.write_text(SOLO_TD)
    settings = [
        "solo_td={games: 64, candidate_placements: 6, gradient_steps: 24, minibatch_size: 512}",
        "solo_td.warmup=20",
        "solo_td.table_rate=0.3",
        "solo_td.learning_rate={start: 3e-3, end: 3e-3}",
        "solo_td.ema_decay=0.9",
    ]
    trainer = make_trainer(load_config(path, settings))
    metrics = [trainer.step() for _ in range(16)]
    assert metrics[0]["games/score"] < 57
    assert np.mean([m["games/score"] for m in metrics[-3:]]) > 60
    assert metrics[-1]["losses/explained_variance"] > 0.5


# --- the learner ------------------------------------------------------------------------------------------


@pytest.fixture
def learner(config):
    return make_trainer(load_config(config)).learner


@pytest.fixture
def positions(config):
    trainer = make_trainer(load_config(config))
    trainer.step()
    return trainer.window[-1]


def test_learning_changes_the_weights_in_place_and_averages_them(learner, positions):
    weights = learner.module.weights
    seen = [weights.copy()]
    for _ in range(3):
        learner.update(positions, 0.0, np.random.default_rng(2))
        seen.append(weights.copy())
    assert learner.steps == 12
    for name, array in arrays_of(learner.average).items():
        low, high = (bound([s[name][0] for s in seen], axis=0) for bound in (np.min, np.max))
        assert not np.array_equal(seen[0][name], seen[-1][name])
        assert (array >= low - 0.05).all()
        assert (array <= high + 0.05).all()


def test_what_is_trained_is_a_mean_of_what_played(learner, positions, name):
    """Steps count by a power of their numbers; without a power only the last ones do."""
    power = {"td": 2.0, "solo_td": np.inf}[name]
    played, ends = [], [0]
    for steps in (2, 3, 5):
        learner._config = learner._config.model_copy(update={"gradient_steps": steps})
        learner.update(positions, 0.0, np.random.default_rng(2))
        played.append(learner.average.copy())
        ends.append(learner.steps)
    shares = np.diff((np.array(ends) / ends[-1]) ** (power + 1))
    for key, array in arrays_of(learner.trained).items():
        mean = sum(share * average[key][0] for share, average in zip(shares, played, strict=True))
        np.testing.assert_allclose(array, mean, atol=1e-6)


def test_a_target_that_is_no_number_stops_with_the_batch(learner, positions):
    positions.targets[:] = np.nan
    with pytest.raises(DivergenceError) as caught:
        learner.update(positions, 0.0, np.random.default_rng(2))
    assert set(caught.value.batch) == {"states", "targets"}

"""Games of workers depend only on the run. Needs no Ray: the workers are in this process."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from patchwork_env.errors import NoWorkersError
from patchwork_env.learning.algorithms.common.trainer import make_trainer
from patchwork_env.learning.algorithms.common.workers import IterationWork, play_job
from patchwork_env.learning.config import load_config
from patchwork_env.learning.runs.checkpoints import begin_run
from patchwork_env.learning.runs.run import Run
from patchwork_env.learning.system import versions
from tests.learning import same_runs
from tests.learning.distributed.configs import CONFIGS, state_of
from tests.learning.distributed.fake_pool import shared

ALL = tuple(CONFIGS)
ITERATIONS = 4
ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    folder = tmp_path_factory.mktemp("configs")
    for name, text in CONFIGS.items():
        (folder / f"{name}.yaml").write_text(text)
    return {name: folder / f"{name}.yaml" for name in CONFIGS}


def finish(trainer, iterations=ITERATIONS):
    return [trainer.step() for _ in range(iterations)]


def play(path, workers, *settings):
    with shared(path, workers, *settings) as (trainer, _):
        metrics = finish(trainer)
        return state_of(trainer), metrics


def of_games(metrics):
    return [{k: v for k, v in line.items() if k.startswith(("games/", "losses/"))} for line in metrics]


@pytest.mark.slow
@pytest.mark.parametrize("ahead", ["false", "true"])
@pytest.mark.parametrize("name", ALL)
def test_a_run_is_the_same_with_any_number_of_workers(paths, name, ahead):
    setting = f"cluster.ahead={ahead}"
    state, metrics = play(paths[name], 1, setting)
    other_state, other_metrics = play(paths[name], 3, setting)
    assert other_state == state
    assert of_games(other_metrics) == of_games(metrics)


@pytest.mark.parametrize("name", ["td", "solo_td"])
def test_value_learners_learn_the_same_with_workers_and_without(paths, name):
    """Other games in every iteration, with more and more exploration."""
    exploring = f"{name}.exploration={{start: 0, end: 1}}"
    trainer = make_trainer(load_config(paths[name], [exploring]))
    metrics = finish(trainer)
    state, remote_metrics = play(paths[name], 2, exploring)
    assert state == state_of(trainer)
    assert of_games(remote_metrics) == of_games(metrics)
    assert len({examples.states[0].tobytes() for examples in trainer.window}) == len(trainer.window) > 1


@pytest.mark.parametrize(("name", "ahead"), [("td", "false"), ("solo_td", "true"), ("alphazero", "true")])
def test_a_restored_trainer_has_the_games_in_flight_played_again(paths, name, ahead):
    setting = f"cluster.ahead={ahead}"
    with shared(paths[name], 2, setting) as (first, _):
        finish(first, 2)
        with shared(paths[name], 3, setting) as (second, pool):
            second.load_state_dict(first.state_dict())
            if ahead == "true":
                assert set(first.state_dict()["in_flight"]) == {"progress", "seed", "weights"}
                assert same_runs.state_of(second) == same_runs.state_of(first)
                without = make_trainer(load_config(paths[name]))
                without.load_state_dict(first.state_dict())
                assert state_of(without) == state_of(first)
            finish(first, 1)
            finish(second, 1)
            assert pool.jobs
        assert state_of(second) == state_of(first)


def test_games_ahead_are_played_with_the_weights_before_the_updates_and_none_ahead_of_the_end(paths):
    """The first two rounds know the weights of the beginning, the third those after one iteration."""
    with shared(paths["td"], 1, "cluster.ahead=true") as (trainer, pool):
        progresses = [0.0]
        while not trainer.is_done:
            progresses.append(trainer.progress)
            trainer.step()
        assert "in_flight" not in trainer.state_dict()
    first, second, third = (work.weights for work in pool.shared[:3])
    assert all(np.array_equal(first[key], second[key]) for key in first)
    assert not all(np.array_equal(second[key], third[key]) for key in first)
    assert [work.progress for work in pool.shared] == progresses[:-1]
    assert pool.jobs == 3 * trainer.iteration  # 8 games in jobs of 3


def test_a_run_that_has_no_workers_left_says_how_to_go_on(paths, tmp_path):
    run = tmp_path / "run"
    with shared(paths["td"], 2) as (trainer, pool):
        pool.error = NoWorkersError("no worker for 3 s")
        begin_run(run, trainer)
        with pytest.raises(NoWorkersError, match=rf"for 3 s; .*step_0+ is complete: .*--resume {run}"):
            Run(run, trainer).train()


def test_a_worker_with_other_packages_is_refused(paths):
    with shared(paths["td"], 1) as (trainer, _):
        here = versions()
        others = here | {"ray": "0.1", "python": "2.7.18"}
        work = IterationWork(trainer.config, others, trainer.weights(), 0.0)
        expected = rf"has .*'python': '{here['python']}'.* the learner has .*'python': '2.7.18'.*'ray': '0.1'"
        with pytest.raises(NoWorkersError, match=expected):
            play_job(work, trainer.jobs(np.uint64(1), 1)[0])


@pytest.mark.slow
def test_a_run_without_workers_does_not_import_ray(paths, tmp_path):
    code = (
        "import sys; from training import train; code = train.main(sys.argv[1:]); "
        "assert not [name for name in sys.modules if name.partition('.')[0] == 'ray']; sys.exit(code)"
    )
    arguments = ["--config", str(paths["solo_td"]), "--run-dir", str(tmp_path / "run")]
    command = [sys.executable, "-c", code, *arguments, "--set", "total_steps=160"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run" / "final").is_dir()

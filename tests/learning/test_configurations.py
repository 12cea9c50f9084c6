"""Every configuration of the project trains with the command, resumes, and gives a policy that plays."""

import pytest

from patchwork_env.core.commands import CommandParser
from patchwork_env.learning.commands import evaluate, train
from patchwork_env.learning.commands.match_options import add_games
from patchwork_env.learning.config import CONFIGS, load_config
from tests.learning.same_runs import metrics_of
from tests.learning.small_runs import small


def curves(run):
    return [row for row in metrics_of(run) if any(name.startswith("losses/") for name in row)]


@pytest.mark.parametrize("configuration", sorted(CONFIGS.glob("*.yaml")), ids=lambda path: path.stem)
def test_evaluate_measures_on_other_set_ups_than_the_run_did(configuration):
    parser = CommandParser()
    add_games(parser, "")
    seed = load_config(configuration).evaluation.seed
    assert parser.get_default("seed") not in (seed, seed + 1)  # those of evaluations, and of the best policy


@pytest.mark.slow
@pytest.mark.parametrize("configuration", sorted(CONFIGS.glob("*.yaml")), ids=lambda path: path.stem)
def test_a_configuration_trains_resumes_and_plays(configuration, tmp_path):
    run = tmp_path / "run"
    command = ["--config", str(configuration), "--run-dir", str(run), "--set", *small(configuration)]
    assert train.main(command) == 0
    (first,) = curves(run)
    assert train.main(["--resume", str(run), "--set", f"total_steps={first['steps'] + 1}"]) == 0
    same, second = curves(run)
    assert same == first
    assert second["steps"] > first["steps"]
    assert evaluate.main([str(run / "final"), "--against", "random", "--games", "2"]) == 0

"""Every configuration of the project trains by the command, goes on, and leaves a policy that plays."""

import json

import pytest

from patchwork_env.learning.commands import evaluate, train
from patchwork_env.learning.config import CONFIGS
from tests.learning.small_runs import small


def curves(run):
    rows = map(json.loads, (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines())
    return [row for row in rows if any(name.startswith("losses/") for name in row)]


@pytest.mark.slow
@pytest.mark.parametrize("configuration", sorted(CONFIGS.glob("*.yaml")), ids=lambda path: path.stem)
def test_a_configuration_trains_goes_on_and_plays(configuration, tmp_path):
    run = tmp_path / "run"
    command = ["--config", str(configuration), "--run-dir", str(run), "--set", *small(configuration)]
    assert train.main(command) == 0
    (first,) = curves(run)
    assert train.main(["--resume", str(run), "--set", f"total_steps={first['steps'] + 1}"]) == 0
    same, second = curves(run)
    assert same == first
    assert second["steps"] > first["steps"]
    assert evaluate.main([str(run / "final"), "--against", "random", "--games", "2"]) == 0

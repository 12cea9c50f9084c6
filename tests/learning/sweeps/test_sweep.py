"""Sweeps, as far as they need no Ray: parameters, files and tables."""

from __future__ import annotations

import json
import shutil
import sys
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace

import numpy as np
import pytest

from patchwork_env.errors import ConfigError, InUseError
from patchwork_env.learning.commands import sweep as sweep_command
from patchwork_env.learning.commands import train
from patchwork_env.learning.commands.sweep import main
from patchwork_env.learning.config import load_config
from patchwork_env.learning.runs import training
from patchwork_env.learning.sweeps.folder import (
    FAILED,
    FINISHED,
    STOPPED,
    End,
    Halving,
    Metric,
    Sweep,
    begin_sweep,
    read_sweep,
)
from patchwork_env.learning.sweeps.parameters import check_trials, draw_trials, overrides, parse_parameter
from patchwork_env.learning.sweeps.table import rows_of, write_results
from patchwork_env.learning.sweeps.trial import run_trial
from patchwork_env.learning.system.lock import sole_user

TINY = """
total_steps: 640
checkpoint_every: 5
network: {width: 8, depth: 1, channels: 4}
ppo: {num_envs: 8, rollout_steps: 8, minibatch_size: 32, epochs: 1}
league: {fraction: 0.5, snapshot_every: 2, size: 3, opponents: 2}
evaluation: {every: 5, games: 2, final_games: 4, opponents: [random, greedy]}
"""


WINS = Metric("win_rate", "random")


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "tiny.yaml"
    path.write_text(TINY)
    return path


def tiny_sweep(folder, count, metric=WINS, halving=None):
    """A sweep over the seed that has just begun."""
    source = folder / "tiny.yaml"
    source.write_text(TINY)
    sweep = Sweep(
        folder / "sweep",
        ("seed=integer(0, 9)",),
        tuple({"seed": trial} for trial in range(count)),
        metric,
        halving,
    )
    sweep.folder.mkdir()
    begin_sweep(sweep, load_config(source))
    return sweep


# --- parameters -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "form", "values"),
    [
        ("ppo.epochs=choice(1, 2,4)", "choice", (1, 2, 4)),
        (" ppo.epochs = grid( 1 ) ", "grid", (1,)),
        ("ppo.learning_rate.start=loguniform(1e-4,1e-2)", "loguniform", (1e-4, 1e-2)),
        ("reward.margin=uniform(0, 1)", "uniform", (0, 1)),
        ("network.depth=integer(1, 3)", "integer", (1, 3)),
        (
            "league.choice=grid(hard, even)",
            "grid",
            ("hard", "even"),
        ),
        ("ppo.learning_rate=grid({start: 1e-3, end: 0})", "grid", ({"start": 1e-3, "end": 0},)),
        ("ppo.target_kl=choice(null, 0.01)", "choice", (None, 0.01)),
    ],
)
def test_parameters_are_parsed(text, form, values):
    parameter = parse_parameter(text)
    assert (parameter.form, parameter.values, parameter.text) == (form, values, text)
    assert parameter.key == text.partition("=")[0].strip()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "ppo.epochs",
            r"--param ppo.epochs: must be KEY=FORM, where FORM is one of choice\(a, b, ...\), grid",
        ),
        ("ppo.epochs=3", "must be KEY=FORM"),
        ("ppo.epochs=normal(0, 1)", r"uniform\(low, high\)"),
        ("ppo.epochs=choice(1, 2", "must be KEY=FORM"),
        ("ppo.epochs=choice([)", "is not valid YAML"),
        ("ppo.epochs=choice()", "takes at least one value"),
        ("ppo.epochs=grid(1, 2, 1)", "1 is given twice"),
        ("reward.margin=uniform(1)", "takes two numbers, the lower one first"),
        ("reward.margin=uniform(1, 0)", "takes two numbers, the lower one first"),
        ("reward.margin=uniform(a, b)", "takes two numbers, the lower one first"),
        ("ppo.epochs=integer(1, 2.5)", "takes two integers, the lower one first"),
        ("ppo.epochs=integer(false, true)", "takes two integers, the lower one first"),
        ("reward.margin=uniform(0, .inf)", r"numbers from -1e\+15 to 1e\+15 are allowed"),
        ("reward.margin=uniform(.nan, 1)", r"numbers from -1e\+15 to 1e\+15 are allowed"),
        ("ppo.epochs=integer(0, 1000000000000000000000)", r"numbers from -1e\+15 to 1e\+15 are allowed"),
        ("logging=grid(2001-01-01)", "values are numbers, texts, true, false, null and lists"),
        ("reward.margin=loguniform(0, 1)", "low is 0; it must be above 0"),
        (
            "evaluation.games=grid(2, 4)",
            "evaluation.games is alike in all trials, for trials are compared by",
        ),
        ("threads=grid(1, 2)", "threads is alike in all trials"),
        ("cluster.workers=grid(1, 2)", "trials have no workers of their own"),
    ],
)
def test_parameters_that_cannot_be(text, message):
    with pytest.raises(ConfigError, match=message):
        parse_parameter(text)


def draw(*texts, trials=None, seed=0):
    return draw_trials([parse_parameter(text) for text in texts], trials, seed)


def test_grids_are_combined():
    trials = draw("ppo.epochs=grid(1, 2)", "network.depth=grid(3, 4)")
    assert [tuple(trial.items()) for trial in trials] == [
        (("ppo.epochs", epochs), ("network.depth", depth)) for epochs in (1, 2) for depth in (3, 4)
    ]


def test_ranges_are_drawn_evenly_on_their_scales():
    trials = draw(
        "a=uniform(1, 3)", "b=loguniform(1e-4, 1)", "c=integer(0, 3)", "d=choice(x, y)", trials=4000
    )
    a, b, c = (np.array([trial[key] for trial in trials]) for key in "abc")
    assert 1 <= a.min() < 1.01
    assert 2.99 < a.max() <= 3
    assert abs(a.mean() - 2) < 0.05
    assert 1e-4 <= b.min() < 1.1e-4
    assert abs((b < 1e-2).mean() - 0.5) < 0.05
    assert np.bincount(c).min() > 900
    assert len(np.bincount(c)) == 4
    assert abs(sum(trial["d"] == "x" for trial in trials) / 4000 - 0.5) < 0.05
    assert all(value == float(f"{value:.4g}") for value in a)


def test_every_combination_has_draws_of_its_own_and_a_seed_repeats_them():
    texts = "ppo.epochs=grid(1, 2)", "reward.margin=uniform(0, 1)"
    trials = draw(*texts, trials=3)
    assert [trial["ppo.epochs"] for trial in trials] == [1, 1, 1, 2, 2, 2]
    assert len({trial["reward.margin"] for trial in trials}) == 6
    assert trials == draw(*texts, trials=3)
    assert trials != draw(*texts, trials=3, seed=1)


def test_no_two_trials_are_alike():
    trials = draw("a=choice(1, 2, 3)", "b=choice({x: 1}, null)", trials=6)
    assert len({json.dumps(trial) for trial in trials}) == 6


@pytest.mark.parametrize(
    ("texts", "trials", "message"),
    [
        ([], None, "a sweep needs parameters: --param KEY=FORM"),
        (["a=choice(1, 2)"], 3, "--trials is 3, but the parameters have only 2 different values"),
        (["a=choice(1, 2)"], 0, "--trials is 0; allowed are 1 to 10000"),
        (["a=uniform(1, 2)"], 10**9, "--trials is 1000000000; allowed are 1 to 10000"),
        (
            ["a=uniform(1, 2)", "b=grid(1, 2)"],
            9000,
            "2 combinations, with 9000 trials each; allowed are 10,000",
        ),
        (["a=grid(1, 2)"], 3, "--trials is 3, but all parameters are grids"),
        (
            ["a.b=grid(1, 2)", "a=grid({b: 1})"],
            None,
            r"--param a.b=grid\(1, 2\) and a=grid\(\{b: 1\}\) are about",
        ),
        (["ab=grid(1, 2)", "ab=grid(3)"], None, "are about the same key"),
    ],
)
def test_trials_that_cannot_be(texts, trials, message):
    with pytest.raises(ConfigError, match=message):
        draw(*texts, trials=trials)


def test_keys_that_begin_alike_are_different():
    assert draw("a.b=grid(1)", "a.bc=grid(2)") == [{"a.b": 1, "a.bc": 2}]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ppo.epoch=grid(1, 2)", r"--param ppo.epoch=grid\(1, 2\): unknown key 'ppo.epoch'; did you mean"),
        (
            "ppo.epochs=grid(1, 0)",
            r"--param ppo.epochs=grid\(1, 0\): ppo.epochs is 0: Input should be greater",
        ),
        ("ppo.epochs=choice(2, 1, 3, 4, 5, 6, 7, 8, 9, -5)", "ppo.epochs is -5: Input should be greater"),
        ("ppo.epochs=uniform(1, 2)", "ppo.epochs is 1.[0-9]+: Input should be a valid integer"),
        (
            "ppo.gae_lambda=uniform(0.9, 1.1)",
            "ppo.gae_lambda is 1.[0-9]+: Input should be less than or equal",
        ),
        ("td.games=grid(8, 16)", "the section 'td' is of no use to the algorithm 'ppo'"),
        ("reward.outcome=grid(0)", r"there would be nothing to learn \(in the trial with reward.outcome=0\)"),
    ],
)
def test_values_are_checked_against_the_configuration(config, text, message):
    parameters = [parse_parameter(text)]
    with pytest.raises(ConfigError, match=message):
        check_trials(config, [], parameters, draw_trials(parameters, None, 0))


def test_values_of_all_types_reach_the_configuration(config):
    values = {
        "ppo.target_kl": 1e-5,
        "ppo.epochs": 3,
        "league.choice": "even",
        "ppo.learning_rate": {"start": 1.0, "end": 0.5},
        "checkpoint_minutes": None,
        "special_patches": "2014",
    }
    found = load_config(config, overrides(values))
    assert (found.ppo.target_kl, found.ppo.epochs, found.league.choice) == (1e-5, 3, "even")
    assert (found.ppo.learning_rate.start, found.special_patches) == (1.0, "2014")


# --- the command ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--param", "ppo.epochs=grid(0)"], "ppo.epochs is 0: Input should be greater than or equal to 1"),
        (
            ["--param", "seed=grid(0)", "--set", "evaluation.opponents=[]"],
            "evaluation.opponents is []; trials",
        ),
        (["--param", "seed=grid(0)", "--set", "evaluation.opponents=[nobody]"], "there is no agent 'nobody'"),
        (
            ["--param", "seed=grid(0)", "--against", "ppo"],
            "--against ppo: evaluation.opponents are random, greedy",
        ),
        (["--param", "seed=grid(0)", "--cluster", "here"], "cluster is 'here'; allowed are local, auto and"),
        (["--param", "seed=grid(0)", "--workers", "0"], "workers is 0; allowed are 1 to 100000"),
        (["--param", "seed=grid(0)", "--seed", "-1"], "seed is -1"),
        (
            ["--param", "seed=grid(0)", "--scheduler", "asha", "--grace", "640"],
            "--grace is 640; allowed are 1 to",
        ),
        (["--param", "seed=grid(0)", "--scheduler", "asha", "--reduction", "1"], "allowed are 2 to 1000"),
        (
            ["--param", "seed=grid(0)", "--set", "game=nmbr9", "algorithm=solo_td", "cluster.workers=1"],
            "cluster.workers is 1; trials have no workers of their own",
        ),
    ],
)
def test_errors_come_before_anything_is_written(config, tmp_path, capsys, arguments, message):
    folder = tmp_path / "sweep"
    if "game=nmbr9" in arguments:
        config.write_text("evaluation: {opponents: [greedy]}")
    assert main(["--config", str(config), *arguments, "--out", str(folder)]) == 2
    errors = capsys.readouterr().err
    assert errors.startswith("training.sweep: ")
    assert errors.count("\n") == 1
    assert message in errors
    assert not folder.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give NAME or --config for a new sweep, or --resume"),
        (["--config", "a", "--resume", "b"], "give NAME or --config for a new sweep, or --resume"),
        (["--resume", "b", "--trials", "3"], "--trials: only for new sweeps"),
        (["--config", "a", "--grace", "3"], "--grace: only for --scheduler asha"),
    ],
)
def test_options_that_do_not_go_together(capsys, arguments, message):
    with pytest.raises(SystemExit):
        main(arguments)
    assert message in capsys.readouterr().err


def test_a_resumed_sweep_has_its_cluster_and_its_workers(config, tmp_path, monkeypatch):
    asked, gone_on = [], []

    @contextmanager
    def connected(address, processors, who):
        asked.append((address, processors))
        yield SimpleNamespace(nodes=list)

    monkeypatch.setattr(sweep_command, "connected", connected)
    monkeypatch.setattr(sweep_command, "_go_on", lambda sweep, trials, most: gone_on.append(most) or 0)
    folder = str(tmp_path / "sweep")
    new = ["--config", str(config), "--param", "seed=grid(0, 1)", "--out", folder]
    assert main([*new, "--workers", "3", "--cluster", "auto"]) == 0
    assert main(["--resume", folder]) == 0
    assert main(["--resume", folder, "--workers", "2", "--cluster", "local"]) == 0
    assert asked == [("auto", 3), ("auto", 3), ("local", 2)]
    assert gone_on == [3, 3, 2]


def test_without_ray_it_is_the_sweep_that_needs_it(config, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "ray", None)
    folder = tmp_path / "sweep"
    assert main(["--config", str(config), "--param", "seed=grid(0)", "--out", str(folder)]) == 2
    assert "sweeps need ray" in capsys.readouterr().err
    assert not folder.exists()


def test_what_is_no_sweep_cannot_be_resumed(tmp_path, capsys):
    assert main(["--resume", str(tmp_path)]) == 2
    assert "is no sweep: it holds no sweep.json" in capsys.readouterr().err
    for contents in ("{", "[]", '{"format": "other", "version": 1}', '{"format": "patchwork-env sweep"}'):
        (tmp_path / "sweep.json").write_text(contents)
        assert main(["--resume", str(tmp_path)]) == 2
        assert "sweep.json " in capsys.readouterr().err


# --- files and tables -------------------------------------------------------------------------------------


def test_a_sweep_is_read_as_it_was_written(tmp_path):
    for folder, halving in ((tmp_path / "a", None), (tmp_path / "b", Halving(64, 3))):
        folder.mkdir()
        sweep = tiny_sweep(folder, 3, halving=halving)
        assert read_sweep(sweep.folder) == sweep
        assert sweep.config(2).seed == 2
        assert sweep.config(2).ppo.num_envs == 8


def test_ends_are_noted_and_failures_forgotten(tmp_path):
    sweep = tiny_sweep(tmp_path, 3)
    sweep.set_end(0, End(FINISHED))
    sweep.set_end(1, End(FAILED, "no space"))
    assert [sweep.end(trial) for trial in range(3)] == [End(FINISHED), End(FAILED, "no space"), None]
    sweep.forget_failures()
    assert [sweep.end(trial) for trial in range(3)] == [End(FINISHED), None, None]
    (sweep.folder / "trials" / "002.json").write_text("{")
    with pytest.raises(ValueError, match=r"002\.json is damaged"):
        sweep.end(2)


def test_a_trial_in_which_a_lost_process_still_works_has_not_failed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sweep = tiny_sweep(tmp_path, 1)
    sweep.run_folder(0).mkdir()
    shutil.copy(sweep.folder / "config.yaml", sweep.run_folder(0))
    job = {"sweep": str(sweep.folder), "trial": 0, "directory": str(tmp_path)}
    with sole_user(sweep.run_folder(0)), pytest.raises(InUseError):
        run_trial(job)
    assert sweep.end(0) is None


@pytest.fixture
def trained(tmp_path):
    """Five trials: three have runs, of which one was stopped early; one failed; one has not begun."""
    sweep = tiny_sweep(tmp_path, 5, Metric("score_difference", "random"))
    for trial in (0, 2, 3):
        config = sweep.folder / "config.yaml"
        folder = str(sweep.run_folder(trial))
        assert train.main(["--config", str(config), "--run-dir", folder, "--set", f"seed={trial}"]) == 0
    sweep.set_end(0, End(STOPPED))
    sweep.set_end(1, End(FAILED, "ValueError: no\nluck"))
    sweep.set_end(2, End(FINISHED))
    sweep.set_end(3, End(FINISHED))
    return sweep


@pytest.mark.slow
def test_the_table_has_the_best_first_and_failures_last(trained, capsys):
    rows = rows_of(trained)
    best, second = rows[0], rows[1]
    assert {best.trial, second.trial} == {2, 3}
    assert best.metric >= second.metric
    assert [row.trial for row in rows[2:]] == [0, 4, 1]
    match = next(match for match in best.matches if match["opponent"] == "random")
    assert best.metric == match["score_difference"]
    assert best.steps == 640

    assert write_results(trained) == rows
    lines = (trained.folder / "results.txt").read_text().splitlines()
    assert lines[0] == "by score difference against random, with 95% intervals"
    low, high = match["win_rate_interval"]
    least, most = match["score_difference_interval"]
    cells = " ".join(lines[3].split())
    assert f" 640 {best.minutes:.1f} {best.metric:.2f} ({least:.2f} to {most:.2f}) " in cells
    assert f" {match['win_rate']:.1%} ({low:.1%} to {high:.1%}) " in cells
    assert [line.split()[0] for line in lines[3:8]] == [f"{row.trial:03}" for row in rows]
    assert lines[-1] == "trial 001 failed: ValueError: no luck"

    # When all trials have ended, the table can be seen again without Ray.
    trained.set_end(1, End(STOPPED))
    trained.set_end(4, End(STOPPED))
    capsys.readouterr()
    assert main(["--resume", str(trained.folder)]) == 0
    output = capsys.readouterr().out
    assert "5 of 5 trials have ended" in output
    *_, said, again = output.splitlines()
    assert said.endswith("with config.yaml and final/")

    # The winner has played again on circles that it was not chosen by, and does so once.
    winner = json.loads((trained.folder / "winner.json").read_text())
    measured = winner["match"]
    assert (winner["trial"], winner["steps"]) == (best.trial, best.steps)
    assert (measured["opponent"], measured["seed"], match["seed"]) == ("random", 1, 0)
    low, high = measured["win_rate_interval"]
    assert again.startswith(
        "measured again, on circles or decks that no trial was chosen by: score difference "
    )
    assert again.endswith(f", wins {measured['win_rate']:.1%} ({low:.1%} to {high:.1%}) against random")
    shutil.rmtree(trained.run_folder(best.trial) / "final")
    assert main(["--resume", str(trained.folder)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == again


@pytest.mark.slow
def test_runs_tell_of_their_evaluations(config, tmp_path):
    told = []
    with ExitStack() as stack:
        run = training.new_run(load_config(config), tmp_path / "run", stack)
        run.evaluated = told.append
        assert training.train(run) == 0
    assert [file.name for file in told] == ["step_0000000320.json", "step_0000000640.json"]
    assert all(file.is_file() for file in told)

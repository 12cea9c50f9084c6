"""Sweeps on this machine: parameters, processes, tables, early ends, failures, and going on."""

import csv
import json
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

from patchwork_env import cli
from patchwork_env.errors import ConfigError, WorkerError
from patchwork_env.learning.commands.sweep import main
from patchwork_env.learning.config import load_config
from patchwork_env.learning.sweeps import sweep as sweep_module
from patchwork_env.learning.sweeps.sweep import (
    Sweep,
    SweepSettings,
    begin_sweep,
    check_trials,
    draw_trials,
    parse_parameter,
    run_trial,
)
from patchwork_env.learning.system import exclusive_lock
from tests.learning.same_runs import ROOT, environment, start_run, tensors_of

TINY = """
total_steps: 640
checkpoint_every: 5
network: {width: 8, depth: 1, channels: 4}
ppo: {num_envs: 8, rollout_steps: 8, minibatch_size: 32, epochs: 1}
league: {fraction: 0.5, snapshot_every: 2, size: 3, opponents: 2}
evaluation: {every: 5, games: 2, final_games: 4, opponents: [random, greedy]}
"""


SETTINGS = SweepSettings(("seed=integer(0, 9)",), "win_rate", "random", "random", 0)


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "tiny.yaml"
    path.write_text(TINY)
    return path


def tiny_sweep(folder, count, **settings):
    """A sweep over the seed that has just begun."""
    source = folder / "tiny.yaml"
    source.write_text(TINY)
    (folder / "sweep").mkdir()
    trials = [{"seed": number} for number in range(count)]
    return begin_sweep(folder / "sweep", load_config(source), replace(SETTINGS, **settings), trials)


# --- parameters -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "form", "values"),
    [
        ("ppo.epochs=choice(1, 2,4)", "choice", ("1", "2", "4")),
        (" ppo.epochs = grid( 1 ) ", "grid", ("1",)),
        ("ppo.learning_rate.start=loguniform(1e-4,1e-2)", "loguniform", (1e-4, 1e-2)),
        ("reward.margin=uniform(0, 1)", "uniform", (0, 1)),
        ("network.depth=integer(1, 3)", "integer", (1, 3)),
        ("league.choice=grid(hard, even)", "grid", ('"hard"', '"even"')),
        ("ppo.learning_rate=grid({start: 1e-3, end: 0})", "grid", ('{"start": 0.001, "end": 0}',)),
        ("ppo.target_kl=choice(null, 0.01)", "choice", ("null", "0.01")),
    ],
)
def test_parameters_are_parsed(text, form, values):
    key = text.partition("=")[0].strip()
    assert parse_parameter(text) == (key, form, values, text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ppo.epochs", r"--param ppo.epochs: must be KEY=FORM, where FORM is one of choice\(a, b, ...\), g"),
        ("ppo.epochs=normal(0, 1)", r"uniform\(low, high\)"),
        ("ppo.epochs=choice(1, 2", "must be KEY=FORM"),
        ("ppo.epochs=choice()", "takes at least one value"),
        ("ppo.epochs=grid(1, 2, 1)", "takes at least one value, and each once"),
        ("reward.margin=uniform(1, 0)", "takes two numbers, the lower one first"),
        ("ppo.epochs=integer(1, 2.5)", "takes two integers, the lower one first"),
        ("reward.margin=uniform(0, .inf)", r"numbers from -1e\+15 to 1e\+15 are allowed"),
        ("ppo.epochs=integer(0, 1000000000000000000000)", r"numbers from -1e\+15 to 1e\+15 are allowed"),
        ("logging=grid(2001-01-01)", "values are numbers, texts, true, false, null and lists"),
        ("reward.margin=loguniform(0, 1)", "low is 0; it must be above 0"),
        ("evaluation.games=grid(2, 4)", "evaluation.games is alike in all trials"),
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
        (("ppo.epochs", epochs), ("network.depth", depth)) for epochs in "12" for depth in "34"
    ]
    assert draw("a.b=grid(1)", "a.bc=grid(2)") == [{"a.b": "1", "a.bc": "2"}]  # keys that begin alike


def test_ranges_are_drawn_evenly_on_their_scales():
    texts = "a=uniform(1, 3)", "b=loguniform(1e-4, 1)", "c=integer(0, 3)", "d=choice(x, y)"
    trials = draw(*texts, trials=400)
    a, b, c = (np.array([trial[key] for trial in trials]) for key in "abc")
    assert 1 <= a.min() < 1.05
    assert 2.95 < a.max() <= 3
    assert abs(a.mean() - 2) < 0.1
    assert 1e-4 <= b.min() < 1.5e-4
    assert abs((b < 1e-2).mean() - 0.5) < 0.08
    assert np.bincount(c).min() > 80
    assert len(np.bincount(c)) == 4
    assert abs(np.mean([trial["d"] == '"x"' for trial in trials]) - 0.5) < 0.08


def test_every_combination_has_draws_of_its_own_and_a_seed_repeats_them():
    texts = "ppo.epochs=grid(1, 2)", "reward.margin=uniform(0, 1)"
    trials = draw(*texts, trials=3)
    assert [trial["ppo.epochs"] for trial in trials] == list("111222")
    assert len({trial["reward.margin"] for trial in trials}) == 6
    assert trials == draw(*texts, trials=3)
    assert trials != draw(*texts, trials=3, seed=1)
    all_values = draw("a=choice(1, 2, 3)", "b=choice({x: 1}, null)", trials=6)
    assert len({json.dumps(trial) for trial in all_values}) == 6  # no two are alike


@pytest.mark.parametrize(
    ("texts", "trials", "message"),
    [
        ([], None, "a sweep needs parameters: --param KEY=FORM"),
        (["a=choice(1, 2)"], 3, "--trials is 3, but the parameters have only 2 different values"),
        (["a=choice(1, 2)"], 0, "with 0 trials each; allowed are 1 to 1,000"),
        (["a=uniform(1, 2)"], 10**9, "with 1,000,000,000 trials each; allowed are 1 to 1,000"),
        (["a=uniform(1, 2)", "b=grid(1, 2)"], 9000, "2 combinations of the grids, with 9,000 trials each"),
        (["a=grid(1, 2)"], 3, "--trials is 3, but all parameters are grids"),
        (["a.b=grid(1, 2)", "a=grid({b: 1})"], None, r"a.b=grid\(1, 2\) and a=grid\(\{b: 1\}\) are about"),
        (["ab=grid(1, 2)", "ab=grid(3)"], None, "are about the same key"),
    ],
)
def test_trials_that_cannot_be(texts, trials, message):
    with pytest.raises(ConfigError, match=message):
        draw(*texts, trials=trials)


def test_values_are_checked_against_the_configuration(config):
    for text, message in (
        ("ppo.epoch=grid(1, 2)", r"--param ppo.epoch=grid\(1, 2\): unknown key 'ppo.epoch'; did you mean"),
        ("ppo.epochs=grid(1, 0)", r"--param ppo.epochs=grid\(1, 0\): ppo.epochs is 0"),
        ("ppo.epochs=choice(2, 1, 3, 4, 5, 6, 7, 8, 9, -5)", "ppo.epochs is -5"),
        ("ppo.epochs=uniform(1, 2)", "ppo.epochs is 1.[0-9]+: Input should be a valid integer"),
        ("td.games=grid(8, 16)", "the section 'td' is of no use to the algorithm 'ppo'"),
        ("reward.outcome=grid(0)", r"there would be nothing to learn \(with reward.outcome=0\)"),
    ):
        parameters = [parse_parameter(text)]
        with pytest.raises(ConfigError, match=message):
            check_trials(config, [], parameters, draw_trials(parameters, None, 0))


# --- the command ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--param ppo.epochs=grid(0)", "ppo.epochs is 0"),
        ("--set evaluation.opponents=[]", "evaluation.opponents is []; trials"),
        ("--set evaluation.opponents=[nobody]", "there is no agent 'nobody'"),
        ("--against ppo", "--against ppo: evaluation.opponents are random, greedy"),
        ("--cluster here", "cluster is 'here'; allowed are local, auto and"),
        ("--workers 0", "workers is 0; allowed are 1 to 1024"),
        ("--seed -1", "seed is -1"),
        ("--scheduler asha --grace 640", "--grace is 640; allowed are 1 to"),
        ("--scheduler asha --reduction 1", "allowed are 2 to 1000"),
        ("--set game=nmbr9 algorithm=solo_td cluster.workers=1", "no workers of"),
    ],
)
def test_errors_come_before_anything_is_written(config, tmp_path, capsys, words, message):
    folder = tmp_path / "sweep"
    if "game=nmbr9" in words:
        config.write_text("evaluation: {opponents: [greedy]}")
    arguments = ["--config", str(config), "--out", str(folder), "--param", "seed=grid(0)"]
    assert main([*arguments, *words.split()]) == 2
    errors = capsys.readouterr().err
    assert errors.startswith("training.sweep: ")
    assert errors.count("\n") == 1
    assert message in errors
    assert not folder.exists()


def test_options_that_do_not_go_together(capsys):
    for words, message in (
        ("", "give NAME or --config for a new sweep, or --resume"),
        ("--config a --resume b", "give NAME or --config for a new sweep, or --resume"),
        ("--resume b --trials 3", "--trials: only for new sweeps"),
        ("--config a --grace 3", "--grace: only for --scheduler asha"),
    ):
        with pytest.raises(SystemExit):
            main(words.split())
        assert message in capsys.readouterr().err


def test_a_resumed_sweep_has_its_settings_and_its_trials(config, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(Sweep, "train", lambda sweep, *arguments: asked.append(arguments) or ())
    folder = tmp_path / "sweep"
    new = ["--config", str(config), "--param", "seed=grid(0, 1)", "--out", str(folder)]
    assert main([*new, "--workers", "3", "--cluster", "auto"]) == 2  # no trial has finished
    assert main(["--resume", str(folder)]) == 2
    assert main(["--resume", str(folder), "--workers", "2", "--cluster", "local"]) == 2
    assert asked == [([0, 1], 3, "auto"), ([0, 1], 3, "auto"), ([0, 1], 2, "local")]
    assert [Sweep(folder).trial(number).params for number in (0, 1)] == [{"seed": "0"}, {"seed": "1"}]
    assert [row.state for row in Sweep(folder).rows()] == ["unfinished"] * 2


def test_without_optuna_it_is_the_sweep_that_needs_it(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "optuna", None)
    monkeypatch.delitem(sys.modules, "patchwork_env.learning.sweeps.sweep")
    assert cli.main(["sweep", "--resume", str(tmp_path)]) == 2
    assert "it needs optuna: pip install" in capsys.readouterr().err


def test_what_is_no_sweep_cannot_be_resumed(tmp_path, capsys):
    begun = (tiny_sweep(tmp_path, 1).folder / "study.jsonl").read_text()
    assert main(["--resume", str(tmp_path)]) == 2
    assert "is no sweep: it holds no study.jsonl" in capsys.readouterr().err
    for contents in ("{\n{\n", "[]\n", "", '{"op_code": 99}\n', begun.replace("win_rate", "x", 1)):
        (tmp_path / "study.jsonl").write_text(contents)
        assert main(["--resume", str(tmp_path)]) == 2
        assert "study.jsonl is damaged" in capsys.readouterr().err


# --- trials -----------------------------------------------------------------------------------------------


def test_half_a_line_and_failures_are_no_obstacle(tmp_path):
    sweep = tiny_sweep(tmp_path, 2)
    sweep.trial(0).set_user_attr("error", "no space")
    assert sweep.rows()[-1].state == "failed"
    with (sweep.folder / "study.jsonl").open("a") as file:
        file.write('{"op_code": 7, "wor')
    again = Sweep(sweep.folder)
    again.mend()
    again.study.tell(1, 0.5)
    assert [row.state for row in Sweep(sweep.folder).rows()] == ["finished", "unfinished"]


def test_a_sampler_draws_what_a_trial_lacks_and_a_trial_keeps_it(config, tmp_path):
    texts = ("ppo.epochs=grid(1, 2)", "reward.margin=uniform(0, 1)")
    settings = replace(SETTINGS, parameters=texts, sampler="tpe")
    trials = draw_trials([parse_parameter(text) for text in texts], 2, 0, "tpe")
    assert [trial["ppo.epochs"] for trial in trials] == ["1", "1", "2", "2"]
    (tmp_path / "sweep").mkdir()
    sweep = begin_sweep(tmp_path / "sweep", load_config(config), settings, trials)
    drawn = sweep.trial(2).params
    assert drawn["ppo.epochs"] == "2"
    assert 0 <= drawn["reward.margin"] <= 1
    assert Sweep(sweep.folder).trial(2).params == drawn


def test_a_trial_waits_for_a_lost_process_that_still_works(tmp_path, monkeypatch):
    sweep = tiny_sweep(tmp_path, 1)
    run = sweep.run_folder(0)
    run.mkdir()
    (run / "config.yaml").write_text(TINY)
    monkeypatch.setattr(sweep_module, "_SECONDS_FOR_LOST_PROCESS", 0)
    monkeypatch.chdir(tmp_path)
    with exclusive_lock(run):
        run_trial((str(sweep.folder), str(tmp_path)), 0)
    (row,) = sweep.rows()
    assert (row.state, "is in use: another process works there" in row.error) == ("failed", True)


def test_lost_processes_are_replaced_until_that_happens_too_often(tmp_path, monkeypatch):
    sweep, asked = tiny_sweep(tmp_path, 3), []

    def do_in_processes(function, place, numbers, most):
        asked.append((list(numbers), most))
        sweep.study.tell(numbers[0], 0.5)
        yield 0, None
        raise WorkerError("lost")

    monkeypatch.setattr(sweep_module, "do_in_processes", do_in_processes)
    assert set(sweep.train([0, 1, 2], 2, None)) == {0, 1, 2}
    assert [numbers for numbers, _ in asked] == [[0, 1, 2], [1, 2], [2]]


def test_successive_halving_ends_trials_early(tmp_path):
    """Of trials that have come to a rung, those below the best half end; none does at its last evaluation."""
    sweep = tiny_sweep(tmp_path, 3, grace=100, reduction=2)
    trials = [sweep.trial(number) for number in range(3)]
    for number, value, steps, is_ended in (
        (0, 0.5, 100, False),
        (1, 0.1, 50, False),
        (1, 0.1, 100, True),
        (2, 0.9, 100, False),
    ):
        trials[number].report(value, steps)
        assert trials[number].should_prune() == is_ended


# --- whole sweeps -----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_whole_sweep(config, tmp_path, capsys):
    """One trial fails, the others are compared; what has ended is left alone when the sweep goes on."""
    folder = tmp_path / "sweep"
    rates = "ppo.learning_rate=grid({start: 1e30, end: 1e30}, {start: 1e-3, end: 1e-3}, 2e-3)"
    arguments = ["--config", str(config), "--set", "ppo.minibatch_size=100", "--out", str(folder)]
    assert main([*arguments, "--param", rates, "--metric", "score", "--against", "random"]) == 0
    output, sweep, trial = capsys.readouterr().out, Sweep(folder), folder / "trials" / "001"
    best, second, failed = sweep.rows()
    assert (failed.number, failed.state) == (0, "failed")
    assert failed.error.startswith("DivergenceError: training diverged: the loss is nan")
    assert f"trial 000 failed: {failed.error}" in output
    assert f"best: {folder / 'trials' / f'{best.number:03}'}" in output
    assert sweep.metric_of(best.evaluation) >= sweep.metric_of(second.evaluation)
    config_of_trial = load_config(trial / "config.yaml")
    assert (config_of_trial.ppo.learning_rate.end, config_of_trial.threads) == (1e-3, 1)
    assert "640 steps in" in trial.with_suffix(".log").read_text()

    with (folder / "results.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["trial"] for row in rows] == [str(row.number) for row in (best, second, failed)]
    match = best.evaluation.match("random")
    assert float(rows[0]["score_against_random"]) == match.score
    assert float(rows[0]["win_rate_low_against_random"]) == match.win_rate_interval[0]
    assert rows[2]["error"] == failed.error

    # The winner has played again on circles that it was not chosen by, and does so once.
    winner = json.loads((folder / "winner.json").read_text())
    assert (winner["trial"], winner["steps"]) == (best.number, 640)
    assert (winner["match"]["opponent"], winner["match"]["seed"], match.seed) == ("random", 1, 0)
    again, before = output.splitlines()[-1], tensors_of(trial / "final")
    assert again.startswith("measured again, on circles or decks that no trial was chosen by: wins ")
    assert main(["--resume", str(folder)]) == 0
    output = capsys.readouterr().out
    assert "2 of 3 trials have ended" in output
    assert output.splitlines()[-1] == again
    assert tensors_of(trial / "final") == before
    kept = {"config.yaml", "lock", "results.csv", "study.jsonl", "trials", "winner.json"}
    assert {path.name for path in folder.iterdir()} == kept


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_signal_saves_trials_that_go_on_to_the_same_end(config, tmp_path, monkeypatch):
    folder = tmp_path / "sweep"
    run = folder / "trials" / "001"
    command = [sys.executable, "-m", "training.sweep", "--config", config, "--out", folder, "--workers", "1"]
    command += ["--set", "evaluation.every=1000", "checkpoint_every=1000"]
    command += ["--param", "total_steps=grid(64, 3200)"]
    with subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        metrics, deadline = run / "metrics.jsonl", time.monotonic() + 120
        while not (metrics.is_file() and metrics.read_text().count("\n") > 3):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
    assert "trial 000 finished" in output
    assert f"stopped by SIGTERM; go on with --resume {folder}" in output
    assert len(list(run.glob("checkpoints/step_*"))) == 2  # the first one, and that of the signal
    assert [row.state for row in Sweep(folder).rows()] == ["finished", "unfinished"]
    monkeypatch.chdir(ROOT)
    run_trial((str(folder), str(ROOT)), 1)
    assert [row.state for row in Sweep(folder).rows()] == ["finished", "finished"]
    assert start_run(run / "config.yaml", tmp_path / "alone") == 0
    assert tensors_of(run / "final") == tensors_of(tmp_path / "alone" / "final")

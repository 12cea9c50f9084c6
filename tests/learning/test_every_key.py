"""Every key of a configuration has its effect: a table of runs in which one key differs.

A row has a run, overrides, the first of which is that of its key, a measurement of the trainer, and its
result. Without the first override, the result must differ.
"""

import hashlib

import numpy as np
import pytest

from patchwork_env.learning.algorithms.common.trainer import make_trainer
from patchwork_env.learning.config import algorithms, load_config
from patchwork_env.learning.config.loading import keys_of
from patchwork_env.learning.runs.folder import evaluation_files
from patchwork_env.patchwork import Game
from tests.learning.algorithms.alphazero import test_against_naive as alphazero_twin
from tests.learning.algorithms.ppo import test_against_naive as ppo_twin
from tests.learning.algorithms.td import test_against_naive as td_twin
from tests.learning.same_runs import checkpoints_of, evaluations_of, metrics_of, start_run, tensors_of
from tests.learning.tiny_runs import TINY_RUNS

TWINS = {"ppo": ppo_twin, "alphazero": alphazero_twin, "td": td_twin, "solo_td": td_twin}
"""Tests of these files compare the keys in their cases with formulas of papers."""
ELSEWHERE = {
    "algorithm": "each has a tiny run",
    "game": "each has a tiny run",
    "device": "tests/learning/test_another_device.py",
    "cluster": "tests/learning/distributed",
    "checkpoint_minutes": "tests/learning/runs",
    "threads": "tests/learning/algorithms/td/test_trainer.py",
}
NOTED = {
    "description": "another",
    "tracker": "none",
    "checkpoint_every": "3",
    "evaluation.every": "2",
    "evaluation.seed": "7",
    "evaluation.games": "4",
    "evaluation.final_games": "6",
    "evaluation.opponents": "[greedy,random]",
}
"""Keys that change the files of a run, but no weights."""


def iterations(trainer, number):
    for _ in range(number):
        trainer.step()
    return trainer


def turns(trainer):
    return iterations(trainer, 1).steps


def digest(*arrays):
    return hashlib.sha256(b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)).hexdigest()[:8]


def shape(name):
    return lambda trainer: tuple(trainer.network.state_dict().get(name, np.empty(0)).shape)


def played(trainer):
    """A digest of the first games."""
    examples, _ = trainer.play_here()
    return digest(examples.states)


def games(trainer):
    """How many of the first positions have two empty quilts and no time passed."""
    states = trainer.play_here()[0].states
    return int((~states["quilt"].any(axis=(1, 2)) & ~states["position"].any(axis=1)).sum())


def targets(trainer):
    return set(np.unique(trainer.play_here()[0].targets[:, 2]).tolist())


def model(name):
    def measured(trainer):
        found = getattr(trainer.model, name)
        return found(1.0) if callable(found) else found

    return measured


def entropy_coefficient(trainer):
    return iterations(trainer, 1).model.ent_coef


def rewards(trainer):
    """The largest reward of the first games."""
    rollout = trainer.self_play.collect(trainer.network, {}, 50, trainer.random)
    return float(np.abs(rollout.decisions.rewards).max())


def looks_ahead(trainer):
    return iterations(trainer, 1).network.looks_ahead


def snapshots(trainer):
    return len(iterations(trainer, 4).pool.snapshots)


def rate_after_a_win(trainer):
    """The win rate against a snapshot that the learner first lost against and then beat."""
    pool = trainer.pool
    pool.add(trainer.network)
    for wins in (0, 40):
        pool.record({0: wins}, {0: 40})
    return round(pool.win_rates()[0], 1)


SMALLER = {
    "ppo": ["ppo.rollout_steps=4", "ppo.epochs=1"],
    "alphazero": ["alphazero.num_envs=5", "alphazero.rollout_steps=3", "alphazero.gradient_steps=1"],
}
OTHER = "anything else"
"""Stands for any result that differs from the one without the override."""
ROWS = [
    ("ppo", ("special_patches=2014",), lambda t: digest(t.env.states), OTHER),
    ("ppo", ("seed=6",), lambda t: digest(t.env.states), OTHER),
    ("ppo", ("total_steps=33",), lambda t: iterations(t, 2).is_done, True),
    ("ppo", ("total_steps=32",), lambda t: iterations(t, 1).is_done, True),
    ("ppo", ("network.width=24",), shape("trunk.0.bias"), (24,)),
    ("ppo", ("network.depth=3",), lambda t: len(t.network.trunk) // 2, 3),
    ("ppo", ("network.channels=6",), shape("special_key"), (6,)),
    ("ppo", ("network.features=false",), shape("placement.weight"), (0,)),
    ("ppo", ("network.offers=true",), lambda t: shape("kind_hidden.weight")(t)[1], OTHER),
    ("ppo", ("network.lookahead=true",), looks_ahead, True),
    ("ppo", ("ppo.lookahead_from=0.9", "network.lookahead=true"), looks_ahead, False),
    ("ppo", ("ppo.averaging_power=null",), lambda t: t.trained is t.network, True),
    ("ppo", ("reward.outcome=0.5",), rewards, 0.5),
    ("ppo", ("reward.margin=2", "reward.margin_scale=1", "reward.margin_cut=1"), rewards, 3.0),
    ("ppo", ("reward.margin_scale=1", "reward.margin=2", "reward.margin_cut=1"), rewards, 3.0),
    ("ppo", ("reward.margin_cut=0.5", "reward.margin_scale=1", "reward.margin=2"), rewards, 2.0),
    ("ppo", ("league.fraction=0",), snapshots, 0),
    ("ppo", ("league.snapshot_every=3", "league.size=9"), snapshots, 1),
    ("ppo", ("league.size=3",), snapshots, 3),
    ("ppo", ("league.opponents=1",), lambda t: len(iterations(t, 4).pool.opponents), 1),
    ("ppo", ("league.choice=uniform",), lambda t: t.pool.config.choice, "uniform"),
    ("ppo", ("league.half_life=1",), rate_after_a_win, 0.6),
    ("ppo", ("ppo.num_envs=4",), turns, 16),
    ("ppo", ("ppo.rollout_steps=5",), turns, 40),
    ("ppo of nmbr9", ("ppo.points=0.25",), lambda t: t.self_play.points, 0.25),
    ("ppo", ("ppo.precision=bfloat16",), lambda t: str(t.network.trunk.dtype), "torch.bfloat16"),
    ("alphazero", ("alphazero.num_envs=4",), turns, 12),
    ("alphazero", ("alphazero.rollout_steps=2",), turns, 10),
    ("alphazero", ("alphazero.simulations=8",), played, OTHER),
    ("alphazero", ("alphazero.max_considered=2",), played, OTHER),
    ("alphazero", ("alphazero.c_scale=1000",), lambda t: digest(t.play_here()[0].policies), OTHER),
    ("alphazero", ("alphazero.window=1",), lambda t: len(iterations(t, 2).window), 1),
    ("alphazero", ("alphazero.td_lambda=0",), lambda t: digest(t.play_here()[0].returns), OTHER),
    ("alphazero", ("alphazero.evaluation_simulations=0",), lambda t: type(t.agent()).__name__, "PolicyAgent"),
    ("td", ("td.games=3", "td.openings=0"), games, 3),
    ("td", ("td.candidate_placements=1",), played, OTHER),
    ("td", ("td.exploration=1", "td.temperature=100"), played, OTHER),
    ("td", ("td.temperature=100", "td.exploration=1"), played, OTHER),
    ("td", ("td.td_lambda=1", "td.exploration=0", "td.scripted_player_fraction=0"), targets, {0.0, 1.0}),
    ("td", ("td.window=2",), lambda t: len(iterations(t, 3).window), 2),
    (
        "td",
        ("td.openings=1", "td.scripted_player_fraction=0"),
        lambda t: t.play_here()[1].get("turns_per_game"),
        None,
    ),
    ("td", ("td.scripted_player_fraction=1", "td.openings=0"), lambda t: t.play_here()[1].get("score"), None),
    ("td", ("td.rival_weight=0",), played, OTHER),
    ("td", ("reward.outcome=0",), played, OTHER),
    ("td", ("reward.margin=50",), played, OTHER),
    ("solo_td", ("solo_td.games=3",), turns, 60),
    ("solo_td", ("solo_td.candidate_placements=1",), played, OTHER),
    ("solo_td", ("solo_td.exploration=1", "solo_td.temperature=100"), played, OTHER),
    ("solo_td", ("solo_td.temperature=100", "solo_td.exploration=1"), played, OTHER),
    ("solo_td", ("solo_td.td_lambda=0",), lambda t: digest(t.play_here()[0].targets), OTHER),
    ("solo_td", ("solo_td.window=2",), lambda t: len(iterations(t, 3).window), 2),
    ("maskable_ppo", ("maskable_ppo.num_envs=4",), model("n_envs"), 4),
    ("maskable_ppo", ("maskable_ppo.rollout_steps=8",), model("n_steps"), 8),
    ("maskable_ppo", ("maskable_ppo.minibatch_size=32",), model("batch_size"), 32),
    ("maskable_ppo", ("maskable_ppo.epochs=3",), model("n_epochs"), 3),
    ("maskable_ppo", ("maskable_ppo.learning_rate=0.5",), model("lr_schedule"), 0.5),
    ("maskable_ppo", ("maskable_ppo.entropy_coefficient=0.25",), entropy_coefficient, 0.25),
    ("maskable_ppo", ("maskable_ppo.value_coefficient=3",), model("vf_coef"), 3),
    ("maskable_ppo", ("maskable_ppo.clip_range=0.7",), model("clip_range"), 0.7),
    ("maskable_ppo", ("maskable_ppo.gamma=0.5",), model("gamma"), 0.5),
    ("maskable_ppo", ("maskable_ppo.gae_lambda=0.5",), model("gae_lambda"), 0.5),
    ("maskable_ppo", ("maskable_ppo.max_gradient_norm=7",), model("max_grad_norm"), 7),
    ("maskable_ppo", ("maskable_ppo.target_kl=0.5",), model("target_kl"), 0.5),
    ("maskable_ppo of nmbr9", ("maskable_ppo.points=2",), lambda t: t.env._scale, 2),
    ("maskable_ppo of nmbr9", ("network.width=24",), shape("trunk.0.bias"), (24,)),
]


def test_every_key_has_a_row():
    with_rows = {overrides[0].partition("=")[0] for _, overrides, *_ in ROWS} | NOTED.keys()
    for algorithm, twin in TWINS.items():
        of_cases = {key for changed in twin.CASES.values() for key in changed}
        with_rows |= {f"{algorithm}.{key}" for key in of_cases}
    known = {key.name for config in algorithms().values() for key in keys_of(config())}
    without = {key for key in known - with_rows if key.partition(".")[0] not in ELSEWHERE}
    assert not without
    assert {key.partition(".")[0] for key in known} >= ELSEWHERE.keys()


@pytest.mark.parametrize(
    ("run", "overrides", "measure", "expected"), ROWS, ids=[f"{run}-{row[0]}" for run, row, *_ in ROWS]
)
def test_a_key_does_what_it_says(run, overrides, measure, expected, tmp_path):
    path = tmp_path / "tiny.yaml"
    path.write_text(TINY_RUNS[run])
    base = SMALLER.get(run, [])
    found, without = (
        measure(make_trainer(load_config(path, [*base, *given]))) for given in (overrides, overrides[1:])
    )
    assert found != without
    assert expected in (OTHER, found)


@pytest.mark.slow
def test_what_is_noted_of_a_run_changes_no_weight(tmp_path):
    path = tmp_path / "tiny.yaml"
    path.write_text(TINY_RUNS["td"])
    overrides = [f"{key}={value}" for key, value in NOTED.items()]
    assert start_run(path, tmp_path / "plain", "checkpoint_every=1") == 0
    assert start_run(path, tmp_path / "noted", *overrides) == 0
    plain, noted = tmp_path / "plain", tmp_path / "noted"
    assert tensors_of(plain / "final") == tensors_of(noted / "final")
    assert tensors_of(checkpoints_of(plain)[-1]) == tensors_of(checkpoints_of(noted)[-1])
    ends = [line["steps"] for line in metrics_of(noted) if "losses/loss" in line]
    saved = sorted({0, *ends[2:-1:3], *ends[1:-1:2]})  # every three iterations and before evaluations
    assert [int(folder.name[-10:]) for folder in checkpoints_of(noted)[:-1]] == saved
    assert list(evaluation_files(noted)) == sorted({*ends[1::2], ends[-1]})
    for evaluation, number in zip(evaluations_of(noted)[::-1], (6, 4, 4, 4, 4), strict=False):
        played = [(match.opponent, match.games, match.seed) for match in evaluation.matches]
        assert played == [("greedy", number, 7), ("random", number, 7)]
        circles = {Game.from_notation(game.notation).root().circle for game in evaluation.sample_games}
        assert circles == {Game(7).circle}
    assert list(plain.glob("events*"))
    assert not list(noted.glob("events*"))
    assert load_config(noted / "config.yaml").description == "another"

"""What a run keeps and shows of its evaluations."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from patchwork_env import agents
from patchwork_env.games import rules_of
from patchwork_env.learning.algorithms.common.trainer import Trainer
from patchwork_env.learning.algorithms.ppo.config import PpoConfig
from patchwork_env.learning.evaluation.gauntlet import rating_metrics
from patchwork_env.learning.evaluation.matches import play_matches
from patchwork_env.learning.evaluation.records import EVALUATION_FORMAT, EVALUATION_VERSION, read_evaluation
from patchwork_env.learning.evaluation.results import MatchResult, milestones, picture, position_after
from patchwork_env.learning.evaluation.runners import AGENT
from patchwork_env.learning.runs import evaluations as evaluations_module
from patchwork_env.learning.runs.evaluations import choose_best, forget_later, metrics, record
from patchwork_env.learning.runs.folder import best_file, candidate_folders, interval_metrics
from patchwork_env.learning.runs.loggers import Log
from patchwork_env.patchwork.render import MissingExtraError, rgb_array
from tests.learning.same_runs import evaluations_of, metrics_of

OPPONENTS = ("random", "greedy")


class Unlearning(Trainer):
    """Never learns, and plays at random."""

    def step(self):
        return self._count_iteration(100, 0.0) | {"losses/nothing": 0.0}

    def agent(self):
        return agents.load("random")

    def write_policy(self, folder):
        (folder / "nothing").touch()


def trainer_of(game: str) -> Trainer:
    config = PpoConfig(evaluation={"opponents": OPPONENTS}).model_copy(update={"game": game})
    trainer = Unlearning(config)
    trainer.step()
    trainer.seconds = 90.0
    return trainer


@pytest.fixture
def trainer() -> Trainer:
    return trainer_of("patchwork")


@pytest.fixture(scope="module")
def results() -> list[MatchResult]:
    return [play_matches("random", opponent, 8, keep=2) for opponent in OPPONENTS]


def events_of(folder: Path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    accumulator = EventAccumulator(str(folder))
    accumulator.Reload()
    return accumulator


def add(folder: Path, trainer: Trainer, *evaluations: list[MatchResult]) -> None:
    """Starts, or goes on with, a run, and adds evaluations an iteration apart."""
    log = Log(folder, trainer.steps, trainer.config)
    forget_later(folder, trainer.steps)
    for number, results in enumerate(evaluations):
        trainer.steps = 100 * (number + 1)
        record(folder, trainer, results, log)
    log.close()


@pytest.mark.parametrize("game", ["patchwork", "nmbr9"])
def test_the_file_holds_the_results_and_games_that_can_be_replayed(tmp_path, game: str) -> None:
    trainer, rules = trainer_of(game), rules_of(game)
    results = [play_matches("random", opponent, 8, game=game, keep=2) for opponent in OPPONENTS]
    add(tmp_path, trainer, results)
    path = tmp_path / "evaluations" / "step_0000000100.json"
    contents = json.loads(path.read_text())
    heading = contents.pop("format"), contents.pop("version")
    assert heading == (EVALUATION_FORMAT, EVALUATION_VERSION)
    (read,) = evaluations_of(tmp_path)
    assert [match.win_rate for match in read.matches] == [result.win_rate for result in results]
    assert (contents["steps"], contents["iteration"], contents["minutes"]) == (100, 1, 1.5)
    assert (contents["game"], contents["algorithm"]) == (game, "ppo")
    assert "core" in contents["machine"]
    assert contents["matches"] == [result.as_dict() for result in results]
    played = [(result, i) for result in results for i in (0, 1)]
    for sample, (result, i) in zip(contents["sample_games"], played, strict=True):
        replayed = rules.game.from_notation(sample["notation"])
        seat = int(result.games.seats[i])
        assert replayed.is_over
        assert sample["opponent"] == result.opponent
        assert (sample["players"][seat], sample["players"][1 - seat]) == ("random", result.opponent)
        assert sample["scores"] == list(replayed.scores())
        winner = {1.0: seat, 0.0: 1 - seat, 0.5: None}[float(result.games.agent_wins[i])]
        assert sample["winner"] == winner
    names = {name for line in metrics_of(tmp_path) for name in line}
    assert {f"evaluation/win_rate_against_{opponent}" for opponent in OPPONENTS} < names
    assert any("gauntlet" in name for name in names) == (game == "patchwork")


def test_what_is_of_later_steps_than_the_run_is_deleted_and_three_candidates_stay(
    tmp_path, trainer, results
) -> None:
    weak, strong = [results[1]], [results[0]]
    assert weak[0].win_rate < strong[0].win_rate
    add(tmp_path, trainer, weak, strong, weak, strong, strong)
    assert list(candidate_folders(tmp_path)) == [200, 400, 500]
    best = choose_best(
        tmp_path,
        {steps: weak if steps < 500 else strong for steps in candidate_folders(tmp_path)},
    )
    assert best == read_evaluation(best_file(tmp_path)).steps == 500
    assert (tmp_path / "best" / "nothing").is_file()
    for steps, candidates in ((500, [200, 400, 500]), (400, [200, 400]), (0, [])):
        trainer.steps = steps
        add(tmp_path, trainer)
        assert [evaluation.steps for evaluation in evaluations_of(tmp_path)] == [*range(100, steps + 1, 100)]
        assert list(candidate_folders(tmp_path)) == candidates
        assert (tmp_path / "best").is_dir() == best_file(tmp_path).exists() == (steps == 500)


def test_metrics_are_the_figures_of_the_agent(results) -> None:
    for result in results:
        found = metrics(result)
        rate, low, high = interval_metrics(result.opponent)
        assert rate == f"evaluation/win_rate_against_{result.opponent}"
        assert (found.pop(low), found.pop(rate), found.pop(high)) == (
            result.interval[0],
            result.win_rate,
            result.interval[1],
        )
        figures = {**result.means(AGENT), "score_difference": result.score_difference}
        figures["turns_per_game"] = result.as_dict()["turns_per_game"]
        against = f"_against_{result.opponent}"
        assert found == {f"evaluation_games/{name}{against}": value for name, value in figures.items()}


def test_rating_is_that_of_the_matches_against_members_of_the_gauntlet(results) -> None:
    alone = rating_metrics(results)
    name = "evaluation/gauntlet_rating"
    assert alone[f"{name}_low"] < alone[name] < alone[f"{name}_high"]
    stranger = play_matches("greedy", agents.as_agent(lambda game: game.legal_actions()[-1]), 2)
    assert rating_metrics([*results, stranger]) == alone
    assert rating_metrics([stranger]) == {}
    better = play_matches("greedy", "random", 8), play_matches("greedy", "ppo-quick-v1", 8)
    assert rating_metrics(list(better))[name] > alone[name] + 300


def test_a_rating_without_an_end_is_no_metric() -> None:
    """Whoever wins or loses all games has one that says mostly how many games there were."""
    always_wins = play_matches("greedy", "random", 8)
    assert always_wins.win_rate == 1
    assert rating_metrics([always_wins]) == {}
    assert rating_metrics([play_matches(lambda game: game.legal_actions()[0], "greedy", 8)]) == {}


def test_tensorboard_shows_curves_with_bounds_a_game_and_its_picture(tmp_path, trainer, results) -> None:
    add(tmp_path, trainer, results, results)
    events = events_of(tmp_path)
    expected = {name: value for result in results for name, value in metrics(result).items()}
    expected |= rating_metrics(results)
    assert set(events.Tags()["scalars"]) == set(expected)
    for name, value in expected.items():
        assert [(e.step, e.value) for e in events.Scalars(name)] == [
            (100, pytest.approx(value)),
            (200, pytest.approx(value)),
        ]
    lost = results[1].kept[0]  # greedy is the stronger one
    texts = [
        event.tensor_proto.string_val[0].decode() for event in events.Tensors("sample_game/text_summary")
    ]
    assert len(texts) == 2
    assert lost.notation() in texts[0]
    assert "random (player 0) against greedy (player 1)" in texts[0]
    images = events.Images("sample_game")
    assert [image.step for image in images] == [100, 200]
    shown = np.array(Image.open(io.BytesIO(images[0].encoded_image_string)))
    assert np.array_equal(shown, picture(lost, ("random", "greedy")))
    layout = events.Tensors("custom_scalars__config__")[0].tensor_proto.string_val[0]
    assert all(name.encode() in layout for spec in OPPONENTS for name in interval_metrics(spec))


def test_without_pillow_there_is_text_and_one_remark(tmp_path, trainer, results, monkeypatch, capsys) -> None:
    def fail(*_):
        raise MissingExtraError("Pillow is needed here: pip install pillow")

    monkeypatch.setattr(evaluations_module, "picture", fail)
    add(tmp_path, trainer, results, results)
    assert capsys.readouterr().out.count("pip install pillow") == 1
    tags = events_of(tmp_path).Tags()
    assert tags["images"] == []
    assert "sample_game/text_summary" in tags["tensors"]
    assert len(evaluations_of(tmp_path)) == 2


def test_results_without_games_have_figures_alone(tmp_path, trainer) -> None:
    add(tmp_path, trainer, [play_matches("random", "random", 2)])
    assert evaluations_of(tmp_path)[0].sample_games == ()
    assert events_of(tmp_path).Tags()["images"] == []


def test_positions_of_a_game(results) -> None:
    game = results[0].kept[0]
    turns = len(game.history)
    assert position_after(game, 0).history == ()
    assert position_after(game, turns) == game
    assert position_after(game, 7).history == game.history[:7]
    assert [len(position.history) for position in milestones(game, 3)] == [
        round(turns / 4),
        round(turns / 2),
        round(3 * turns / 4),
    ]
    frame = picture(game, ("one", "two"))
    assert np.array_equal(frame[:608], rgb_array(game, 960, ("one", "two")))
    assert np.array_equal(frame[608:, 320:640], rgb_array(milestones(game, 3)[1], 320, ("one", "two")))

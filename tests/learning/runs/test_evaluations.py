"""Evaluations of a run: files, metrics and the best policy."""

import json
from dataclasses import replace

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from patchwork_env import agents
from patchwork_env.core.files import GrowingFile
from patchwork_env.games import rules_of
from patchwork_env.learning.algorithms.common.trainer import Trainer
from patchwork_env.learning.algorithms.ppo.config import PpoConfig
from patchwork_env.learning.evaluation import records
from patchwork_env.learning.evaluation.gauntlet import rating_metrics
from patchwork_env.learning.evaluation.matches import play_matches
from patchwork_env.learning.evaluation.records import EVALUATION_FORMAT, EVALUATION_VERSION, read_evaluation
from patchwork_env.learning.evaluation.runners import AGENT
from patchwork_env.learning.runs.checkpoints import save_checkpoint
from patchwork_env.learning.runs.evaluations import candidates, choose_best, forget_later, metrics, record
from patchwork_env.learning.runs.folder import best_file, interval_metrics
from patchwork_env.learning.runs.loggers import Log
from tests.learning.same_runs import evaluations_of, metrics_of

OPPONENTS = ("random", "greedy")


class Unlearning(Trainer):
    """Never learns, and plays at random."""

    def step(self):
        return self._count_iteration(100, 0.0, 0.0) | {"losses/nothing": 0.0}

    def agent(self):
        return agents.load("random")

    def write_policy(self, folder):
        (folder / "nothing").touch()


def trainer_of(game="patchwork"):
    config = PpoConfig(evaluation={"opponents": OPPONENTS}).model_copy(update={"game": game})
    trainer = Unlearning(config)
    trainer.step()
    trainer.seconds = 100.0
    return trainer


@pytest.fixture(scope="module")
def results():
    return [play_matches("random", opponent, 8, keep=2) for opponent in OPPONENTS]


def add(folder, trainer, *evaluations):
    """Starts or resumes a run, and adds evaluations an iteration apart."""
    log = Log(folder, trainer.steps, trainer.config)
    forget_later(folder, trainer.steps)
    for number, results in enumerate(evaluations):
        trainer.steps = 100 * (number + 1)
        save_checkpoint(folder, trainer)
        record(folder, trainer, results, log)
    log.close()
    with pytest.raises(ValueError, match="closed file"):
        log.add({"late": 1.0}, trainer.steps, 0.0)


@pytest.mark.parametrize("game", ["patchwork", "nmbr9"])
def test_the_file_holds_the_results_and_games_that_can_be_replayed(tmp_path, game):
    trainer, rules = trainer_of(game), rules_of(game)
    results = [play_matches("random", opponent, 8, game=game, keep=2) for opponent in OPPONENTS]
    add(tmp_path, trainer, results)
    path = tmp_path / "evaluations" / "step_0000000100.json"
    contents = json.loads(path.read_text())
    assert (contents.pop("format"), contents.pop("version")) == (EVALUATION_FORMAT, EVALUATION_VERSION)
    (read,) = evaluations_of(tmp_path)
    assert read.matches == tuple(result.figures for result in results)
    assert {(line["steps"], line["minutes"]) for line in (contents, *metrics_of(tmp_path))} == {(100, 1.6667)}
    assert "core" in contents["machine"]
    played = [(result, i) for result in results for i in (0, 1)]
    for sample, (result, i) in zip(contents["sample_games"], played, strict=True):
        replayed = rules.game.from_notation(sample["notation"])
        seat = int(result.games.seats[i])
        assert replayed.is_over
        assert sample["opponent"] == result.opponent
        assert (sample["players"][seat], sample["players"][1 - seat]) == ("random", result.opponent)
        winner = {1.0: seat, 0.0: 1 - seat, 0.5: None}[float(result.games.agent_wins[i])]
        assert sample["winner"] == winner
    names = {name for line in metrics_of(tmp_path) for name in line}
    assert {f"evaluation/win_rate_against_{opponent}" for opponent in OPPONENTS} < names
    assert any("gauntlet" in name for name in names) == (game == "patchwork")


def test_the_best_is_one_of_three_or_the_last_and_later_evaluations_are_deleted(tmp_path, results):
    trainer, weak = trainer_of(), results[1:]
    easy, strong = ([play_matches("greedy", opponent, 2)] for opponent in OPPONENTS)
    assert weak[0].win_rate < strong[0].win_rate < easy[0].win_rate, "easy has another opponent"
    add(tmp_path, trainer, easy, strong, weak, strong, strong, weak)
    assert list(candidates(tmp_path, "patchwork")) == [200, 400, 500, 600]
    best = choose_best(tmp_path, "patchwork", {200: weak, 400: weak, 500: strong, 600: weak})
    assert best == read_evaluation(best_file(tmp_path)).steps == 500
    assert [path.name for path in (tmp_path / "best").iterdir()] == ["nothing"]
    for steps in (600, 500, 0):
        trainer.steps = steps
        add(tmp_path, trainer)
        assert [evaluation.steps for evaluation in evaluations_of(tmp_path)] == [*range(100, steps + 1, 100)]
        assert (tmp_path / "best").is_dir() == best_file(tmp_path).exists() == (steps >= 500)


def test_metrics_are_the_figures_of_the_agent(results):
    for result in results:
        against = f"_against_{result.opponent}"
        figures = {**result.means(AGENT), "score_difference": result.score_difference}
        figures["turns_per_game"] = result.as_dict()["turns_per_game"]
        expected = {f"evaluation_games/{name}{against}": value for name, value in figures.items()}
        names = interval_metrics(result.opponent)
        assert names[0] == f"evaluation/win_rate{against}"
        expected |= zip(names, (result.win_rate, *result.interval), strict=True)
        assert metrics(result) == expected


def test_rating_is_that_of_the_matches_against_members_of_the_gauntlet(results):
    alone, name = rating_metrics(results), "evaluation/gauntlet_rating"
    assert alone[f"{name}_low"] < alone[name] < alone[f"{name}_high"]
    stranger = play_matches("greedy", agents.as_agent(lambda game: game.legal_actions()[-1]), 2)
    assert rating_metrics([*results, stranger]) == alone
    other_edition = play_matches("greedy", "random", 2, special_patches="2014")
    assert rating_metrics([stranger]) == rating_metrics([other_edition]) == {}
    wins, loses = play_matches("greedy", "random", 8), play_matches("random", "greedy", 8)
    assert (wins.win_rate, loses.win_rate) == (1, 0)
    # The rating of an agent that wins or loses all games depends mostly on the number of games.
    assert rating_metrics([wins]) == rating_metrics([loses]) == {}
    assert rating_metrics([wins, play_matches("greedy", "ppo-quick-v1", 8)])[name] > alone[name] + 300


def test_tensorboard_shows_the_metrics_of_every_evaluation(tmp_path, results, monkeypatch):
    """Evaluations that it has are not added to it again, and later ones are dropped."""
    synced: list[GrowingFile] = []
    monkeypatch.setattr(GrowingFile, "sync", lambda file: synced.append(file))
    trainer = trainer_of()
    for steps, number in ((100, 2), (100, 3), (299, 0)):
        trainer.steps = steps
        add(tmp_path, trainer, *[results] * number)
    assert [len(synced), len(set(synced))] == [10, 4]  # both files of both logs at all evaluations
    events = EventAccumulator(str(tmp_path)).Reload()
    assert events.file_version == 2
    expected = {name: value for result in results for name, value in metrics(result).items()}
    expected |= rating_metrics(results)
    rounded = {name: round(value, 6) for name, value in expected.items()}
    written = {name: value for line in metrics_of(tmp_path) for name, value in line.items()}
    assert written == {"steps": 200, "minutes": 1.6667} | rounded
    assert set(events.Tags()["scalars"]) == set(expected)
    for name, value in expected.items():
        points = [(event.step, event.value) for event in events.Scalars(name)]
        assert points == [(steps, pytest.approx(value)) for steps in (100, 200)]


def test_an_evaluation_that_no_run_has_is_refused(results):
    figures, possible = results[0].figures, {"steps": 0, "minutes": 0.0}
    records.RunEvaluation(**possible, matches=(replace(figures, games=1, turns_per_game=0),))
    records.RunEvaluation(10**12, 0.0, (replace(figures, games=10**12, turns_per_game=1e15),))
    wrong = [("steps", -1), ("steps", 10**12 + 1), ("minutes", -0.5), ("games", 0), ("games", 10**12 + 1)]
    wrong += [("win_rate", -0.01), ("win_rate", 1.01), ("turns_per_game", 2e15)]
    for key, value in [*wrong, ("sides", {}), ("variant", "\n")]:
        changed = {} if key in possible else {key: value}
        whole = possible | ({} if changed else {key: value}) | {"matches": (replace(figures, **changed),)}
        with pytest.raises(ValueError, match=r"(steps|minutes|games|win_rate|variant|figure) is|no score"):
            records.RunEvaluation(**whole)

"""What a run of NMBR 9 shows of its evaluations: files, TensorBoard and the page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from patchwork_env import agents
from patchwork_env.learning.algorithms.common.trainer import Trainer
from patchwork_env.learning.algorithms.ppo.config import PpoConfig
from patchwork_env.learning.commands.report import main
from patchwork_env.learning.config import dump_config, load_config
from patchwork_env.learning.evaluation.matches import play_matches
from patchwork_env.learning.evaluation.records import Evaluation, read_evaluation
from patchwork_env.learning.evaluation.results import picture
from patchwork_env.learning.runs.evaluations import record
from patchwork_env.learning.runs.folder import evaluation_files
from patchwork_env.learning.runs.loggers import Log
from patchwork_env.nmbr9 import Game
from tests.learning.reports.pages import Page, check_nothing_has_to_be_loaded

CONFIG = PpoConfig(evaluation={"opponents": ("random", "greedy")}).model_copy(update={"game": "nmbr9"})


class Unlearning(Trainer):
    """Never learns, and plays greedily."""

    def step(self):
        return self._count_iteration(100, 0.0) | {"losses/nothing": 0.0, "games/score": 50.0}

    def agent(self):
        return agents.load("greedy")

    def write_policy(self, folder):
        """Writes nothing."""


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "tower"
    folder.mkdir()
    (folder / "config.yaml").write_text(dump_config(CONFIG))
    trainer = Unlearning(CONFIG)
    log = Log(folder, 0, load_config("nmbr9_quick", ["tracker=none"]))
    log.add(trainer.step(), trainer.steps, trainer.seconds / 60)
    specs = CONFIG.evaluation.opponents
    results = [
        play_matches(trainer.agent(), spec, 9, game=CONFIG.game, keep=2, **CONFIG.variant) for spec in specs
    ]
    record(folder, trainer, results, log)
    log.close()
    return folder


@pytest.fixture(scope="module")
def page(run: Path, tmp_path_factory) -> Page:
    out = tmp_path_factory.mktemp("pages") / "page.html"
    assert main([str(run), "--out", str(out)]) == 0
    return Page(out.read_text(encoding="utf-8"))


def evaluation(run: Path) -> Evaluation:
    return read_evaluation(next(iter(evaluation_files(run).values())))


def test_the_file_says_the_game_and_holds_games_that_can_be_replayed(run: Path) -> None:
    contents = json.loads(next(iter(evaluation_files(run).values())).read_text())
    assert contents["game"] == "nmbr9"
    assert len(contents["sample_games"]) == 4
    for sample in contents["sample_games"]:
        game = Game.from_notation(sample["notation"])
        assert game.is_over
        assert sample["scores"] == list(game.scores())
        tie = sample["opponent"] == "greedy"  # against itself
        assert sample["winner"] == (None if tie else sample["players"].index("greedy"))


def test_there_is_no_rating_of_a_gauntlet_of_the_other_game(run: Path) -> None:
    names = {name for line in (run / "metrics.jsonl").read_text().splitlines() for name in json.loads(line)}
    assert "evaluation/win_rate_against_random" in names
    assert "evaluation_games/tiles_on_level_1_against_greedy" in names
    assert not [name for name in names if "gauntlet" in name]


def test_a_picture_shows_the_whole_game(run: Path) -> None:
    game = Game.from_notation(evaluation(run).sample_games[0].notation)
    frame = picture(game, ("one", "two"))
    assert frame.shape[1:] == (960, 3)


def test_the_page_shows_scores_ties_and_tables(run: Path, page: Page) -> None:
    assert "both play the same decks, each on a table of its own; a tie is half a win" in page.text
    assert "when starting" not in page.text
    for match in evaluation(run).matches:
        assert f"{match.score:.2f}" in page.text
        low, high = match.score_intervals["agent"]
        assert f"{low:.2f} to {high:.2f}" in page.text
    assert ", a tie" in page.text
    assert "won by greedy" in page.text
    assert page.source.count("<title>NMBR 9</title>") == 2 + 3
    assert "<code>7/3@-2,5</code> places tile 7" in page.source
    for figure in ("levels", "tiles on level 1", "games won, over steps", "score difference"):
        assert f"<figcaption>{figure}</figcaption>" in page.source
    check_nothing_has_to_be_loaded(page)


def test_runs_of_different_games_are_not_compared(run: Path, tmp_path: Path, capsys) -> None:
    other = tmp_path / "quilt"
    other.mkdir()
    (other / "config.yaml").write_text(dump_config(PpoConfig()))
    assert main([str(run), str(other), "--out", str(tmp_path / "page.html")]) == 2
    assert "tower is of nmbr9, quilt is of patchwork" in capsys.readouterr().err
    (other / "config.yaml").write_text("game: chess\n")
    assert main([str(other)]) == 2
    assert "game is 'chess'; known are patchwork, nmbr9" in capsys.readouterr().err

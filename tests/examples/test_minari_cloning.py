"""The example that clones an agent from a dataset of Minari; runs in ``make test-libraries``."""

import sys

import numpy as np
import pytest

pytest.importorskip("minari")

import minari

from examples import minari_cloning as example
from patchwork_env import agents
from patchwork_env.integrations.minari import record
from patchwork_env.patchwork import Game

pytestmark = pytest.mark.libraries


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    return record("greedy", 3, "name-v0", root=tmp_path_factory.mktemp("datasets"))


@pytest.fixture
def decisions(dataset):
    return example.Decisions.of(dataset)


def positions_of(dataset):
    """The games before every decision between several actions, episode by episode, with what was played."""
    for i, about in enumerate(dataset.storage.get_episode_metadata(range(dataset.total_episodes))):
        game = Game(seed=about["seed"])
        for action in Game.from_notation(about["notation"]).history:
            if game.current_player == about["seat"] and len(game.legal_actions()) > 1:
                yield game.clone(), action, dataset[i].rewards[-1]
            game.play(action)


def test_decisions_are_those_of_the_games(dataset, decisions):
    positions = list(positions_of(dataset))
    assert decisions.actions.tolist() == [action for _, action, _ in positions]
    assert decisions.returns.tolist() == [result for _, _, result in positions]
    assert np.array_equal(decisions.observations, [game.observation() for game, _, _ in positions])
    assert decisions.legal.tolist() == [a for game, _, _ in positions for a in game.legal_actions().tolist()]


def test_it_records_learns_saves_and_measures(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MINARI_DATASETS_PATH", "datasets")
    words = ["--agent", "greedy", "--games", "4", "--epochs", "2", "--matches", "2", "--id", "name-v0"]
    monkeypatch.setattr(sys, "argv", ["minari_cloning.py", *words])
    example.main()
    printed = capsys.readouterr().out
    assert minari.load_dataset("name-v0").total_episodes == 8
    assert "recording 4 games of greedy as name-v0" in printed
    for opponent in ("random", "greedy"):
        assert f"against {opponent}: wins " in printed
    assert agents.load("clone").act(Game(seed=1)) in Game(seed=1).legal_actions()
    options = example.parse_arguments(["--id", "name-v0", "--out", "other"])
    assert example.dataset_of(options).total_episodes == 8, "it takes the dataset that there is"

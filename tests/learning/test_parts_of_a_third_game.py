"""A third game is learned, measured and played at levels by the parts in its record."""

import pytest

from patchwork_env import agents, games
from patchwork_env.agents.networks import PolicyAgent
from patchwork_env.learning.algorithms.common.trainer import make_trainer
from patchwork_env.learning.config import load_config
from patchwork_env.learning.evaluation.matches import play_matches
from patchwork_env.learning.evaluation.runners import match_part
from patchwork_env.testing import check_agent
from tests.toy import Game

SMALL = [
    *("game=row", "network.width=16", "network.depth=1", "network.offers=false", "network.lookahead=false"),
    *("ppo.num_envs=16", "ppo.rollout_steps=16", "ppo.minibatch_size=64", "total_steps=512", "threads=1"),
    "ppo.lookahead_from=0",
]


@pytest.fixture
def row(monkeypatch):
    """Row with its parts; other tests have it without."""
    monkeypatch.setitem(games._modules(), "row", "tests.toy")
    monkeypatch.setitem(games._parts(), "row", "tests.toy_parts")
    return "row"


def test_the_game_is_learned_by_its_network_and_measured_by_its_figures(row, tmp_path):
    trainer = make_trainer(load_config("ppo", SMALL))
    while not trainer.is_done:
        metrics = trainer.step()
    assert 2 < metrics["games/score"] < 8
    trainer.write_policy(tmp_path)
    agent = agents.load(tmp_path)
    assert type(agent) is PolicyAgent
    check_agent(agent, games=1, game=row)
    assert len(play_matches(agent, "random", 4, seed=1, game=row).games.scores) == 4


def test_greedy_play_and_levels_are_those_of_the_record(row):
    assert {"greedy", "partner"} <= set(agents.names(row))
    game = Game(seed=3)
    assert agents.load("greedy").act(game) == game.legal_actions()[-1]
    low, high = (
        play_matches(f"partner:level={level}", "random", 100, seed=2, game=row).win_rate for level in (1, 5)
    )
    assert low < high


def test_a_missing_part_is_an_error_that_names_it(row):
    with pytest.raises(ValueError, match=r"row.* has no part .champion.; .*: patchwork, nmbr9"):
        games.part_of(row, "champion")
    games._parts().pop(row)
    with pytest.raises(ValueError, match="the game 'row' has no part 'matches'"):
        match_part(row)
    with pytest.raises(ValueError, match="there is no game 'rwo'"):
        games.part_of("rwo", "greedy")

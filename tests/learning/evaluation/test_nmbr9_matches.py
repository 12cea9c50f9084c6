"""Matches and evaluations of NMBR 9: decks, ties, figures, and games that do not mix."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from patchwork_env.agents import Agent, GreedyAgent
from patchwork_env.learning.commands import evaluate
from patchwork_env.learning.evaluation.gauntlet import play_gauntlet
from patchwork_env.learning.evaluation.matches import play_matches
from patchwork_env.learning.evaluation.results import wins_by_set_up
from patchwork_env.learning.evaluation.runners import AGENT, OPPONENT
from patchwork_env.learning.evaluation.statistics import mean_interval, win_rate_interval
from patchwork_env.nmbr9 import Game

ROOT = Path(__file__).parents[3]


def match(agent, opponent, games=70, seed=9, **options):
    return play_matches(agent, opponent, games, seed, game="nmbr9", **options)


class Spy(Agent):
    """Plays greedily and remembers what it was shown."""

    def __init__(self, name):
        self.name = name
        self.shown: list[Game] = []

    def act(self, game):
        self.shown.append(game)
        return GreedyAgent().act(game)


@pytest.fixture(scope="module")
def played():
    return match("greedy", "random", keep=67)


def test_both_sides_play_the_same_decks_those_of_the_seed(played):
    lines = (ROOT / "benchmarks" / "nmbr9_decks.txt").read_text().splitlines()[:67]
    assert [game.deck for game in played.kept] == [tuple(map(int, line)) for line in lines]
    assert all(game.num_players == 2 and game.is_over for game in played.kept)
    assert played.games.seats.tolist() == [0, 1] * 35
    assert match("greedy", "random", 5).games.scores[:, 0].tolist() == played.games.scores[:5, 0].tolist()


def test_figures_are_those_of_the_tables(played):
    games = played.games
    for i, game in enumerate(played.kept[:20]):
        replayed = Game.from_notation(game.notation())
        for side in (AGENT, OPPONENT):
            player = int(games.seats[i]) if side == AGENT else 1 - int(games.seats[i])
            tiles = Counter(move.level for move in replayed.placements(player))
            assert games.scores[i, side] == replayed.scores()[player]
            figures = {name: figure[i, side] for name, figure in games.figures.items()}
            assert figures["levels"] == len(tiles)
            names = ("tiles_on_the_table", "tiles_on_level_1", "tiles_on_level_2", "tiles_on_level_3")
            assert [figures[name] for name in names] == [tiles[level] for level in range(4)]
            assert figures["tiles_higher_up"] == sum(tiles[level] for level in tiles if level > 3)
            assert games.turns[i, side] == 20
        assert games.agent_wins[i] == (games.scores[i, 0] > games.scores[i, 1])


def test_sides_do_not_interact_and_ties_are_half_a_win(played):
    same = match("greedy", "greedy")
    assert (same.win_rate, same.figures.ties, same.score_difference) == (0.5, 1.0, 0.0)
    assert same.games.scores[:, AGENT].tolist() == played.games.scores[:, AGENT].tolist()
    mixed = match("random", "random")
    own, other = mixed.games.scores.T
    share = np.where(own == other, 0.5, mixed.games.agent_wins)
    assert 0 < mixed.figures.ties < 1
    assert mixed.games.agent_wins.tolist() == share.tolist()
    assert (mixed.win_rate, mixed.interval) == (share.mean(), win_rate_interval(share))
    assert mixed.figures.score_difference_interval == mean_interval(own - other)
    assert mixed.figures.score_intervals["agent"] == mean_interval(own)
    wins = wins_by_set_up({(0, 1): mixed}, 2)
    assert np.array_equal(wins[:, [0, 1], [1, 0]].T, [share, 1 - share])


def test_agents_are_not_shown_the_order_of_the_cards_to_come():
    sides = Spy("one"), Spy("two")
    deck = match(*sides, 1, keep=1).kept[0].deck
    for spy in sides:
        assert len(spy.shown) == 20
        for k, game in enumerate(spy.shown):
            assert game.deck[: k + 1] == deck[: k + 1]
            assert sorted(game.deck) == sorted(deck)
        assert len({game.deck for game in spy.shown[:10]}) == 10
        spy.shown.clear()
    assert (match("greedy", "random", 3, order="free").games.turns == 40).all()  # of choosing and placing
    match(*sides, 1, order="known")
    assert {game.deck for spy in sides for game in spy.shown} == {deck}
    assert {game.order for spy in sides for game in spy.shown} == {"known"}


def test_agents_of_different_games_do_not_meet():
    nmbr9_only = Spy("solitaire")
    nmbr9_only.games = ("nmbr9",)
    for meeting, message in (
        (lambda: play_matches("mcts", nmbr9_only, 2), "games cannot meet: 'mcts' plays patchwork, 'soli"),
        (lambda: match("mcts", "random"), "agent 'mcts' plays patchwork, not nmbr9"),
        (lambda: play_gauntlet(nmbr9_only, games=2), "is played in Patchwork: agent 'solitaire' plays"),
    ):
        with pytest.raises(ValueError, match=message):
            meeting()
    assert play_matches(nmbr9_only, "random", 3).games.game == "nmbr9"
    assert play_matches("greedy", "random", 2).games.game == "patchwork"


def test_the_command_measures_and_says_the_game(tmp_path, capsys):
    path = tmp_path / "figures.json"
    arguments = f"greedy --against random --game nmbr9 --games 15 --order known --json {path}"
    assert evaluate.main(arguments.split()) == 0
    expected = match("greedy", "random", 15, 0, order="known")
    assert capsys.readouterr().out == expected.table() + "\n"
    contents = json.loads(path.read_text())
    assert (contents["game"], contents["matches"]) == ("nmbr9", [json.loads(json.dumps(expected.as_dict()))])


def test_the_documents_name_all_that_the_results_hold():
    result = match("greedy", "random", 1000, 0)
    assert f"```\n{result.table()}\n```" in (ROOT / "docs/measure/nmbr9.md").read_text(encoding="utf-8")
    formats = (ROOT / "docs/reference/formats.md").read_text(encoding="utf-8")
    assert {*result.as_dict(), *result.means(AGENT)} <= set(re.findall(r"`(\w+)`", formats))

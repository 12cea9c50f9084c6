"""Analyses of the champion of NMBR 9 that go on while somebody looks."""

from __future__ import annotations

import pytest

from patchwork_env import agents
from patchwork_env.agents.analysis import Scorer
from patchwork_env.nmbr9 import Game


def middle(players: int = 2) -> Game:
    game, agent = Game(seed=7, players=players), agents.load("greedy")
    for _ in range(9):
        game.play(agent.act(game))
    return game


def test_every_round_knows_more() -> None:
    game, champion = middle(), agents.load("nmbr9_champion:nodes=6000")
    before = game.to_bytes()
    assert isinstance(champion, Scorer)
    rounds = list(champion.deepen(game))
    assert len(rounds) > 5
    depths = [sum(line.visits for line in lines) for lines in rounds]
    assert depths == sorted(set(depths))
    for lines in rounds:
        assert [(line.visits, line.score) for line in lines] == sorted(
            ((line.visits, line.score) for line in lines), reverse=True
        )
        assert len({line.action for line in lines}) == len(lines) == 12
    assert game.to_bytes() == before


def test_it_can_be_repeated_and_changes_nothing() -> None:
    game = middle()
    champion, alone = (agents.load("nmbr9_champion:nodes=2000", seed=1) for _ in range(2))
    first = list(champion.deepen(game))
    assert list(champion.deepen(game)) == first
    assert champion.act(game) == alone.act(game)


def test_seconds_end_it() -> None:
    assert list(agents.load("nmbr9_champion:seconds=0.02").deepen(middle()))


def test_the_cards_to_come_do_not_matter_in_their_order() -> None:
    game, champion = middle(), agents.load("nmbr9_champion:nodes=2000")
    other = game.imagine(seed=5)
    assert other.deck != game.deck
    assert list(champion.deepen(other)) == list(champion.deepen(game))
    assert champion.expected_scores(other.public()) == champion.expected_scores(game.public())


def test_expected_scores_are_those_in_the_end() -> None:
    game, champion = middle(players=3), agents.load("nmbr9_champion:instant")
    expected = agents.load("nmbr9_champion:nodes=2000").expected_scores(game)
    assert len(expected) == 3
    while not game.is_over:
        game.play(champion.act(game))
    final = agents.load("nmbr9_champion:nodes=2000").expected_scores(game)
    assert final == list(game.scores())
    assert expected == pytest.approx(final, abs=30)


def test_a_digit_to_be_chosen_is_refused() -> None:
    with pytest.raises(ValueError, match="does not choose digits"):
        agents.load("nmbr9_champion:nodes=2000").deepen(Game(order="free"))

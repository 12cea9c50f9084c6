"""Analyses of the champion that go on while somebody looks."""

from __future__ import annotations

import pytest

from patchwork_env import agents
from patchwork_env.agents.analysis import IncrementalAnalyst, Line
from patchwork_env.patchwork import Game


def ending(spaces: int) -> Game:
    """A game in which the players have so many spaces left together, and a choice."""
    game, agent = Game(seed=7), agents.load("greedy")
    while 106 - sum(game.positions) > spaces or len(game.legal_actions()) == 1:
        game.play(agent.act(game))
    return game


def visits(lines: list[Line]) -> int:
    return sum(line.visits for line in lines)


def test_every_round_knows_more() -> None:
    game, champion = Game(seed=3), agents.load("champion:fast")
    before = game.to_bytes()
    assert isinstance(champion, IncrementalAnalyst)
    rounds = list(champion.deepen(game))
    assert [visits(lines) for lines in rounds] == sorted({visits(lines) for lines in rounds})
    assert len(rounds) == 4  # 22,000 units of effort, twice and four times as many, and all 140,000
    for lines in rounds:
        assert all(lines[0].visits >= line.visits for line in lines)
        assert all(line.action in game.legal_actions() for line in lines)
    assert game.to_bytes() == before


@pytest.mark.parametrize("budget", ["nodes=40", "seconds=0.05"])
def test_any_budget_ends_it(budget: str) -> None:
    *_, last = agents.load(f"champion:{budget}").deepen(Game(seed=3))
    assert budget != "nodes=40" or visits(last) == 39


def test_it_neither_changes_what_the_agent_plays_nor_is_changed() -> None:
    game, other = Game(seed=3), Game(seed=4)
    champion, alone = agents.load("champion:nodes=2000"), agents.load("champion:nodes=2000")
    going_on = champion.deepen(game)
    first = next(going_on)
    assert [champion.act(played) for played in (other, game)] == [
        alone.act(played) for played in (other, game)
    ]
    assert [first, *going_on] == list(alone.deepen(game))


@pytest.mark.parametrize("spaces", [24, 8])
def test_endings_are_solved_as_a_search_does(spaces: int) -> None:
    game, champion = ending(spaces), agents.load("champion:fast")
    lines, found = list(champion.deepen(game))[-1], champion.search(game)
    assert lines[0].exact >= found[0].exact
    if found[0].exact:
        assert (lines[0].win, lines[0].margin) == (found[0].win, found[0].margin)

"""Every interface treats two games that look alike to a player in the same way."""

from __future__ import annotations

import asyncio
import json
import random
from typing import Any

import numpy as np
import pytest

from patchwork_env import agents, games
from patchwork_env.agents.program import query_of
from patchwork_env.core.checks import seed_streams
from patchwork_env.envs.opponents import Opponents, play_answer
from patchwork_env.games import part_of, rules_of
from patchwork_env.integrations import text
from patchwork_env.integrations.mcp.session import Session, Table
from patchwork_env.integrations.text.episode import Episode, EpisodeSettings
from patchwork_env.integrations.text.view import news, notation_of
from patchwork_env.learning.evaluation.runners import Match, MatchBlock, MatchRunner, match_part
from patchwork_env.nmbr9 import Game as Nmbr9
from patchwork_env.patchwork import Game as Patchwork
from patchwork_env.protocol.engine import Engine
from patchwork_env.service.agents import AgentPool

ONE = np.zeros(1, np.int64)
shown: list[tuple[bytes, tuple[int, ...]]] = []
"""The games that :func:`spy` got."""


def spy(game):
    shown.append((game.to_bytes(), game.history))
    return int(game.legal_actions()[0])


SPY = agents.as_agent(spy)
PLAYERS = AgentPool([f"{__name__}:spy"])


def patchwork():
    """Nothing is hidden in it."""
    game = Patchwork(seed=3)
    for _ in range(9):
        game.play(game.legal_actions()[-1])
    return game, game.clone()


def nmbr9(order, players, plies):
    """Two games with the same moves in complete rounds and of the player to move."""
    deck = [3, 7, 1, 9, 4, 8, 2]
    last = Nmbr9(deck=deck, players=players, order=order, deck_size=6)
    for _ in range(plies):
        last.play(last.legal_actions()[0])
    other = [*deck[: last.round + 1], *reversed(deck[last.round + 1 :])] if order == "unknown" else deck
    twins = [Nmbr9(deck=cards, players=players, order=order, deck_size=6) for cards in (deck, other)]
    rng = random.Random(plies)
    while twins[0].num_moves < plies:
        is_public = twins[0].num_moves < last.num_public_moves
        own = twins[0].current_player == last.current_player
        position = rng.random()
        for twin, elsewhere in zip(twins, (0.0, 0.5), strict=True):
            legal = twin.legal_actions()
            place = position if is_public or own else (position + elsewhere) % 1
            twin.play(legal[int(place * len(legal))])
    return twins[0], twins[1]


def pairs():
    yield patchwork()
    for order, players, plies in (
        ("unknown", 1, 3),
        ("unknown", 1, 4),  # two cards are left
        ("unknown", 2, 5),
        ("known", 3, 8),
        ("free", 2, 9),  # one has chosen
        ("free", 3, 16),  # all have chosen, one has placed
    ):
        yield nmbr9(order, players, plies)


def champion_of(game):
    """The champion, which does not play NMBR 9 in free order."""
    spec = f"{part_of(rules_of(game.state).name, 'champion')}:nodes=50"
    return [spec] if getattr(game, "order", None) != "free" else []


def observed(game):
    return game.observation().tobytes(), game.legal_actions().tolist(), repr(game.legal_moves())


def determinized(game):
    other = game.determinize(5)
    assert (other.observation() == game.observation()).all()
    game.check_states(other.state)
    game.check_states(game.public().state)
    return other.to_bytes(), other.history, game.public().to_bytes(), game.num_public_moves


def program(game):
    return query_of(game, 5)


def told(game):
    """Language models, by any server."""
    answers = [text.ask(game, request) for request in ("position", "moves", "rules", "placements")]
    return answers, news(game, 0, game.current_player), notation_of(game)


def episode(game):
    begun = Episode(EpisodeSettings(rules_of(game.state).name), PLAYERS, 3)
    begun._game, begun.seat = game.clone(), game.current_player
    return begun.answer("position"), begun.answer("no move"), begun._position()


def mcp(game):
    session = Session(PLAYERS)
    session._tables["g"] = Table(game, "greedy", game.current_player)
    calls = {"show": {}, "ask": {"request": "moves"}, "hint": {"agent": "greedy"}}
    return [asyncio.run(session.call(tool, {"game_id": "g", **more})) for tool, more in calls.items()]


def engine(game):
    answers: list[Any] = []
    served = Engine(PLAYERS, answers.append)
    of_game = {"notation": game.notation(), "id": "1"}
    for method in (
        {"method": "choose", "agent": f"{__name__}:spy", "seed": 3},
        *({"method": "analyse", "agent": spec} for spec in champion_of(game)),
    ):
        served.handle(json.dumps(of_game | method).encode())
        served.wait()
    return answers


def page(game):
    choice = PLAYERS.choice(game, f"{__name__}:spy", 3)
    champion = champion_of(game)
    return choice, [list(PLAYERS.analyses(game, spec, 3)) for spec in champion]


def opponents(game):
    answers = []
    for number in (1, 2, 3):
        several = Opponents(number, [agents.as_agent(spy)])
        several.change([agents.as_agent(spy) for _ in range(number)], range(number), at_once=True)
        several.reseed(3)
        answers.append(several.answers(game.state.repeat(number), np.arange(number)).tolist())
    play_answer(SPY, rules_of(game.state), game.clone(), seed_streams(3))
    return answers


def match(game):
    name = rules_of(game.state).name
    match = Match((0, 1), ("", ""), name, match_part(name).variants[0], 2, 3)
    runner = MatchRunner((SPY, SPY), MatchBlock(match, 0, 1))
    runner.states, runner._tracked = game.state, (game,)
    return runner._ask(SPY, ONE)[0].tolist()


def choices(game):
    """Agents that get the true game do not use hidden information."""
    specs = ("random", "greedy", "uct:simulations=8", "partner:level=1", *champion_of(game))
    return [agents.load(spec, seed=3).act(game) for spec in specs]


DOORS = (observed, determinized, program, told, episode, mcp, engine, page, opponents, match, choices)


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_what_looks_alike_is_served_alike(door):
    for one, other in pairs():
        assert (one.observation() == other.observation()).all()
        assert one != other or isinstance(one, Patchwork)
        shown.clear()
        first, first_shown = door(one), shown.copy()
        shown.clear()
        assert door(other) == first, one.notation()
        assert shown == first_shown, one.notation()


def test_all_games_that_hide_something_are_looked_at():
    assert {rules_of(one.state).name for one, _ in pairs()} >= {
        name for name in games.GAMES if rules_of(name).has_hidden_information
    }

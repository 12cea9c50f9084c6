"""Single games and agents."""

from __future__ import annotations

from collections.abc import Iterator
from operator import methodcaller
from typing import Any

import numpy as np
from numpy.random import Generator

from patchwork_env import agents
from patchwork_env.games import rules_of
from tests.attack.interrupts.kinds import MOVES, Kind, chosen, number, plain
from tests.attack.interrupts.stepper import Call
from tests.attack.sound import pick, started


def make_game(random: Generator) -> Any:
    """A game of any kind after some moves, some of which were taken back."""
    if random.random() < 0.5:
        game = started(rules_of("patchwork"), random)
    else:
        options = {"players": int(random.integers(1, 5)), "order": pick(random, ("known", "unknown", "free"))}
        game = started(rules_of("nmbr9"), random, deck_size=6, **options)
    for _ in range(min(int(random.integers(3)), game.num_moves)):
        game.undo()
    return game


def game_calls(game: Any, random: Generator) -> list[Call]:
    action, wrong = chosen(game.action_mask(), number(random)), int(random.integers(2026))
    calls = 3 * [methodcaller("play", action), methodcaller("undo")]
    calls += [methodcaller(name) for name in ("clone", "notation", "to_bytes", "scores")]
    return [*calls, methodcaller("play", wrong)]


def look_at_game(game: Any) -> tuple[Any, ...]:
    views = plain([game.action_mask(), game.observation()])
    return *plain(game), game.scores(), views, str(game.clone())


def game_goes_on(game: Any) -> Iterator[Any]:
    """Takes all back and plays on."""
    while game.history:
        yield game.undo(), game.to_bytes()
    for turn in range(MOVES):
        if game.is_over:
            break
        game.play(chosen(game.action_mask(), turn))
    yield plain(game)


SPECS = [
    *(("patchwork", spec, {}) for spec in ("random", "greedy", "uct:simulations=20")),
    *(("patchwork", spec, {}) for spec in ("mcts:simulations=40", "champion:nodes=20")),
    *(("nmbr9", spec, {}) for spec in ("random", "uct:simulations=16", "nmbr9_champion:nodes=300")),
    ("nmbr9", "nmbr9_champion:instant", {}),
    *(("nmbr9", "beam:width=3", {"order": order}) for order in ("known", "free")),
]


class Player:
    """An agent with positions of a game to ask it about."""

    def __init__(self, agent: Any, games: list[Any]) -> None:
        self.agent, self.games = agent, games

    @property
    def states(self) -> Any:
        """The records of all positions."""
        return np.concatenate([game.state for game in self.games])


def make_player(random: Generator) -> Player:
    """An agent that has met some positions of a game that goes on."""
    name, spec, options = pick(random, SPECS)
    options = options | ({"deck_size": 6} if name == "nmbr9" else {})
    agent, games = agents.load(spec, number(random) % 1000), []
    game = rules_of(name).game(seed=number(random), **options)
    for turn in range(int(random.integers(4 if name == "nmbr9" else 40))):
        if not game.is_over:
            game.play(chosen(game.action_mask(), turn) if random.random() < 0.5 else agent.act(game))
    while not game.is_over and len(games) < 4:
        games.append(game.clone())
        game.play(agent.act(game))
    return Player(agent, games or [rules_of(name).game(seed=1, **options)])


def player_calls(player: Player, random: Generator) -> list[Call]:
    seed = number(random)
    calls = 2 * [
        lambda player: player.agent.act(player.games[0]),
        lambda player: player.agent.act_batch(player.states),
    ]
    if hasattr(player.agent, "search"):
        calls += [lambda player: player.agent.search(player.games[0])]
    return [*calls, lambda player: player.agent.reseed(seed)]


def look_at_player(player: Player) -> tuple[Any, ...]:
    """What can be seen of it; it is free for others."""
    assert not player.agent._lock._is_owned(), "the lock is still held"
    return plain(player.games), player.agent.name


def player_goes_on(player: Player) -> Iterator[Any]:
    for game in player.games:
        yield player.agent.act(game)
    yield plain(player.agent.act_batch(player.states))


KINDS = {
    "game": Kind(make_game, game_calls, look_at_game, game_goes_on),
    "agent": Kind(make_player, player_calls, look_at_player, player_goes_on),
}

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
    """What can be done with it."""
    legal, turn, wrong = game.legal_actions(), number(random), int(random.integers(2026))
    action = int(legal[turn % len(legal)]) if len(legal) else 0
    changes: list[Call] = [
        *(3 * [lambda game: game.play(action)]),
        *(3 * [lambda game: game.undo()]),
        lambda game: game.play(wrong),
    ]
    names = ("clone", "notation", "to_bytes", "scores")
    return [*changes, *(methodcaller(name) for name in names)]


def look_at_game(game: Any) -> tuple[Any, ...]:
    """All that can be seen of it."""
    return (
        *plain(game),
        game.scores(),
        plain(game.action_mask()),
        plain(game.observation()),
        str(game.clone()),
    )


def game_goes_on(game: Any) -> Iterator[Any]:
    """Takes all back and plays to the end."""
    while game.history:
        yield game.undo(), game.to_bytes()
    for turn in range(MOVES):
        if game.is_over:
            break
        game.play(chosen(game.action_mask(), turn))
    yield plain(game)


SPECS: list[tuple[str, dict[str, Any]]] = [
    ("random", {}),
    ("greedy", {}),
    ("uct:simulations=20", {}),
    ("mcts:simulations=40", {}),
    ("champion:nodes=20", {}),
    ("random", {"game": "nmbr9"}),
    ("uct:simulations=16", {"game": "nmbr9"}),
    ("nmbr9_champion:nodes=300", {"game": "nmbr9"}),
    ("nmbr9_champion:instant", {"game": "nmbr9"}),
    ("beam:width=3", {"game": "nmbr9", "order": "known"}),
    ("beam:width=3", {"game": "nmbr9", "order": "free"}),
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
    spec, options = pick(random, SPECS)
    kind, options = options.get("game", "patchwork"), {k: v for k, v in options.items() if k != "game"}
    if kind == "nmbr9":
        options["deck_size"] = 6
    agent, games = agents.load(spec, number(random) % 1000), []
    game = rules_of(kind).game(seed=number(random), **options)
    for _ in range(int(random.integers(4 if kind == "nmbr9" else 40))):
        if game.is_over:
            break
        game.play(
            chosen(game.action_mask(), number(random) % 1000) if random.random() < 0.5 else agent.act(game)
        )
    while not game.is_over and len(games) < 4:
        games.append(game.clone())
        game.play(agent.act(game))
    return Player(agent, games or [rules_of(kind).game(seed=1, **options)])


def player_calls(player: Player, random: Generator) -> list[Call]:
    """What can be asked of it."""
    seed = number(random)
    calls: list[Call] = [
        *(2 * [lambda player: player.agent.act(player.games[0])]),
        *(2 * [lambda player: player.agent.act_batch(player.states)]),
        lambda player: player.agent.reseed(seed),
    ]
    if hasattr(player.agent, "search"):
        calls += [lambda player: player.agent.search(player.games[0])]
    return calls


def look_at_player(player: Player) -> tuple[Any, ...]:
    """What can be seen of it; it is free for others."""
    assert not player.agent._lock._is_owned(), "the lock is still held"
    return plain(player.games), player.agent.name


def player_goes_on(player: Player) -> Iterator[Any]:
    """Its answers."""
    for game in player.games:
        yield player.agent.act(game)
    yield plain(player.agent.act_batch(player.states))


KINDS = {
    "game": Kind(make_game, game_calls, look_at_game, game_goes_on),
    "agent": Kind(make_player, player_calls, look_at_player, player_goes_on),
}

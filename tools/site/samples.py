"""Samples of this machine for the modules to repeat: positions of games, and choices of agents."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from patchwork_env import agents
from patchwork_env.agents.partner import BEGINNER, CHAMPION
from patchwork_env.core.game import BaseGame
from patchwork_env.nmbr9 import Game as Nmbr9
from patchwork_env.patchwork import Game as Patchwork
from patchwork_env.service.agents import analyses_of
from patchwork_env.service.positions import positions_of

_BLUNDERS = 0.15
"""The share of random moves in the games of agents, so that their positions differ."""
_OPENINGS: dict[str, tuple[dict[str, Any], ...]] = {
    "patchwork": ({}, {"variant": "2014", "first_player": 1}),
    "nmbr9": ({}, {"players": 2}, {"players": 4, "order": "known"}, {"players": 2, "order": "free"}),
}
"""Set-ups as the page asks for them."""
_PEOPLE = {f"partner:level={level}": 2 for level in range(BEGINNER, CHAMPION + 1)}
_CHOICES: dict[str, dict[str, int]] = {
    "patchwork": {**_PEOPLE, "champion:instant": 2, "champion:fast": 1, "greedy": 1, "random": 1},
    "nmbr9": {**_PEOPLE, "nmbr9_champion:instant": 2, "nmbr9_champion:fast": 1, "greedy": 1, "random": 1},
}
"""Agents, each with the number of games that it plays against itself."""
_ANALYSED = {"patchwork": "champion:instant", "nmbr9": "nmbr9_champion:fast"}
"""The agents whose analyses are compared."""
_ANALYSE_EVERY, _LINES = 8, 5


def write_samples(path: Path, choices: Mapping[str, Mapping[str, int]] = _CHOICES) -> None:
    """Writes games, choices and analyses of both games as JSON."""
    samples = {
        "games": [game for name in _OPENINGS for game in _games(name)],
        "choices": [
            choice
            for name in choices
            for spec, number in choices[name].items()
            for seed in range(number)
            for choice in _choices(name, spec, seed)
        ],
        "analyses": [found for name, spec in _ANALYSED.items() for found in _analyses(name, spec)],
    }
    path.write_text(json.dumps(samples))


def _games(name: str) -> Iterator[dict[str, Any]]:
    """Random games: the request of the page, and all positions of the game."""
    for seed, options in enumerate(_OPENINGS[name] * 3):
        game = _new_game(name, seed, options)
        rng = np.random.default_rng(seed)
        while not game.is_over:
            game.play(_random_action(game, rng))
        setup = {"game": name, "seed": seed, **options}
        yield {"setup": setup, "notation": game.notation(), "positions": positions_of(game)}


def _choices(name: str, spec: str, seed: int) -> Iterator[dict[str, Any]]:
    """The choices of an agent in a game against itself, with the seconds of the processor that each took."""
    game, agent, rng = _new_game(name, seed, {}), agents.load(spec), np.random.default_rng(seed)
    agent.act(game)  # compiles
    while not game.is_over:
        number = 2**64 - 1 - game.num_moves if seed == 0 else 100 * seed + game.num_moves
        agent.reseed(number)
        began = process_time()
        action = int(agent.act(game))
        seconds = process_time() - began
        asked = {"notation": game.notation(), "agent": spec, "seed": str(number)}
        yield {**asked, "action": action, "word": game.move_text(action), "seconds": seconds}
        game.play(_random_action(game, rng) if rng.random() < _BLUNDERS else action)


def _analyses(name: str, spec: str) -> Iterator[dict[str, Any]]:
    """Analyses of an agent, at some positions of a game against itself."""
    game, agent = _new_game(name, 100, {}), agents.load(spec)
    while not game.is_over:
        if game.num_moves % _ANALYSE_EVERY == 0:
            *_, analysis = analyses_of(game, agent, _LINES)
            yield {"notation": game.notation(), "agent": spec, "analysis": analysis}
        game.play(agent.act(game))


def _new_game(name: str, seed: int, options: Mapping[str, Any]) -> BaseGame:
    if name == "patchwork":
        first, print_of_track = options.get("first_player", 0), options.get("variant", "revised")
        return Patchwork(seed, first_player=first, special_patches=print_of_track)
    return Nmbr9(seed, players=options.get("players", 1), order=options.get("order", "unknown"))


def _random_action(game: BaseGame, rng: np.random.Generator) -> int:
    legal = game.legal_actions()
    return int(legal[rng.integers(len(legal))])

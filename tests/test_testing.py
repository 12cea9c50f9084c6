"""The checks for authors of games and agents: ours pass them, and they find each broken promise."""

from __future__ import annotations

import importlib
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from patchwork_env.agents import Agent
from patchwork_env.core.compile import kernel
from patchwork_env.core.kernels import kernels_of
from patchwork_env.games import rules_of
from patchwork_env.testing import check_agent, check_game
from tests import toy
from tests.envs.cases import LastAction
from tests.toy import engine

GAMES: list[tuple[str, dict[str, Any]]] = [
    ("patchwork", {"special_patches": "2014", "first_player": 1}),
    ("nmbr9", {"order": "unknown", "players": 1}),
    *(("nmbr9", {"order": order, "players": 3, "deck_size": 5}) for order in ("known", "free")),
    ("row", {}),
]


@pytest.mark.parametrize(("name", "options"), GAMES)
def test_our_games_keep_their_promises(name, options):
    check_game(rules_of(name), games=2, **options)


@kernel
def ends_too_early(states: Any, i: int) -> bool:
    return bool(states[i]["free"] < 2048)


@kernel
def counts_wrong(states: Any, i: int, legal_set: Any) -> int:
    return int(engine.legal(states, i, legal_set)) + 1


@kernel
def scores_the_other(states: Any, i: int, player: int) -> int:
    return int(engine.score(states, i, 1 - player))


@kernel
def always_wins(states: Any, i: int, player: int) -> float:
    return 1.0


@kernel
def leaves_gaps(states: Any, i: int, observer: int, out: Any) -> None:
    out[:-1] = 0


@kernel
def is_too_large(states: Any, i: int, observer: int, out: Any) -> None:
    out[:] = 2


@kernel
def draws_elsewhere(states: Any, i: int, streams: Any, initial_state: Any, flags: int) -> None:
    engine.deal(states, i, streams, initial_state, flags)
    if i:
        states[i]["free"] = states[0]["free"] & (states[0]["free"] - 1)


@kernel
def betrays(states: Any, i: int, streams: Any) -> None:
    states[i]["free"] = 1


@kernel
def knows_no_bound(states: Any, i: int, action: int) -> bool:
    return action >= 0


def test_a_game_without_a_kernel_is_an_error_that_names_it():
    with pytest.raises(AttributeError, match="the game 'row' has no kernel 'is_over'"):
        kernels_of("row", (ModuleType("none"),), (1, 1), 2)


def broken(monkeypatch, **changes):
    """The rules of Row with other kernels, or other values."""
    kernels = ModuleType("broken_kernels")
    for name in [name for name, change in changes.items() if callable(change) and hasattr(engine, name)]:
        setattr(kernels, name, changes.pop(name))
    for name in ("is_legal", "determinize", "outcome"):
        if name in changes:
            setattr(kernels, name, changes.pop(name))
    module: Any = ModuleType("broken_row")
    rules = replace(toy.RULES, module="broken_row", engine=(engine, kernels), **changes)
    module.Game = type("Game", (toy.Game,), {"rules": rules, "__slots__": (), "__module__": module.__name__})
    monkeypatch.setitem(sys.modules, "broken_row", module)
    return rules


@pytest.mark.parametrize(
    ("changes", "promise"),
    [
        ({"is_over": ends_too_early}, "until the game is over"),
        ({"legal": counts_wrong}, "legal must return the number"),
        ({"score": scores_the_other}, "no score but that of its player"),
        ({"outcome": always_wins}, "must add up to 0"),
        ({"write_observation": leaves_gaps}, "write every entry"),
        ({"write_observation": is_too_large}, "within 0 and layout.upper_bounds"),
        ({"deal": draws_elsewhere}, "deal must draw from the stream"),
        ({"determinize": betrays}, "determinize"),
        ({"is_legal": knows_no_bound}, "must be refused|is_legal must agree"),
        ({"max_legal_actions": 3}, "of max_legal_actions 3"),
        ({"max_players": 1}, "players"),
        ({"limits": lambda states: {"current_player": (2, 3)}}, "must be accepted"),
    ],
)
def test_broken_promises_of_games_are_found(changes, promise, monkeypatch):
    rules = broken(monkeypatch, **changes)
    with pytest.raises(AssertionError, match=promise):
        check_game(rules, games=5)


def test_a_copy_of_the_toy_is_a_game_of_its_own(tmp_path, monkeypatch):
    shutil.copytree(Path(toy.__file__).parent, tmp_path / "copied_row")
    monkeypatch.syspath_prepend(tmp_path)
    copied = importlib.import_module("copied_row")
    for module in copied.RULES.engine:
        assert Path(module.__file__).is_relative_to(tmp_path)
    assert copied.RULES.game is copied.Game


def test_rules_that_no_other_process_finds_are_refused():
    with pytest.raises(AssertionError, match="rules must be"):
        check_game(replace(toy.RULES))


class Player(LastAction):
    """Plays with a function."""

    name = "told"
    games = ("row", "nmbr9")

    def __init__(self, act):
        self._act = act

    def act(self, game):
        """See :meth:`Agent.act`."""
        if game.is_over:
            raise ValueError("the game is over")
        return self._act(game)


def spoils(game):
    action = int(game.legal_actions()[0])
    game.play(action)
    return action


@pytest.mark.parametrize(
    ("act", "game", "promise"),
    [
        (lambda game: game.legal_actions()[0], "row", "must answer an int"),
        (lambda game: int(np.argmin(game.action_mask())), "row", "is illegal"),
        (spoils, "row", "changed it"),
        (
            lambda game: int(game.legal_actions()[game.deck[-1] % 2]),
            "nmbr9",
            "must not use hidden information",
        ),
    ],
)
def test_broken_promises_of_agents_are_found(act, game, promise):
    with pytest.raises(AssertionError, match=promise):
        check_agent(Player(act), game=game, games=3)
    check_agent(Player(lambda game: int(game.legal_actions()[-1])), game=game)


def test_agents_that_play_on_after_the_end_are_found():
    class Restless(Agent):
        name, games = "restless", ("row",)

        def act(self, game):
            return 0 if game.is_over else int(game.legal_actions()[0])

        def act_batch(self, states):
            games = [toy.Game.unchecked(states, i) for i in range(len(states))]
            return np.array([self.act(game) for game in games], np.int64)

    with pytest.raises(AssertionError, match="must refuse a game that is over"):
        check_agent(Restless())

"""Environments and games by name: registered, and of installed packages."""

import pickle
import sys

import gymnasium
import numpy as np
import pytest

from patchwork_env import games
from patchwork_env.errors import UnknownOptionError
from tests.envs.cases import ROW

IDS = [
    f"patchwork_env:{name}"
    for name, spec in gymnasium.registry.items()
    if str(spec.entry_point).startswith(("patchwork_env.patchwork_v0", "patchwork_env.nmbr9_v0"))
]


@pytest.mark.parametrize("name", IDS)
def test_misspelt_options_are_named_with_the_nearest(name):
    for make in (gymnasium.make, gymnasium.make_vec):
        with pytest.raises(UnknownOptionError, match="'oponent'; did you mean 'opponent'"):
            make(name, oponent=1)
    envs = gymnasium.make_vec(name, vectorization_mode="sync", max_episode_steps=1)
    _, infos = envs.reset(seed=1)
    assert envs.step(infos["action_mask"].argmax(axis=1))[3].all()
    gymnasium.make_vec(name, num_envs=2, autoreset_mode="SameStep", render_mode=None).reset(seed=np.int64(3))


def test_another_game_is_registered_in_one_call():
    assert "row" in games.GAMES
    assert games.rules_of("row") is games.rules_of(ROW.empty_states(1)) is ROW
    games.register("row", "tests.toy")
    with pytest.raises(ValueError, match="there is a game 'row' already"):
        games.register("row", "somewhere.else")
    with pytest.raises(ValueError, match="there is a game 'patchwork' already"):
        games.register("patchwork", "patchwork_env.patchwork", "other.parts")
    with pytest.raises(ValueError, match="no game 'roww' \\(did you mean 'row'"):
        games.rules_of("roww")
    with pytest.raises(ValueError, match="not those of a game"):
        games.rules_of(np.zeros(1, np.dtype([("current_player", "u1")])))


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """An installed package with four games: one imports another, and two cannot be loaded."""
    promises = {"column": "own_rules", "inner": "own_inner"}
    promises |= {"broken": "no.such.module", "misnamed": "tests.toy:RULES"}
    metadata = tmp_path / "own_games-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Name: own-games\nVersion: 1.0\n", encoding="utf-8")
    lines = [f"[{games.ENTRY_POINT_GROUP}]", *(f"{name} = {module}" for name, module in promises.items())]
    (metadata / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")
    for module, other, changes in (
        ("own_inner", "tests", "name='inner', dtype=[('inner', 'u1')]"),
        ("own_rules", "own_inner", "name='column'"),
    ):
        (tmp_path / f"{module}.py").write_text(
            f"import {other}\n"
            "from dataclasses import replace\n"
            "from tests import toy\n"
            "class Game(toy.Game):\n"
            f"    rules = replace(toy.RULES, module=__name__, {changes})\n"
        )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(games, "_MODULES", games._MODULES.copy())
    games._modules.cache_clear()
    yield
    for module in ("own_inner", "own_rules"):
        sys.modules.pop(module, None)
    games._modules.cache_clear()


def test_games_of_other_packages_are_found_by_their_entry_points(installed):
    assert {"patchwork", "row", "column"} < set(games.GAMES)
    rules = games.rules_of("column")
    assert (rules.name, pickle.loads(pickle.dumps(rules))) == ("column", rules)
    assert games.rules_of(ROW.empty_states(1)).name == "row"  # a broken game does not matter to others
    with pytest.raises(ValueError, match="'broken' cannot be loaded"):
        games.rules_of("broken")
    with pytest.raises(ValueError, match="has the rules of 'row'"):
        games.rules_of("misnamed")


def test_records_of_a_game_that_another_game_imports_are_recognized(installed):
    assert games.rules_of(np.zeros(1, np.dtype([("inner", "u1")]))).name == "inner"

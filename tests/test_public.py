"""What users may rely on: every public name is there, and what is there by accident is not public."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from types import ModuleType

import pytest

from patchwork_env import errors

MODULES = ["", ".agents", ".errors", ".games", ".patchwork", ".nmbr9", ".patchwork.render", ".nmbr9.render"]
MODULES += [".patchwork_v0", ".nmbr9_v0", ".testing", ".learning.toolbox"]


def module(name: str) -> ModuleType:
    return importlib.import_module(f"patchwork_env{name}")


@pytest.mark.parametrize("name", MODULES)
def test_all_names_are_there_and_in_order(name: str) -> None:
    names = module(name).__all__
    constants = sorted(n for n in names if n.isupper())
    classes = sorted(n for n in names if not n.isupper() and n[0].isupper())
    others = sorted(n for n in names if n[0] == "_" or n[0].islower())
    assert names == [*constants, *classes, *others]
    assert len(set(names)) == len(names)
    for public in names:
        assert getattr(module(name), public) is not None
        assert public in dir(module(name))


@pytest.mark.parametrize("game", ["patchwork", "nmbr9"])
def test_everything_imported_by_the_package_of_a_game_is_public(game: str) -> None:
    package = module(f".{game}")
    here = {name for name, value in vars(package).items() if not isinstance(value, ModuleType)}
    stray = {name for name in here if not name.startswith("_")} - set(package.__all__)
    assert stray == {"annotations"}


def test_both_games_offer_the_same_names() -> None:
    patchwork, nmbr9 = set(module(".patchwork").__all__), set(module(".nmbr9").__all__)
    assert patchwork - nmbr9 == {"PATCHES", "Patch"}
    assert nmbr9 - patchwork == {"TILES"}


def test_all_errors_are_public_and_documented() -> None:
    defined = {name for name, value in vars(errors).items() if inspect.isclass(value)}
    raised = {name for name in defined if issubclass(getattr(errors, name), Exception)}
    assert raised == set(errors.__all__)
    assert all(getattr(errors, name).__doc__ for name in errors.__all__)


RENAMED = {
    "polyomino": "core.polyomino",
    "patchwork.vector_env": "patchwork_v0",
    "nmbr9.aec_env": "nmbr9_v0",
    "patchwork_v0.SelfPlayVectorEnv": "patchwork_v0.SelfPlayBatch",
    "nmbr9_v0.SelfPlayVectorEnv": "nmbr9_v0.SelfPlayBatch",
    "agents.MctsAgent": "agents.patchwork.mcts.MctsAgent",
    "agents.checkpoint": "agents.patchwork.policy",
    "agents.dense": "agents.patchwork.dense",
    "agents.network": "agents.patchwork.policy_network",
    "learning.toolbox.keep_freed_memory": "learning.toolbox.tune_malloc",
    "patchwork.Game.imagine": "nmbr9.Game.determinize",
    "patchwork_v0.SelfPlayBatch.winners": "envs.self_play.BatchArrays.rewards",
    "nmbr9_v0.Nmbr9AECEnv.observation_of": "nmbr9.Game.observation",
}
"""Names that documents have shown, and the present ones."""


@pytest.mark.parametrize(("old", "now"), RENAMED.items())
def test_an_old_name_is_an_error_that_gives_the_present_one(old: str, now: str) -> None:
    assert pkgutil.resolve_name(f"patchwork_env.{now}") is not None
    place, _, name = f"patchwork_env.{old}".rpartition(".")
    owner = pkgutil.resolve_name(place)
    ask = f"owner.{name}" if inspect.isclass(owner) else f"from {place} import {name}"
    with pytest.raises((AttributeError, ImportError), match=rf"{name} is .*\b{now.rpartition('.')[2]} now"):
        exec(ask, {"owner": owner})

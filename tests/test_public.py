"""The public names of the modules of the reference, and their signatures.

``public.json`` has them. A test prints what has gone (-) and what is new (+). After a change made on purpose,
which CHANGELOG.md tells, record them anew; what needs other libraries, where these are installed:

    python -m tests.test_public --record
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
import re
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

from docs.generated import MODULES
from patchwork_env import errors
from patchwork_env.errors import MissingExtraError

FILE = Path(__file__).with_name("public.json")
PUBLIC = ["patchwork_env", *MODULES]
MARKS = dict.fromkeys(
    (f"patchwork_env.integrations.{name}" for name in ("minari", "open_spiel", "torchrl")),
    pytest.mark.libraries,
) | {"patchwork_env.integrations.pgx": pytest.mark.jax}
"""The marks of modules that need other libraries."""
modules = pytest.mark.parametrize("name", [pytest.param(name, marks=MARKS.get(name, ())) for name in PUBLIC])


INTERNAL = re.findall(
    r"\w+",
    """
    GAMES TRAINER add_snapshot_if_due begin by_set_up check_game check_states choose_opponents close
    encode_fully features_of fixed_values forfeit get_extra_state has_game joined kept kind_scores kinds_of
    load_opponent_keys load_state_dict look_ahead looks_ahead metadata model_config num_kinds opponent_keys
    part pictures placement_maps prepare_maps record_results require_action rules set_extra_state set_ups
    state_dict step_async step_wait successor_values_of successor_values_shape test trunk_of unchecked
    workspace wrapped
    """,
)
"""Members of classes that only the package itself and its subclasses need; they may change at any time."""


def module(name):
    return importlib.import_module(f"patchwork_env{name}")


def offered(name):
    """The public names of a module in lines: how they are called, and the members of classes.

    A class that several modules offer, or one under several names, is described in its first place.
    """
    there = importlib.import_module(name)
    lines = []
    for public in there.__all__:
        value = getattr(there, public)
        first = first_places().get(value) if inspect.isclass(value) else None
        if first in (None, f"{name}.{public}"):
            lines += described(public, value)
        else:
            lines.append(f"{public} is {first}")
    return lines


@cache
def first_places():
    """The first place of every class that public modules offer; libraries that are missing offer none."""
    places = {}
    for name in PUBLIC:
        with suppress(MissingExtraError):
            there = importlib.import_module(name)
            for public in there.__all__:
                if inspect.isclass(value := getattr(there, public)):
                    places.setdefault(value, f"{name}.{public}")
    return places


def described(name, value):
    if inspect.isclass(value) and issubclass(value, Exception):
        yield f"{name}: {', '.join(base.__name__ for base in value.__bases__)}"
    elif inspect.isclass(value):
        yield name + parameters(value)
        for member in own_members(value):
            yield from described(f"{name}.{member}", inspect.getattr_static(value, member))
    elif isinstance(value, classmethod | staticmethod):
        yield name + parameters(value.__func__)
    elif callable(value):
        yield name + parameters(value)
    elif isinstance(value, int | str):
        yield f"{name} = {value!r}"
    else:
        yield f"{name}: {type(value).__name__}"


def own_members(kind):
    """The public members of a class that this package defines, but for fields that its parameters show.

    Members that it inherits from a public class are described there.
    """
    bases = [base for base in kind.__mro__ if base.__module__.startswith("patchwork_env")]
    ours = [vars(base) for base in bases if base is kind or base not in first_places()]
    own = {name: value for members in reversed(ours) for name, value in members.items()}
    own = {name: value for name, value in own.items() if name not in getattr(kind, "_fields", ())}
    return sorted(name for name in own if name[0] != "_" and name not in INTERNAL)


def parameters(value):
    """Names, kinds and defaults of parameters."""
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):  # of a type such as an array of records
        return ""
    plain = [each.replace(annotation=each.empty) for each in signature.parameters.values()]
    text = str(signature.replace(parameters=plain, return_annotation=signature.empty))
    return re.sub(r"\w+Path\(.*?\)", "…", text)  # the folder of this clone


def recorded():
    found: dict[str, list[str]] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def changes(before, now):
    gone, new = ([f"- {x}" for x in before if x not in now], [f"+ {x}" for x in now if x not in before])
    return "\n".join(gone + new)


def record():
    """Records what the modules offer, but for those whose library is missing, and prints what has changed."""
    before = recorded() if FILE.exists() else {}
    now = {}
    for name in PUBLIC:
        try:
            now[name] = offered(name)
        except MissingExtraError as error:
            now[name] = before.get(name, [])
            print(f"{name} stays: {error}")
        print(changes(before.get(name, []), now[name]) or f"{name}: as before")
    FILE.write_text(json.dumps(now, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


@modules
def test_what_is_public_is_on_record(name):
    pytest.importorskip(name, exc_type=MissingExtraError)
    changed = changes(recorded()[name], offered(name))
    assert not changed, f"{name} has changed; on purpose? python -m tests.test_public --record\n{changed}"


def test_no_other_module_is_on_record():
    assert list(recorded()) == PUBLIC


@modules
def test_all_names_are_there_and_in_order(name):
    there = pytest.importorskip(name, exc_type=MissingExtraError)
    names = there.__all__
    constants = sorted(n for n in names if n.isupper())
    classes = sorted(n for n in names if not n.isupper() and n[0].isupper())
    others = sorted(n for n in names if n[0] == "_" or n[0].islower())
    assert names == [*constants, *classes, *others]
    assert len(set(names)) == len(names)
    assert set(names) <= set(dir(there))


@pytest.mark.parametrize("game", ["patchwork", "nmbr9"])
def test_everything_imported_by_the_package_of_a_game_is_public(game):
    package = module(f".{game}")
    here = {name for name, value in vars(package).items() if not isinstance(value, ModuleType)}
    stray = {name for name in here if not name.startswith("_")} - set(package.__all__)
    assert stray == {"annotations"}


def test_both_games_offer_the_same_names():
    patchwork, nmbr9 = set(module(".patchwork").__all__), set(module(".nmbr9").__all__)
    assert patchwork - nmbr9 == {"PATCHES", "Patch"}
    assert nmbr9 - patchwork == {"TILES"}


def test_all_errors_are_public_and_documented():
    defined = {name for name, value in vars(errors).items() if inspect.isclass(value)}
    raised = {name for name in defined if issubclass(getattr(errors, name), Exception)}
    assert raised == set(errors.__all__)
    assert all(getattr(errors, name).__doc__ for name in errors.__all__)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Records what is public; see the beginning of this file.")
    parser.add_argument("--record", action="store_true", required=True)
    parser.parse_args()
    record()

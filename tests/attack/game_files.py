"""Mutated settings of tournaments: refused with an error that names the file, or used."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from numpy.random import Generator

from tests.attack.mutations import ODD_TEXTS, mutate_text
from tests.attack.sound import pick

BATCH, GAMES = 100, 4
_ODD = (
    None,
    True,
    -1,
    0,
    1,
    2,
    2**70,
    0.5,
    -1.5,
    1e308,
    float("nan"),
    float("inf"),
    [],
    {},
    [[]],
    *ODD_TEXTS[:30],
)


def tournament_files(random: Generator) -> int:
    """The settings of a small tournament, as text and value by value."""
    from patchwork_env.learning.evaluation import Tournament

    with tempfile.TemporaryDirectory() as folder:
        for _ in range(BATCH):
            path = Path(folder, "tournament.json")
            path.write_text(_mutated(_settings(), random), encoding="utf-8", errors="replace")
            _refused_or(Tournament.resume, Path(folder))
    return BATCH


def _refused_or(read: Callable[..., Any], *given: Any) -> Any:
    """What ``read`` returns; None if it refuses a file and names it, whatever it quotes from inside."""
    try:
        return read(*given)
    except (ValueError, FileNotFoundError, ImportError) as error:
        message = str(error)
    assert len(message) < 1000, message[:200]
    return None


@cache
def _settings() -> str:
    """The settings of a tournament."""
    from patchwork_env.learning.evaluation import Tournament

    with tempfile.TemporaryDirectory() as folder:
        Tournament.enter(["random", "greedy"], GAMES).play(Path(folder))
        return Path(folder, "tournament.json").read_text()


def _mutated(text: str, random: Generator) -> str:
    """JSON that changed as text, or in one of its values."""
    if random.random() < 0.3:
        return mutate_text(text, random)
    contents = json.loads(text)
    holder, key = contents, None
    for _ in range(random.integers(1, 5)):
        if not isinstance(holder, dict | list) or not holder:
            break
        parent, key = holder, pick(random, holder if isinstance(holder, dict) else range(len(holder)))
        holder = parent[key]
    if key is None:
        return text
    if random.random() < 0.2:
        del parent[key]
    else:
        parent[key] = pick(random, (*_ODD, holder, [holder]))
    return json.dumps(contents)


ATTACKS: dict[str, Any] = {
    "tournament_files": tournament_files,
}

"""Mutated files of tournaments: refused with an error that names the file, or told."""

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
    """The settings and the games of a small tournament, as text and value by value."""
    settings, blocks = _played()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(BATCH):
            changed_settings, changed_block = settings, pick(random, blocks)
            if number % 3:
                changed_block = _mutated(changed_block, random)
            else:
                changed_settings = _mutated(settings, random)
            _read(Path(folder), changed_settings, changed_block)
    return BATCH


def _read(folder: Path, settings: str, block: str) -> None:
    from patchwork_env.learning.evaluation import Tournament
    from patchwork_env.learning.evaluation.matches import read_block
    from patchwork_env.learning.evaluation.runners import Match
    from patchwork_env.learning.evaluation.store import GameStore

    (folder / "blocks").mkdir(exist_ok=True)
    (folder / "tournament.json").write_text(settings, encoding="utf-8", errors="replace")
    (folder / "blocks" / "part.json").write_text(block, encoding="utf-8", errors="replace")
    _refused_or(Tournament.resume, folder)
    (part,) = Match((0, 1), ("a", "b"), "patchwork", "revised", GAMES, 0).blocks()
    result = _refused_or(GameStore(folder).read, "part", lambda read: read_block(part, read))
    if result is not None:
        result.as_dict(), result.table()


def _refused_or(read: Callable[..., Any], *given: Any) -> Any:
    """What ``read`` returns; None if it refuses a file and names it, whatever it quotes from inside."""
    try:
        return read(*given)
    except (ValueError, FileNotFoundError, ImportError) as error:
        message = str(error)
    assert len(message) < 1000, message[:200]
    return None


@cache
def _played() -> tuple[str, list[str]]:
    """The settings and the games of a tournament."""
    from patchwork_env.learning.evaluation import Tournament

    with tempfile.TemporaryDirectory() as folder:
        Tournament.enter(["random", "greedy"], GAMES).play(Path(folder))
        blocks = [path.read_text() for path in sorted(Path(folder, "blocks").iterdir())]
        return Path(folder, "tournament.json").read_text(), blocks


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

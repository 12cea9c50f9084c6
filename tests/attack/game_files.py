"""Mutated files of tournaments and gauntlets: refused with an error that names the file, or told."""

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

BATCH, FEW, GAMES = 100, 20, 4
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
    from patchwork_env.learning.evaluation.blocks import PlayedBlock, split
    from patchwork_env.learning.evaluation.results import MatchResult
    from patchwork_env.learning.evaluation.store import GameStore

    (folder / "blocks").mkdir(exist_ok=True)
    (folder / "tournament.json").write_text(settings, encoding="utf-8", errors="replace")
    (folder / "blocks" / "part.json").write_text(block, encoding="utf-8", errors="replace")
    _refused_or(Tournament.resume, folder)
    (part,) = split("patchwork", "revised", GAMES, 0)
    played = _refused_or(GameStore(folder).read, "part", lambda read: PlayedBlock.from_dict(read, part))
    if played is not None:
        result = MatchResult("a", "b", part.seed, part.variant, played.games, (), played.seconds)
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


def gauntlet_files(random: Generator) -> int:
    """The settings and the games of a match of the gauntlet, and the file of a pool."""
    from patchwork_env.learning.evaluation import gauntlet

    settings, blocks = _met()
    with tempfile.TemporaryDirectory() as folder:
        match, pool = Path(folder, "random"), Path(folder, "pool.json")
        (match / "blocks").mkdir(parents=True)
        for number in range(FEW):
            if number % 2:
                pool.write_text(_mutated(_pool(), random), encoding="utf-8", errors="replace")
                read = _refused_or(gauntlet.pool_of, 2, pool)
                if read is not None:
                    _refused_or(read.ratings), read.specs
                continue
            changed = dict(blocks)
            name = pick(random, blocks)
            changed[name] = _mutated(changed[name], random)
            texts = {f"blocks/{name}": text for name, text in changed.items()}
            texts["tournament.json"] = _mutated(settings, random) if number % 6 == 0 else settings
            for name, text in texts.items():
                (match / name).write_text(text, encoding="utf-8", errors="replace")
            for result in _refused_or(_meet, Path(folder)) or ():
                result.as_dict(), result.table()
    return FEW


def _meet(folder: Path) -> Any:
    """Plays a match of a gauntlet, as far as it is not in a folder."""
    from patchwork_env.learning.evaluation.gauntlet import Meeting, play_meetings
    from patchwork_env.learning.evaluation.players import Entrant

    entrants = [Entrant.load("random"), Entrant.load("greedy")]
    return play_meetings(entrants, [Meeting(0, 1, GAMES, 1, "random")], 0, "revised", folder=folder)


@cache
def _met() -> tuple[str, dict[str, str]]:
    """The settings of a match of a gauntlet, and its games by the name of the file."""
    with tempfile.TemporaryDirectory() as folder:
        _meet(Path(folder))
        match = Path(folder, "random")
        blocks = {path.name: path.read_text() for path in sorted((match / "blocks").iterdir())}
        return (match / "tournament.json").read_text(), blocks


@cache
def _pool() -> str:
    """The file of a pool of the gauntlet."""
    from patchwork_env.learning.evaluation.gauntlet import pool_file

    return pool_file(2).read_text(encoding="utf-8")


ATTACKS: dict[str, Any] = {
    "tournament_files": tournament_files,
    "gauntlet_files": gauntlet_files,
}

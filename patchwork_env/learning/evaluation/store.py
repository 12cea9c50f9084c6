"""The folder of a tournament: its settings, and the games that have been played so far, block by block.

    DIR/tournament.json                    the settings
    DIR/blocks/000_against_001_000064.json  games of the first two agents, from circle 64 on

Every file is complete or absent, so that a tournament goes on where it was stopped, however that happened.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from patchwork_env import __version__
from patchwork_env.errors import OtherSettingsError
from patchwork_env.games import PATCHWORK
from patchwork_env.learning.evaluation.contests import contest_of
from patchwork_env.learning.evaluation.matches import BLOCK_SIZE, Task
from patchwork_env.learning.evaluation.paired_games import Played
from patchwork_env.learning.runs.ladder import Rung
from patchwork_env.learning.system.files import remove_partial, storing_in, write_text
from patchwork_env.learning.system.lock import sole_user

SETTINGS_FILE = "tournament.json"
FORMAT = "patchwork-env tournament"
VERSION = 1
_BLOCKS = "blocks"


@dataclass(frozen=True)
class Settings:
    """What decides the games of a tournament.

    Attributes:
        agents: As the command names them.
        weights: SHA-256 of the weights of each, None for those without.
        games: Of every pairing.
        seed: Of the circles or decks, and of the agents' random numbers.
        variant: What is played of the game.
        rungs: The first agents, if they are the rungs of a ladder.
        game: Its name.
        block_size: Circles or decks that are played at once.
        package: Version of the package.
    """

    agents: tuple[str, ...]
    weights: tuple[str | None, ...]
    games: int
    seed: int
    variant: str
    rungs: tuple[Rung, ...] = ()
    game: str = PATCHWORK
    block_size: int = BLOCK_SIZE
    package: str = __version__


@contextmanager
def open_store(folder: Path, settings: Settings) -> Iterator[BlockStore]:
    """The folder of a tournament, for this process alone; it is created if it does not exist.

    Args:
        folder: Its parents are created too.
        settings: Of the tournament.

    Raises:
        OtherSettingsError: The folder holds a tournament of other settings; the message names them.
        ValueError: The folder's settings are damaged.
        InUseError: Another process plays this tournament.
        StorageError: The folder cannot be written.
    """
    with storing_in(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with sole_user(folder):
        yield BlockStore(folder, settings)


class BlockStore:
    """Keeps the games of a tournament; see :func:`open_store`."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self._blocks = folder / _BLOCKS
        self._contest = contest_of(settings.game)
        path = folder / SETTINGS_FILE
        if path.exists():
            _check_same(read_settings(folder), settings, folder)
        with storing_in(folder):
            self._blocks.mkdir(exist_ok=True)
            remove_partial(folder)
            if not path.exists():
                contents = {"format": FORMAT, "version": VERSION, **_as_dict(settings)}
                write_text(path, json.dumps(contents, indent=1) + "\n")

    def has(self, task: Task) -> bool:
        """Whether the games of a task have been played."""
        return self._path(task).exists()

    def write(self, task: Task, played: Played) -> None:
        """Keeps the games of a task."""
        columns = {field.name: getattr(played.games, field.name).tolist() for field in fields(played.games)}
        text = json.dumps({"seconds": played.seconds, "games": columns}, separators=(",", ":"))
        with storing_in(self._blocks):
            write_text(self._path(task), text + "\n")

    def read(self, task: Task) -> Played:
        """The games of a task that have been played.

        Raises:
            ValueError: The file is damaged; the message names it.
        """
        path = self._path(task)
        try:
            contents = json.loads(path.read_text(encoding="utf-8"))
            games = self._contest.games_type(
                **{name: np.array(column) for name, column in contents["games"].items()}
            )
            seconds = float(contents["seconds"][0]), float(contents["seconds"][1])
            lengths = {len(getattr(games, field.name)) for field in fields(games)}
        except (ValueError, TypeError, KeyError, IndexError) as error:
            raise ValueError(
                f"{path} is damaged ({error!r}): delete it to have its games played again"
            ) from None
        if lengths != {self._contest.kind.games_per_set_up * (task.block.end - task.block.begin)}:
            raise ValueError(
                f"{path} is damaged (it holds {lengths} games): delete it to have them played again"
            )
        return Played(games, seconds)

    def _path(self, task: Task) -> Path:
        return self._blocks / f"{task.agent:03d}_against_{task.opponent:03d}_{task.block.begin:06d}.json"


def read_settings(folder: Path) -> Settings:
    """The settings of the tournament in a folder.

    Raises:
        FileNotFoundError: There is none.
        ValueError: They are damaged, or of another version.
    """
    path = folder / SETTINGS_FILE
    if not path.is_file():
        raise FileNotFoundError(f"{folder} holds no tournament: there is no {SETTINGS_FILE}")
    try:
        contents: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        found = contents.pop("format"), contents.pop("version")
        variant = contents.pop(contest_of(contents["game"]).kind.variant)
        agents, weights = tuple(contents.pop("agents")), tuple(contents.pop("weights"))
        steps = tuple(Rung(*rung) for rung in contents.pop("rungs"))
        settings = Settings(agents, weights, variant=variant, rungs=steps, **contents)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"{path} is damaged: {error!r}") from None
    if found != (FORMAT, VERSION):
        raise ValueError(f"{path} is {found}; this needs {(FORMAT, VERSION)}")
    return settings


def _as_dict(settings: Settings) -> dict[str, Any]:
    """Settings as plain data; the variant goes by the name that it has in the game."""
    values = asdict(settings)
    kind = contest_of(settings.game).kind
    return {"game": settings.game} | {
        kind.variant if key == "variant" else key: values[key] for key in values
    }


def _check_same(there: Settings, here: Settings, folder: Path) -> None:
    old, new = _as_dict(there), _as_dict(here)
    differences = [
        f"{key} there: {_shown(old.get(key))}, here: {_shown(new[key])}"
        for key in new
        if old.get(key) != new[key]
    ]
    if differences:
        raise OtherSettingsError(
            f"{folder} holds a tournament of other settings ({'; '.join(differences)}); "
            "name another folder, or give the settings that it has"
        )


def _shown(value: Any) -> str:
    return " ".join(str(entry)[:60] for entry in value) if isinstance(value, tuple) else repr(value)

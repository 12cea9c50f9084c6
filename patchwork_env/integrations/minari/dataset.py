"""A dataset of Minari's: the environment that it names, its id and folder, and its compressed files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, Self

import gymnasium
import h5py
import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.spaces import Dict
from gymnasium.utils import RecordConstructorArgs
from minari import __version__ as minari_version
from minari.dataset.minari_dataset import parse_dataset_id
from minari.dataset.minari_storage import MinariStorage
from minari.namespace import NAMESPACE_METADATA_FILENAME
from minari.storage import get_dataset_path

from patchwork_env.core.checks import as_path
from patchwork_env.core.files import storing_in, write_folder, write_text, write_through
from patchwork_env.core.game import Rules
from patchwork_env.core.names import short_repr
from patchwork_env.envs.spaces import GameSpaces
from patchwork_env.integrations.minari.episodes import Episode

ENTRY_POINT = "patchwork_env.integrations.minari:MaskedObservation"
"""Where datasets find the wrapper; it stands in their files, and must not change."""


class MaskedObservation(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Shows ``{"observation": …, "action_mask": …}``, as the turn-based environments and datasets do.

    >>> import gymnasium
    >>> env = MaskedObservation(gymnasium.make("patchwork_env:Patchwork-v0", opponent="random"))
    >>> observation, info = env.reset(seed=7)
    >>> sorted(observation)
    ['action_mask', 'observation']
    """

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        RecordConstructorArgs.__init__(self)
        gymnasium.Wrapper.__init__(self, env)
        mask = GameSpaces(env.unwrapped._rules).mask_space()  # type: ignore[attr-defined]
        self.observation_space = Dict({"observation": env.observation_space, "action_mask": mask})

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
        """Begins a game."""
        observation, info = self.env.reset(seed=seed, options=options)
        return _masked(observation, info), info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Plays an action; an illegal one, or one outside the space, does what the environment does."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return _masked(observation, info), reward, terminated, truncated, info


def _masked(observation: Any, info: Mapping[str, Any]) -> dict[str, Any]:
    return {"observation": observation, "action_mask": info["action_mask"]}


DATA = "data"  # the folder within that of a dataset that holds its files; Minari tells a dataset by it
_LONGEST_ID = 200


class Place(NamedTuple):
    """Where a dataset lies, or is to lie."""

    root: Path  # the folder of all datasets
    dataset_id: str  # such as ``"patchwork/self-play/champion-v0"``

    @classmethod
    def of_new(cls, dataset_id: str, root: Any = None) -> Self:
        """The place of a dataset to be written; with no ``root``, in Minari's own folder.

        A dataset there, or an id that Minari could not find again, is refused.
        """
        _check_id(dataset_id)
        top = get_dataset_path() if root is None else as_path(root)
        place = cls(top.absolute(), dataset_id)  # Minari cannot measure what lies in a relative folder
        place.require_free()
        return place

    @property
    def folder(self) -> Path:
        """The folder of the dataset."""
        return self.root / self.dataset_id

    @property
    def namespaces(self) -> list[Path]:
        """The folders between the root and the dataset, from the inside."""
        return list(self.folder.parents)[: self.dataset_id.count("/")]

    def require_free(self) -> None:
        """Raises FileExistsError if the dataset exists, or would lie within another one."""
        if self.folder.exists():
            raise FileExistsError(f"there is a dataset at {self.folder} already; take another id or version")
        for folder in self.namespaces:
            if (folder / DATA).exists():
                raise FileExistsError(f"{short_repr(self.dataset_id)} would lie within the dataset {folder}")

    def write_namespaces(self) -> None:
        """Makes the namespaces of the dataset known to Minari."""
        for folder in self.namespaces:
            if not (folder / NAMESPACE_METADATA_FILENAME).exists():
                write_text(folder / NAMESPACE_METADATA_FILENAME, "{}")

    @contextmanager
    def cleared_on_failure(self) -> Iterator[None]:
        """Deletes the folders of namespaces that are empty if an error or an interrupt ends the block."""
        try:
            yield
        except BaseException:
            for folder in self.namespaces:
                with suppress(OSError):  # it holds something
                    folder.rmdir()
            raise


def _check_id(dataset_id: Any) -> None:
    try:
        if not isinstance(dataset_id, str) or len(dataset_id) > _LONGEST_ID:
            raise ValueError
        parse_dataset_id(dataset_id)
        if {"", DATA} & set(dataset_id.split("/")):
            raise ValueError
    except (ValueError, TypeError):  # Minari's TypeError for an id without a version
        raise ValueError(
            f"the id of a dataset is {short_repr(dataset_id)}; it must be like 'namespace/name-v0': letters, "
            f"digits, '-' and '_', at most {_LONGEST_ID}, two at least for a namespace, which is not {DATA!r}"
        ) from None


_FILE = "main_data.hdf5"  # Minari's name of the file with the episodes
_COMPRESSION = {"compression": "gzip", "compression_opts": 6}
"""Which every HDF5 library can read. It takes a fiftieth of the time that ``champion:instant`` plays."""


class EpisodeFile:
    """The file with the episodes of a dataset, to which they are appended.

    Every array is one compressed chunk. Minari's own writer compresses nothing, and most of what is stored
    are zeros of action masks.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.episodes = self.steps = 0
        self._file = h5py.File(path, "w", libver="v110", track_order=True)

    def append(self, episode: Episode, about: Mapping[str, Any]) -> None:
        """Writes an episode, with further metadata."""
        steps = len(episode.actions)
        is_last = np.arange(steps) == steps - 1
        arrays = {
            "observations/observation": episode.observations,
            "observations/action_mask": episode.masks,
            "actions": episode.actions,
            "rewards": episode.rewards,
            "terminations": is_last,
            "truncations": np.zeros_like(is_last),
            "infos/ply": episode.plies,
        }
        with storing_in(self.path):
            group = self._file.create_group(f"episode_{self.episodes}")
            group.attrs.update({"id": self.episodes, "total_steps": steps, **about})
            for name, array in arrays.items():
                group.create_dataset(name, data=array, chunks=array.shape, **_COMPRESSION)
        self.episodes += 1
        self.steps += steps

    def close(self) -> None:
        """Closes the file."""
        self._file.close()


def write_dataset(
    place: Place,
    rules: Rules,
    environment: EnvSpec | None,
    metadata: Mapping[str, Any],
    fill: Callable[[EpisodeFile], None],
) -> None:
    """Writes a dataset with what ``fill`` appends; after an error nothing is left behind."""

    def write(folder: Path) -> None:
        data, spaces = folder / DATA, GameSpaces(rules)
        storage = MinariStorage.new(
            data, spaces.masked_space(named=False), spaces.action_space(), environment
        )
        file = EpisodeFile(data / _FILE)
        try:
            fill(file)
        finally:
            file.close()
        storage.update_metadata(
            {
                **metadata,
                "dataset_id": place.dataset_id,
                "minari_version": minari_version,
                "total_episodes": file.episodes,
                "total_steps": file.steps,
                "dataset_size": storage.get_size(),
            }
        )
        for path in (*data.iterdir(), data):
            write_through(path)
        place.require_free()

    with place.cleared_on_failure():
        write_folder(place.folder, write)
    place.write_namespaces()

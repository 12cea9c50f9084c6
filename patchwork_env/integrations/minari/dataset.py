"""A Minari dataset: its environment, id, folder and compressed files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import h5py
import numpy as np
import numpy.typing as npt
from gymnasium.envs.registration import EnvSpec
from gymnasium.spaces import Box, Dict
from gymnasium.utils import RecordConstructorArgs
from minari import __version__ as minari_version
from minari.dataset.minari_dataset import parse_dataset_id
from minari.dataset.minari_storage import MinariStorage
from minari.namespace import NAMESPACE_METADATA_FILENAME
from minari.storage import get_dataset_path

from patchwork_env.core.batches import Actions
from patchwork_env.core.files import storing_in, write_folder, write_text
from patchwork_env.core.names import short_repr
from patchwork_env.core.rules import Rules
from patchwork_env.core.tensors import Observation
from patchwork_env.envs.spaces import GameSpaces

ENTRY_POINT = "patchwork_env.integrations.minari:MaskedObservation"
"""The import path of the wrapper in stored datasets; it must not change."""


class MaskedObservation(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Shows ``{"observation": …, "action_mask": …}``, as datasets do; masks are uint8 ``(num_actions,)``.

    >>> import gymnasium
    >>> env = MaskedObservation(gymnasium.make("patchwork_env:Patchwork-v0", opponent="random"))
    >>> observation, info = env.reset(seed=7)
    >>> sorted(observation)
    ['action_mask', 'observation']
    """

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        RecordConstructorArgs.__init__(self)
        gymnasium.Wrapper.__init__(self, env)
        rules = env.unwrapped._rules  # type: ignore[attr-defined]
        self.observation_space = observation_space(rules, env.observation_space)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
        """Begin a game."""
        observation, info = self.env.reset(seed=seed, options=options)
        return _masked(observation, info), info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Play an action, as the wrapped environment does."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return _masked(observation, info), reward, terminated, truncated, info


def _masked(observation: Any, info: Mapping[str, Any]) -> dict[str, Any]:
    return {"observation": observation, "action_mask": info["action_mask"].view(np.uint8)}


def observation_space(rules: Rules, observation: gymnasium.Space[Any]) -> Dict:
    """Return the space of observations with masks, which are uint8 because TorchRL reads no int8."""
    return Dict({"observation": observation, "action_mask": Box(0, 1, (rules.num_actions,), np.uint8)})


DATA = "data"  # the folder with the files of a dataset, by which Minari recognizes one
_FILE = "main_data.hdf5"  # Minari's name of the file with the episodes
_LONGEST_ID = 200
_COMPRESSION = {"compression": "gzip", "compression_opts": 6}
"""The compression that every HDF5 library reads."""


class EpisodeData(NamedTuple):
    """One player's observations, masks, actions and rewards in a game with ``T`` decisions of this player.

    The last entries of observations, masks and plies are those at the end of the game.
    """

    observations: Observation  # float32 ``(T + 1, size)``, from this player's view
    masks: npt.NDArray[np.uint8]  # ``(T + 1, num_actions)``; at the end all zeros
    actions: Actions  # int64 ``(T,)``
    rewards: npt.NDArray[np.float64]  # float64 ``(T,)``
    plies: npt.NDArray[np.int16]  # the number of earlier actions of all players, int16 ``(T + 1,)``
    metadata: Mapping[str, Any]


def folder_of_new(dataset_id: str, root: Any = None) -> Path:
    """Return the folder of a dataset to be written, by default in Minari's own folder.

    FileExistsError if it exists, ValueError for an id that Minari cannot load.
    """
    try:
        if not isinstance(dataset_id, str) or len(dataset_id) > _LONGEST_ID:
            raise ValueError
        parse_dataset_id(dataset_id)
        if {"", DATA} & set(dataset_id.split("/")):
            raise ValueError
    except (ValueError, TypeError):  # Minari's TypeError for an id without a version
        raise ValueError(
            f"the id of a dataset is {short_repr(dataset_id)}; it must be like 'namespace/name-v0', with at "
            f"most {_LONGEST_ID} letters, digits, '-' and '_', and no namespace of one letter or {DATA!r}"
        ) from None
    top = get_dataset_path() if root is None else Path(root)
    folder = top.absolute() / dataset_id  # Minari cannot measure the size of a relative folder
    _require_free(folder)
    return folder


def _require_free(folder: Path) -> None:
    if folder.exists():
        raise FileExistsError(f"there is a dataset at {folder} already; take another id or version")


def write_dataset(
    folder: Path,
    dataset_id: str,
    rules: Rules,
    environment: EnvSpec | None,
    metadata: Mapping[str, Any],
    episodes: Iterable[EpisodeData],
) -> None:
    """Write a dataset atomically."""

    def write(partial: Path) -> None:
        data, spaces = partial / DATA, GameSpaces(rules)
        observations = observation_space(rules, spaces.flat_space())
        storage = MinariStorage.new(data, observations, spaces.action_space(), environment)
        steps = []
        with h5py.File(data / _FILE, "w", libver="v110", track_order=True) as file:
            for number, episode in enumerate(episodes):
                with storing_in(data / _FILE):
                    _write_episode(file, number, episode)
                steps.append(len(episode.actions))
        of_all = {"total_episodes": len(steps), "total_steps": sum(steps), "dataset_size": storage.get_size()}
        about = {"dataset_id": dataset_id, "minari_version": minari_version, **of_all}
        storage.update_metadata({**metadata, **about})
        _require_free(folder)

    write_folder(folder, write)
    for namespace in list(folder.parents)[: dataset_id.count("/")]:
        if not (namespace / NAMESPACE_METADATA_FILENAME).exists():
            write_text(namespace / NAMESPACE_METADATA_FILENAME, "{}")


def _write_episode(file: h5py.File, number: int, episode: EpisodeData) -> None:
    """Add an episode, every array as one compressed chunk.

    Minari's own writer compresses nothing, and most of the data are zeros of action masks.
    """
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
    group = file.create_group(f"episode_{number}")
    group.attrs.update({"id": number, "total_steps": steps, **episode.metadata})
    for name, array in arrays.items():
        group.create_dataset(name, data=array, chunks=array.shape, **_COMPRESSION)

"""Where datasets lie: their ids, and the folders that Minari finds them in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, Self

from minari.dataset.minari_dataset import parse_dataset_id
from minari.namespace import NAMESPACE_METADATA_FILENAME
from minari.storage import get_dataset_path

from patchwork_env.core.checks import as_path
from patchwork_env.core.files import write_text
from patchwork_env.core.names import short_repr

DATA = "data"
"""The folder within that of a dataset that holds its files; Minari tells a dataset by it."""
_LONGEST_ID = 200
"""The most characters of an id."""


class Place(NamedTuple):
    """Where a dataset lies, or is to lie.

    Attributes:
        root: The folder of all datasets.
        dataset_id: The id of the dataset, such as ``"patchwork/self-play/champion-v0"``.
    """

    root: Path
    dataset_id: str

    @classmethod
    def of_new(cls, dataset_id: str, root: Any = None) -> Self:
        """The place of a dataset that is to be written.

        Args:
            dataset_id: The id of the dataset.
            root: The folder of all datasets; None for Minari's own, which the environment variable
                ``MINARI_DATASETS_PATH`` names.

        Raises:
            ValueError: Minari could not find a dataset of this id again, or the root is no path.
            FileExistsError: There is such a dataset, or the id leads into another one.
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

"""Files and folders that are complete or absent, and on the disk when the function returns."""

import errno
import gc
import os
import warnings
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from patchwork_env.agents import checkpoints
from patchwork_env.agents.checkpoints import make_folder, write_folder
from patchwork_env.learning.system.files import GrowingFile, remove_partial, write_text
from tests.attack.disk_model import lose_power, recorded


def write_texts(path: Path, promise: Callable[[], None]) -> None:
    make_folder(path.parent)
    for text in ("old", "new"):
        write_text(path, text)
        promise()


def write_folders(path: Path, promise: Callable[[], None]) -> None:
    for text in ("old", "new"):
        write_folder(
            path.parent, lambda folder, text=text: (folder / path.name).write_text(text), replace=True
        )
        promise()


def grow(path: Path, promise: Callable[[], None]) -> None:
    make_folder(path.parent)
    file = GrowingFile(path)
    for text in ("o", "l", "d"):
        file.write(text.encode())
    file.sync()
    promise()
    file.close()


@pytest.mark.parametrize("write", [write_texts, write_folders, grow])
def test_what_was_written_survives_a_loss_of_power(
    write: Callable[[Path, Callable[[], None]], None], tmp_path: Path
) -> None:
    name = Path("deep", "folder", "file")
    with recorded(tmp_path) as recording:
        write(tmp_path / name, lambda: recording.promise(name, (tmp_path / name).read_bytes()))
    for moment, seed in product(range(len(recording.operations) + 1), range(8)):
        left = tmp_path / f"left-{moment}-{seed}"
        lose_power(recording, moment, left, np.random.default_rng(seed))
        remove_partial(left)
        recording.check(left, moment)
        assert not list(left.rglob("*.partial"))


def test_a_folder_that_cannot_be_synced_is_left_to_the_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync = os.fsync

    def refuse(handle: int) -> None:
        if Path(os.readlink(f"/proc/self/fd/{handle}")).is_dir():
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        sync(handle)

    monkeypatch.setattr(checkpoints.os, "fsync", refuse)
    write_text(tmp_path / "file", "text")
    assert (tmp_path / "file").read_text() == "text"


def test_a_growing_file_is_closed_with_its_object(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GrowingFile(tmp_path / "file")
        gc.collect()
    GrowingFile(tmp_path / "file").write(b"1")
    assert (tmp_path / "file").read_bytes() == b"1"

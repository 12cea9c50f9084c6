"""Files and folders are complete or absent."""

import errno
import gc
import os
import re
import stat
import warnings

import pytest

from patchwork_env.core.documents import read_text
from patchwork_env.core.files import GrowingFile, check_new, remove_partial, write_folder, write_text
from patchwork_env.errors import StorageError


def test_a_growing_file_is_closed_with_its_object(tmp_path, monkeypatch):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GrowingFile(tmp_path / "file")
        gc.collect()
    file = GrowingFile(tmp_path / "file")
    monkeypatch.setattr(os, "fsync", lambda number: os.write(number, b"2"))
    file.write(b"1")
    file.sync()
    assert (tmp_path / "file").read_bytes() == b"12"


def test_a_file_is_complete_or_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "figures.json"
    write_text(path, "old")
    assert read_text(path, most=3) == "old"
    with pytest.raises(ValueError, match="it has more than 2 bytes"):
        read_text(path, most=2)
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask

    def full_disk(file):
        assert os.fstat(file).st_size == len("new")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(StorageError, match=re.escape(f"cannot write to {path}: No space left")):
        write_text(path, "new")
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("figures.json", "old")]


def contents(folder):
    """Everything below a folder."""
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in folder.rglob("*")}


def test_folder_appears_only_when_it_is_complete(tmp_path):
    target, seen = tmp_path / "target", []

    def write(folder):
        (folder / "file").write_text("half")
        seen.append(target.exists())
        (folder / "file").write_text("whole")

    write_folder(target, write)
    assert seen == [False]
    assert contents(tmp_path) == {"target": None, os.path.join("target", "file"): b"whole"}


def write_new(folder):
    (folder / "file").write_text("new")


@pytest.fixture
def old(tmp_path):
    """A folder with a file."""
    folder = tmp_path / "target"
    write_folder(folder, lambda target: (target / "file").write_text("old"))
    return folder


def test_folders_are_replaced_only_on_demand_and_when_the_new_one_is_complete(tmp_path, old):
    def write_half(folder):
        write_new(folder)
        assert (old / "file").read_text() == "old"
        raise OSError("disk full")

    for create in (write_folder, lambda folder, _: check_new(folder, "--out", "remove it")):
        with pytest.raises(FileExistsError, match="target exists already"):
            create(old, write_new)
    with pytest.raises(OSError, match="disk full"):
        write_folder(old, write_half, replace=True)
    assert contents(tmp_path) == {"target": None, os.path.join("target", "file"): b"old"}
    write_folder(old, write_new, replace=True)
    assert contents(tmp_path) == {"target": None, os.path.join("target", "file"): b"new"}


def test_what_a_killed_process_left_incomplete_is_deleted(tmp_path):
    (tmp_path / "deep" / ".target-x.partial" / "filled").mkdir(parents=True)
    (tmp_path / "deep" / ".file-x.partial").write_text("half")
    (tmp_path / "deep" / "file").write_text("whole")
    remove_partial(tmp_path)
    assert contents(tmp_path) == {"deep": None, os.path.join("deep", "file"): b"whole"}

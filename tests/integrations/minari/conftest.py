"""Datasets to look at, each recorded once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest


@pytest.fixture(scope="session", autouse=True)
def root(tmp_path_factory) -> Path:
    """The folder of all datasets of the tests, which Minari finds."""
    folder = tmp_path_factory.mktemp("minari")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MINARI_DATASETS_PATH", str(folder))
        yield folder


@pytest.fixture(scope="session")
def files():
    """Reads all files of a folder, by their paths within it."""

    def read(folder: Path) -> dict[str, bytes]:
        paths = (path for path in sorted(folder.rglob("*")) if path.is_file())
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}

    return read


@pytest.fixture(scope="session")
def about():
    """What the metadata of a dataset say of how it was made."""

    def read(dataset) -> dict:
        text = (Path(dataset.storage.data_path) / "metadata.json").read_text()
        return json.loads(text)["patchwork_env"]

    return read

"""What is said of libraries that are missing."""

from __future__ import annotations

from importlib import metadata

import pytest

from patchwork_env.core.extras import from_extra, how_to_install


def test_the_missing_libraries_of_an_extra_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = ["numpy>=1", "pyyaml>=6; extra == 'train'", "no-such-a[x,y]<3,>=2; extra == 'train'"]
    listed += ['no-such-b>=1 ; extra == "train"', "no-such-c; extra == 'open-spiel'"]
    monkeypatch.setattr(metadata, "requires", lambda name: listed)
    assert how_to_install("other", "train") == "pip install 'no-such-a[x,y]' no-such-b"
    assert how_to_install("no_such_b", "train") == "pip install no-such-b"
    assert how_to_install("other", "open_spiel") == "pip install no-such-c"
    assert how_to_install("other", "unknown") == "pip install '.[unknown]' in a clone of the project"


def test_without_an_extra_errors_stay_as_they_are() -> None:
    for extra, message in (
        ("", "No module named 'no_such_module'"),
        ("hub", "these need no_such_module: pip "),
    ):
        with pytest.raises(ModuleNotFoundError, match=message), from_extra(extra, "these need"):
            __import__("no_such_module")

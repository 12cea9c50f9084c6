"""What is being compiled is told to the page and to the terminal."""

from __future__ import annotations

import io
from typing import Any

import pytest

from patchwork_env.core.progress import Compilation
from patchwork_env.play.compiling import telling


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("stream", [Terminal(), io.StringIO(), None], ids=["terminal", "file", "none"])
def test_every_compilation_is_told(stream: io.StringIO | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", stream)
    told: list[dict[str, Any]] = []
    compilation = Compilation()
    with telling(told.append, lambda: bool(told[1:])):  # from the second on
        compilation.begin("first", lambda: 3)
        compilation.begin("second", lambda: 1)
        compilation.begin("third", lambda: 1)
    compilation.begin("fourth", lambda: 1)
    assert [event["progress"] for event in told] == [f"compiling {number} of about 3" for number in (1, 2, 3)]
    assert told[0] | {"progress": ""} == {"progress": "", "key": "compiling", "count": 1, "expected": 3}
    if stream is not None:
        assert ("compiling 2 of about 3, once after an installation" in stream.getvalue()) == stream.isatty()
        assert not stream.getvalue().endswith("\n")  # soon enough, a file gets nothing

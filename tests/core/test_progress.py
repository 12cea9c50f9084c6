"""What those who wait hear of compilation."""

import io
import logging
from contextlib import redirect_stderr

import pytest
from numba import config
from numba.core.caching import NullCache

from patchwork_env.core import progress
from patchwork_env.core.compile import kernel
from patchwork_env.core.progress import QUIET, Compilation, Progress, listen

compiled_only = pytest.mark.skipif(config.DISABLE_JIT, reason="compiles kernels")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every compilation takes long enough to be told of."""
    monkeypatch.setattr(progress, "_PATIENCE", -1.0)
    monkeypatch.delenv(QUIET, raising=False)


def begin_three(compilation: Compilation) -> None:
    compilation.begin("first", lambda: 2)
    compilation.begin("first.inner", lambda: 1)
    compilation.end()
    compilation.end()
    compilation.begin("second", lambda: 1)
    compilation.end()


def two_kernels():
    """A kernel that calls another; neither is compiled yet or found on disk."""

    def halved(number):
        return number // 2

    def quarter(number):
        return halved(halved(number))

    halved, quarter = kernel(halved), kernel(quarter)
    halved.callee._cache = quarter._cache = NullCache()
    return quarter


def test_kernels_are_counted_with_those_that_they_call() -> None:
    heard = []
    with listen(heard.append):
        begin_three(Compilation())
    begin_three(Compilation())
    assert heard == [("first", 1, 2), ("first.inner", 2, 2), ("second", 3, 3)]


def test_expected_are_never_fewer_than_there_were() -> None:
    heard = []
    compilation = Compilation()
    with listen(heard.append):
        compilation.begin("for integers", lambda: 1)
        compilation.begin("for numbers", lambda: 1)
    assert heard[-1] == Progress("for numbers", number=2, expected=2)


@compiled_only
def test_compiling_tells_what_it_compiles_once() -> None:
    heard: list[Progress] = []
    quarter = two_kernels()
    with listen(heard.append):
        assert quarter(12) == quarter(13) == 3
    outer, inner = heard
    assert outer.kernel.endswith("quarter")
    assert inner.kernel.endswith("halved")
    assert (inner.number, inner.expected) == (outer.number + 1, outer.expected)


@compiled_only
def test_errors_of_listeners_are_logged_and_change_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def fail(_: Progress) -> None:
        raise RuntimeError("the page is closed")

    with caplog.at_level(logging.ERROR), listen(fail):
        assert two_kernels()(12) == 3
    assert "the page is closed" in caplog.text


def told(stream: io.StringIO | None) -> list[str]:
    """The lines that three compilations write to a standard error stream."""
    with redirect_stderr(stream):
        begin_three(Compilation())
    return [] if stream is None else stream.getvalue().splitlines()


def test_a_terminal_gets_one_line(slow: None) -> None:
    (line,) = told(Terminal())
    assert QUIET in line


def test_a_quick_compilation_is_not_worth_a_line(slow: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_PATIENCE", 60.0)
    assert told(Terminal()) == []


def test_those_who_listen_speak_themselves(slow: None) -> None:
    with listen(lambda _: None):
        assert told(Terminal()) == []


def test_nothing_is_written_to_pipes_or_where_quiet_is_wanted(
    slow: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert told(io.StringIO()) == told(None) == []
    monkeypatch.setenv(QUIET, "1")
    assert told(Terminal()) == []

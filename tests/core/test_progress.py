"""Progress reports."""

import io
from contextlib import redirect_stderr, redirect_stdout

import pytest
from numba import config
from numba.core.caching import NullCache

from patchwork_env.core import progress
from patchwork_env.core.compile import kernel
from patchwork_env.core.progress import QUIET, Bar, Compilation, listen

compiled_only = pytest.mark.skipif(config.DISABLE_JIT, reason="compiles kernels")


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def slow(monkeypatch):
    """Every compilation takes long enough for the line on stderr."""
    monkeypatch.setattr(progress, "_SECONDS_BEFORE_NOTICE", -1.0)
    monkeypatch.delenv(QUIET, raising=False)


def begin_three(compilation):
    compilation.begin("first")
    compilation.begin("first.inner")
    compilation.end()
    compilation.end()
    compilation.begin("second")
    compilation.end()


def test_kernels_are_reported_with_those_that_they_call():
    messages = []
    with listen(messages.append):
        begin_three(Compilation())
    begin_three(Compilation())
    kept = ", which is kept for later starts"
    assert messages == [f"compiling {kernel}{kept}" for kernel in ("first", "first.inner", "second")]


@compiled_only
def test_each_kernel_is_reported_once():
    def halved(number):
        return number // 2

    def quarter(number):
        return halved(halved(number))

    halved, quarter = kernel(halved), kernel(quarter)
    halved.linked._cache = quarter._cache = NullCache()  # neither is found on disk
    messages: list[str] = []
    with listen(messages.append):
        assert quarter(12) == quarter(13) == 3
    outer, inner = messages
    assert "quarter, " in outer
    assert "halved, " in inner


def written(stream):
    """The lines that three compilations write to a standard error stream."""
    with redirect_stderr(stream):
        begin_three(Compilation())
    return [] if stream is None else stream.getvalue().splitlines()


@pytest.mark.parametrize("stream", [Terminal(), io.StringIO()], ids=["terminal", "file"])
def test_there_is_one_line_about_compiling(slow, stream):
    (line,) = written(stream)
    assert line.startswith("patchwork_env is compiling first, which is kept for later starts")
    assert QUIET in line
    assert "patchwork-env compile" in line


def test_there_is_no_line_without_stderr_with_a_listener_in_little_time_or_if_quiet(slow, monkeypatch):
    assert written(None) == []
    with listen(lambda _: None):
        assert written(Terminal()) == []
    with monkeypatch.context() as patch:
        patch.setattr(progress, "_SECONDS_BEFORE_NOTICE", 60.0)
        assert written(Terminal()) == []
    monkeypatch.setenv(QUIET, "1")
    assert written(Terminal()) == []


@pytest.fixture
def clock(monkeypatch):
    """A list whose entry is the time in seconds."""
    now = [100.0]
    monkeypatch.setattr(progress, "perf_counter", lambda: now[0])
    return now


def test_the_line_comes_after_3_seconds_of_all_compilations(clock, monkeypatch):
    monkeypatch.delenv(QUIET, raising=False)
    compilation, stream = Compilation(), io.StringIO()
    with redirect_stderr(stream):
        for name in ("first", "second", "third"):
            compilation.begin(name)
            clock[0] += 2.0
            compilation.end()
    assert stream.getvalue().startswith("patchwork_env is compiling third,")


def shown(stream, clock, seconds):
    """The output of a bar of 100 games, one of which ends at each of the seconds, and of a text."""
    with redirect_stderr(stream), redirect_stdout(stream), Bar(100, "games", label="greedy") as bar:
        for second in seconds:
            clock[0] = 100.0 + second
            bar.update()
        bar.print("over")
    return stream.getvalue()


def test_a_terminal_has_a_bar_in_one_place(clock):
    written = shown(Terminal(), clock, [0.05, 1, 2])  # the first comes too soon after the line before
    states = [state.strip(" ") for state in written.split("\r")]
    assert states == [
        "",
        "greedy: 0%, 0 of 100 games",
        "greedy: 2%, 2 of 100 games, 2.0 a second, 0:00:01 gone, 0:00:49 left",
        "greedy: 3%, 3 of 100 games, 1.5 a second, 0:00:02 gone, 0:01:05 left",
        "",
        "over\n",
    ]


def test_files_get_plain_lines_every_30_seconds(clock):
    lines = shown(io.StringIO(), clock, [1, 2, *range(3, 300)]).splitlines()[:-1]
    assert lines[0] == "greedy: 3%, 3 of 100 games, 1.0 a second, 0:00:03 gone, 0:01:37 left"
    assert [int(line.split()[2]) for line in lines] == [3, 33, 63, 93, 123, 153, 183, 213, 243, 273]


def test_a_bar_begins_where_others_have_ended_and_has_notes(clock):
    bar = Bar(200, "steps", done=100)
    clock[0] += 10
    bar.note = "score 3.50"
    bar.update(50)
    assert str(bar) == "75%, 150 of 200 steps, 5.0 a second, 0:00:10 gone, 0:00:10 left, score 3.50"
    bar.update(16_384)
    assert str(bar).startswith("100%, 16,534 of 200 steps, ")

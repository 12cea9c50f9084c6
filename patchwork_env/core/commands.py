"""Parsing of arguments, reporting of errors and exit codes, for all commands."""

from __future__ import annotations

import argparse
import errno
import os
import select
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import Any, NoReturn, TextIO, cast

from patchwork_env.core.documents import one_line
from patchwork_env.core.extras import from_extra
from patchwork_env.core.files import check_file_path, check_new, check_writable
from patchwork_env.core.names import nearest, quoted, short_repr
from patchwork_env.errors import DivergenceError, OpponentError, UnknownOptionError, WorkerError

ERRORS = (
    *(ValueError, OSError, ImportError, MemoryError),
    *(OpponentError, WorkerError, DivergenceError, UnknownOptionError),
)
"""The errors for which commands print a message instead of a traceback."""
_NO_READER = 128 + 13  # the exit code of a process that SIGPIPE ends
_LONGEST = 1000  # characters of a message, which may quote long arguments


class _HelpFormatter(argparse.HelpFormatter):
    """Keeps the line breaks of texts with several lines, such as a module's docstring with examples."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if "\n" in text else super()._fill_text(text, width, indent)


class _Remembered(argparse.Action):
    """Stores the value of an option, and adds its name to ``given`` for :func:`refuse`."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        if option_string:
            vars(namespace).setdefault("given", set()).add(self.dest)
        setattr(namespace, self.dest, values)


class CommandParser(argparse.ArgumentParser):
    """A parser that refuses unknown arguments and truncates its messages."""

    def __init__(self, description: str | None = None, epilog: str | None = None) -> None:
        super().__init__(
            description=description, epilog=epilog, formatter_class=_HelpFormatter, allow_abbrev=False
        )
        self.register("action", None, _Remembered)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse all arguments; end the command with a message that names the first unknown one."""
        options, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unknown argument {short_repr(unknown[0])}; {self._hint(unknown)}")
        return options, unknown

    def _hint(self, unknown: Sequence[str]) -> str:
        """Return the advice about arguments that the parser does not know."""
        flags = [flag for flag in self._option_string_actions if flag.startswith("--")]
        flag, _, value = unknown[0].partition("=")
        close = nearest(flag, flags) if flag.startswith("-") else None
        if close and close != "--set":
            return f"did you mean {close}?"
        if "--set" not in flags:
            return f"options are {', '.join(flags)}"
        return set_hint(f"{flag.lstrip('-')}={value or (unknown[1] if len(unknown) > 1 else 'VALUE')}")

    def error(self, message: str) -> NoReturn:
        """Print the usage and a message, and end the command."""
        super().error(_cut(message))


def set_hint(assignment: str) -> str:
    """Return the advice for an assignment ``KEY=VALUE`` that was given without ``--set``."""
    return f"keys are set with --set, as in --set {quoted(one_line(assignment))}"


def refuse(options: argparse.Namespace, names: Sequence[str], reason: str) -> None:
    """Raise ValueError if options were given that would have no effect.

    ``names`` are those of the attributes; ``reason`` ends the sentence after the options' flags.
    """
    values = vars(options)
    given = [name for name in names if name in values.get("given", ()) or values[name] is True]
    if given:
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        raise ValueError(f"{flags} would have no effect: {reason}")


def _cut(message: str) -> str:
    return message if len(message) <= _LONGEST else f"{message[:_LONGEST]}…"


def add_overwrite(parser: argparse.ArgumentParser) -> None:
    """Add ``--overwrite``; see :func:`check_place`."""
    parser.add_argument("--overwrite", action="store_true", help="replace files that exist already")


def check_place(
    options: argparse.Namespace, path: Path | None, option: str, *, is_file: bool = False
) -> None:
    """Raise an OSError if the result of a command cannot be written or would replace a file.

    ``path`` is the value of ``option``. If it is None, ``--overwrite`` is a ValueError.
    """
    if path is None:
        refuse(options, ["overwrite"], f"it is for {option}")
        return
    if is_file:
        check_file_path(path, option)
    if not options.overwrite:
        check_new(path, option, "replace it with --overwrite")
    check_writable(path)


def run_command(
    parser: argparse.ArgumentParser,
    run: Callable[[argparse.Namespace], int],
    arguments: Sequence[str] | None,
    program: str,
    extras: str = "",
) -> int:
    """Parse the arguments of a command, by default those of the process, and call ``run`` with them.

    ``program`` is the name of the command: ``training.train`` or ``patchwork-env train``. ``extras`` are the
    extras that ``run`` needs; the parser needs none. Returns the exit code: 2 for an error, else that of
    ``run``.
    """
    parser.prog = f"python -m {program}" if program.startswith("training.") else program
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # files and pipes of Windows cannot encode most characters
            stream.reconfigure(errors="replace")

    def work() -> int:
        options = parser.parse_args(arguments)
        try:
            with from_extra(extras, "it needs"):
                return run(options)
        except ERRORS as error:
            if isinstance(error, BrokenPipeError) and not _is_read():
                raise
            print(f"{program}: {_cut(str(error)) or 'there is not enough memory'}", file=sys.stderr)
            return 2
        except KeyboardInterrupt:
            print(f"{program}: stopped", file=sys.stderr)
            return 130

    return while_read(work)


def while_read(work: Callable[[], int]) -> int:
    """Return the exit code of ``work``; end quietly if its output has no reader, as after ``head``."""
    try:
        try:
            return work()
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except BrokenPipeError:
        if _is_read():
            raise
        _drop(sys.stdout)  # Python flushes it at exit
        return _NO_READER


@contextmanager
def keep_working() -> Iterator[None]:
    """Within the block, the command continues after the reader of its output is gone, as after ``head``."""
    output = sys.stdout
    sys.stdout = cast(TextIO, _Droppable(output))
    try:
        yield
    finally:
        sys.stdout = output


class _Droppable:
    """A stream that discards all output after its reader or its terminal is gone."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        with self._dropping():
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with self._dropping():
            self._stream.flush()

    @contextmanager
    def _dropping(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.errno not in (errno.EPIPE, errno.EIO):  # the latter from a closed terminal
                raise
            _drop(self._stream)


def _drop(stream: TextIO) -> None:
    """Discard the buffer and all later output of a stream whose reader is gone."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _is_read() -> bool:
    """Whether the standard output can be written: it is not a pipe whose reader is gone."""
    output = select.poll()  # exists on the systems that have broken pipes
    try:
        output.register(sys.stdout.fileno(), 0)
    except (AttributeError, ValueError):  # it is not a file
        return True
    return not output.poll(0)

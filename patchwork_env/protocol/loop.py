"""From a stream of queries to a stream of answers, until the first one ends or nobody reads the second."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import IO

from patchwork_env.core.messages import MOST_BYTES, encoded, error_of
from patchwork_env.protocol.engine import Engine
from patchwork_env.protocol.tasks import Answer


class Writer:
    """Writes answers as lines; when nobody reads any more, it drops them and calls ``when_gone``."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self._lock = stream, threading.Lock()
        self.is_gone = False
        self.when_gone: Callable[[], None] = lambda: None

    def __call__(self, answer: Answer) -> None:
        """Writes an answer, or an error in its place if JSON cannot hold it."""
        try:
            line = encoded(answer)
        except ValueError as error:
            kept = {name: answer[name] for name in ("id", "ply") if name in answer}
            line = encoded({**kept, **error_of(f"the answer cannot be told: {error}")})
        with self._lock:
            if self.is_gone:
                return
            try:
                self._stream.write(line + b"\n")
                self._stream.flush()
            except (OSError, ValueError):  # a dead pipe, or a closed stream
                self.is_gone = True
        if self.is_gone:
            self.when_gone()


def serve(
    queries: IO[bytes], answers: IO[bytes], make: Callable[[Writer], Engine], *, drop: bool = False
) -> bool:
    """Answers queries until their stream ends, and then what is left of them unless ``drop``.

    Returns whether somebody read the answers to the end.
    """
    over = threading.Event()
    write = Writer(answers)
    engine = make(write)

    def stop() -> None:
        over.set()
        engine.pool.wake()

    write.when_gone = stop

    def read() -> None:
        try:
            for line in lines_of(queries):
                if line is None:
                    write(error_of(f"the line has more than {MOST_BYTES:,} bytes"))
                elif line.strip():
                    engine.handle(line)
                if write.is_gone:
                    break
        except (OSError, ValueError):  # the stream was closed
            pass
        finally:
            over.set()

    threading.Thread(target=read, name="queries", daemon=True).start()
    over.wait()
    if drop or write.is_gone:
        engine.pool.terminate()
    engine.pool.wait(lambda: write.is_gone)
    engine.pool.close()
    return not write.is_gone


def lines_of(stream: IO[bytes]) -> Iterator[bytes | None]:
    """The lines of a stream; None in the place of each that is too long, which is never held as a whole."""
    while line := stream.readline(MOST_BYTES + 1):
        if len(line) <= MOST_BYTES:
            yield line
            continue
        while line and not line.endswith(b"\n"):
            line = stream.readline(MOST_BYTES)
        yield None

"""Servers of the page in processes of their own, which can be killed and come back."""

from __future__ import annotations

import subprocess
import sys
from types import TracebackType


class Server:
    """``patchwork-env play`` on a port of its own, from the beginning to the end of a ``with`` block.

    ``words`` are more of its arguments.
    """

    def __init__(self, *words: str) -> None:
        self._words = words
        self._port = 0
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Server:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    @property
    def address(self) -> str:
        """The address of the page."""
        return f"http://127.0.0.1:{self._port}/"

    def start(self) -> None:
        """Starts it; if it ran before, on the same port."""
        command = [sys.executable, "-m", "patchwork_env.cli", "play", "--no-browser"]
        command += ["--port", str(self._port), *self._words]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("http://"):
                self._port = int(line.strip().rstrip("/").rpartition(":")[2])
                return
        raise AssertionError("the server ended before it printed an address")

    def kill(self) -> None:
        """Ends it without warning."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()

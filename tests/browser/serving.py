"""Servers of the page in processes of their own, which can be killed and come back, and of folders."""

from __future__ import annotations

import contextlib
import functools
import http.server
import subprocess
import sys
import threading


class Server:
    """``patchwork-env play`` on a port of its own, from the beginning to the end of a ``with`` block.

    ``words`` are more of its arguments.
    """

    def __init__(self, *words):
        self._words = words
        self._port = 0
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, kind, error, trace):
        self.kill()

    @property
    def address(self):
        """The address of the page."""
        return f"http://127.0.0.1:{self._port}/"

    def start(self):
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

    def kill(self):
        """Ends it without warning."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *words):
        pass


@contextlib.contextmanager
def folder_server(folder):
    """Serves the files of a folder on a port of its own."""
    handler = functools.partial(_Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def address_of(server):
    return f"http://127.0.0.1:{server.server_port}/"

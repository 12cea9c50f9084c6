"""Sends what a run logs to a tracking service, in the background, so that training never waits or stops."""

from __future__ import annotations

import json
import queue
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from patchwork_env.core.documents import one_line, read_object
from patchwork_env.core.files import make_folder, write_text
from patchwork_env.learning.config import load_stored_config
from patchwork_env.learning.runs.folder import CONFIG_FILE, METRICS_FILE, read_versions, tracker_file
from patchwork_env.learning.runs.trackers import Frame, Service, TrackedRun

_MOST_WAITING = 10_000
"""How many calls wait for a service that does not answer; what comes later is left out."""
_PATIENCE = 30.0
"""Seconds in which a service may take what is left when the run ends."""


class ServiceLogger:
    """Logs to a tracking service in a thread of its own; see :class:`~.loggers.Logger`.

    Whatever the service does, the run goes on: the first call that fails is told, once. What the service
    knows the run by is kept in the folder of the run, so that a resumed run goes on with it there.

    Args:
        service: The service.
        folder: The folder of the run.
        steps: The number of steps from which the run begins or is resumed.
    """

    def __init__(self, service: Service, folder: Path, steps: int) -> None:
        self._service, self._folder = service, folder
        self._has_failed = self._has_begun = False
        self._calls: queue.Queue[Callable[[], None] | None] = queue.Queue(_MOST_WAITING)
        self._thread = threading.Thread(target=self._work, name=f"tracker {service.NAME}", daemon=True)
        self._thread.start()

    def add(self, metrics: Mapping[str, float], steps: int, minutes: float) -> None:
        """See :meth:`Logger.add`."""
        figures = {**metrics, "minutes": minutes}
        self._later(lambda: self._service.add(figures, steps))

    def add_text(self, name: str, markdown: str, steps: int) -> None:
        """Leaves out the text, of which services have no common idea."""

    def add_picture(self, name: str, frame: Frame, steps: int) -> None:
        """See :meth:`Logger.add_picture`."""
        self._later(lambda: self._service.add_picture(name, frame, steps))

    def conclude(self, figures: Mapping[str, float | str], steps: int) -> None:
        """See :meth:`Logger.conclude`."""
        named = {f"final/{name}": value for name, value in figures.items()}
        self._later(lambda: self._service.conclude(named, steps))

    def sync(self) -> None:
        """Does not wait: what has to be on the disk is in the files of the run."""

    def close(self) -> None:
        """See :meth:`Logger.close`; gives up after some seconds."""
        self._later(self._service.end)
        self._later(None)
        self._thread.join(_PATIENCE)
        if self._thread.is_alive():
            self._tell(f"it has not taken everything in {_PATIENCE:.0f} seconds")

    def _later(self, call: Callable[[], None] | None) -> None:
        try:
            self._calls.put_nowait(call)
        except queue.Full:
            self._tell(f"{_MOST_WAITING:,} calls are waiting for it")

    def _work(self) -> None:
        """Makes the calls, one after the other; without a run at the service it makes none."""
        self._try(self._begin)
        while (call := self._calls.get()) is not None:
            if self._has_begun:
                self._try(call)

    def _begin(self) -> None:
        file = tracker_file(self._folder, self._service.NAME)
        known = _read_known(file)
        configuration = load_stored_config(self._folder / CONFIG_FILE).model_dump(mode="json")
        made_with = read_versions(self._folder)[-1:]
        configuration |= {"made_with": made_with[0]} if made_with else {}
        run = TrackedRun(self._folder, self._folder.resolve().name, known, configuration)
        found = self._service.begin(run)
        self._has_begun = True
        if found != known:
            make_folder(file.parent)
            write_text(file, json.dumps({"run": found}) + "\n")

    def _try(self, call: Callable[[], Any]) -> None:
        try:
            call()
        except Exception as error:
            self._tell(f"{type(error).__name__}: {one_line(str(error))}")

    def _tell(self, reason: str) -> None:
        """Warns once; the thread and the run may call it at the same time, which at worst warns twice."""
        if not self._has_failed:
            self._has_failed = True
            said = f"{self._service.NAME} does not get everything ({reason})"
            print(f"\n{said}; the run goes on, and {METRICS_FILE} is complete", file=sys.stderr, flush=True)


def _read_known(file: Path) -> str | None:
    """What a service knows the run by; None if it does not know it."""
    try:
        return str(read_object(file, "run")["run"])
    except (OSError, ValueError):
        return None

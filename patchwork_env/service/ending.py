"""How commands end whose agents think in threads and may have started programs."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

from patchwork_env.protocol.programs import end_all

INTERRUPTED, TERMINATED = 128 + signal.SIGINT, 128 + signal.SIGTERM


class _Terminated(BaseException):
    """SIGTERM has come."""


def run_until_signal(work: Callable[[], int], interrupted: int = INTERRUPTED) -> int:
    """The exit code of work that Ctrl-C or SIGTERM may end; ``interrupted`` is that after Ctrl-C."""
    signal.signal(signal.SIGTERM, _terminate)
    try:
        return work()
    except KeyboardInterrupt:
        return interrupted
    except _Terminated:
        return TERMINATED


def leave(code: int) -> int:
    """Ends all programs that were started, and the process itself if threads still think; returns the code.

    Such threads cannot be ended, and crash an interpreter that ends before them.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    end_all()
    if threading.active_count() > 1:
        os._exit(code)
    return code


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    raise _Terminated

"""Locks, signals and memory of the operating system, and descriptions of the machine and versions."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import FrameType

from patchwork_env import __version__
from patchwork_env.core.extras import from_extra
from patchwork_env.core.names import counted
from patchwork_env.errors import InUseError, StorageError

# --- a lock that lets one process at a time work in a folder ------------------------------------------------

_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}
"""The error numbers of file systems without locks, as on some clusters."""
_PATIENCE = 1.0
"""The seconds to wait for the lock, which children of a killed process may hold for a moment."""


@contextmanager
def exclusive_lock(folder: Path) -> Iterator[None]:
    """Lock a folder, which is created, within the block; the lock of a process that dies is freed.

    InUseError if another process has locked it. Where the file system has no locks, a warning is printed.
    """
    with from_extra("train", "folders of results need"):
        from filelock import FileLock, Timeout
    lock = FileLock(folder / "lock", timeout=_PATIENCE)
    try:
        lock.acquire()
    except Timeout:
        raise InUseError(f"{folder} is in use: another process works there") from None
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise StorageError(f"cannot write to {folder}: {error.strerror}") from None
        print(f"{folder} cannot be locked ({error.strerror}): no other process may use it", file=sys.stderr)
    try:
        yield
    finally:
        lock.release()


# --- signals that take effect between two steps -------------------------------------------------------------

# Python handles signals in the main thread; in any other thread, these functions do nothing.

_HANGUP = getattr(signal, "SIGHUP", None)  # a terminal was closed; Windows has no such signal
_SIGNALS = [signal.SIGINT, signal.SIGTERM, *([] if _HANGUP is None else [_HANGUP])]
_ECHO_SECONDS = 1.0
"""Schedulers and shells often send a signal twice; within this time, the second one is ignored."""


class Interruption(BaseException):
    """A signal, by its number, stops the process; the second one does so ``at_once``, in mid-step."""

    def __init__(self, number: int, at_once: bool = False) -> None:
        super().__init__(signal.Signals(number).name)
        self.signal = number
        self.at_once = at_once


@dataclass
class _Request:
    """A signal, the time of its last arrival, and whether it has taken effect."""

    number: int
    time: float
    is_met: bool = False


_request: _Request | None = None


@contextmanager
def signals_interrupt() -> Iterator[None]:
    """Within the block, SIGINT, SIGTERM and SIGHUP raise :class:`Interruption` from :func:`stop_if_asked`.

    A second signal, a second later, raises it at once. A SIGHUP that is ignored, as by ``nohup``, stays
    ignored. A signal that has not taken effect when the block ends goes to the handler from before it.
    """
    global _request
    if not _in_main_thread():
        yield
        return
    is_ignored = _HANGUP is not None and signal.getsignal(_HANGUP) == signal.SIG_IGN
    handled = [number for number in _SIGNALS if number != _HANGUP or not is_ignored]
    before = {number: signal.signal(number, _note) for number in handled}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
        last, _request = _request, None
    if last is not None and not last.is_met:
        signal.raise_signal(last.number)


def stop_if_asked() -> None:
    """Raise :class:`Interruption` if a signal has arrived; call this often, between two steps."""
    if _request is not None and not _request.is_met and _in_main_thread():
        _request.is_met = True
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)  # no further signal disturbs saving
        raise Interruption(_request.number)


def _note(number: int, _frame: FrameType | None) -> None:
    global _request
    if _request is None:
        _request = _Request(number, time.monotonic())
        # The signal may have interrupted a print, within which print cannot be called again.
        text = f"\n{signal.Signals(number).name}: stops after this step; send it again to stop at once\n"
        with suppress(OSError):  # the terminal is closed
            os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, text.encode())
    elif time.monotonic() - _request.time > _ECHO_SECONDS:
        _request = _Request(number, time.monotonic(), is_met=True)
        raise Interruption(number, at_once=True)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


# --- the machine, and memory --------------------------------------------------------------------------------

_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_MAX = -1, -2, -4  # malloc.h of glibc
_KEEP = 2**31 - 1
_GROW_BY = 256 * 2**20

PACKAGES = ("numpy", "numba", "torch")  # the packages whose versions could change results


def _cpu_info() -> str:
    path = Path("/proc/cpuinfo")
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def processor() -> str:
    """Return the name of the processor."""
    lines = _cpu_info().splitlines()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def multiplies_bfloat16() -> bool:
    """True if the processor is known to have instructions for products in bfloat16."""
    flags = _cpu_info()
    return "avx512_bf16" in flags or "amx_bf16" in flags


def describe_machine(device: str = "cpu") -> str:
    """Return one line: the processor, the cores that this process may use, and the GPU of ``device``."""
    text = f"{processor()}, {counted(usable_cores(), 'core')}"
    if device.startswith("cuda"):
        import torch

        text += f", {torch.cuda.get_device_name(device)}"
    return text


def describe_setup(packages: Iterable[str] = ("numpy", "numba"), device: str = "cpu") -> str:
    """Return one line: the machine, its system, and the versions of Python and of ``packages``."""
    listed = [f"Python {platform.python_version()}", *(f"{name} {version(name)}" for name in packages)]
    system = f"{platform.system()} {platform.machine()}"
    return ", ".join([describe_machine(device), system, *listed])


@cache
def versions() -> dict[str, str]:
    """Return the versions of packages that could change results."""
    found = {"patchwork_env": __version__, "python": platform.python_version()}
    for package in PACKAGES:
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


def made_with(device: str = "cpu") -> dict[str, str]:
    """Return the machine and the versions of packages, for files of results."""
    return versions() | {"machine": describe_machine(device)}


def commit() -> str | None:
    """Return the commit of the code, followed by ``+`` if files were changed; None outside of a clone."""
    folder = Path(__file__).resolve().parents[2]
    if not (folder / ".git").exists():
        return None
    queries = [["rev-parse", "HEAD"], ["status", "--porcelain", "--untracked-files=no"]]
    try:
        head, changes = (
            subprocess.run(["git", "-C", folder, *words], capture_output=True, text=True, check=True).stdout
            for words in queries
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return head.strip() + ("+" if changes.strip() else "")


def tune_malloc() -> None:
    """Make glibc keep the memory of freed tensors for the next tensors.

    By default glibc returns large blocks to the system and gets them back page by page, each with a page
    fault, which slows down training on the CPU. Without glibc this does nothing.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    for parameter, value in ((_M_MMAP_MAX, 0), (_M_TRIM_THRESHOLD, _KEEP), (_M_TOP_PAD, _GROW_BY)):
        mallopt(parameter, value)

"""What every benchmark says about the machine that its figures come from."""

import importlib.metadata
import os
import platform
from collections.abc import Sequence
from pathlib import Path

_PACKAGES = ("numpy", "numba")


def processor() -> str:
    """The name of the processor, as the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def usable_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def describe(packages: Sequence[str] = _PACKAGES) -> str:
    """One line: processor, cores, system, Python and the versions of ``packages``."""
    cores = usable_cores()
    versions = [f"Python {platform.python_version()}"]
    versions += [f"{package} {importlib.metadata.version(package)}" for package in packages]
    system = f"{platform.system()} {platform.machine()}"
    return f"{processor()}, {cores} core{'s' * (cores > 1)}, {system}, {', '.join(versions)}"

"""What every benchmark says about the machine that its figures come from."""

import importlib.metadata
import platform
from collections.abc import Sequence

from patchwork_env.learning.system.machine import describe_machine, usable_cores

__all__ = ["describe", "usable_cores"]

_PACKAGES = ("numpy", "numba")


def describe(packages: Sequence[str] = _PACKAGES) -> str:
    """One line: processor, cores, system, Python and the versions of ``packages``."""
    versions = [f"Python {platform.python_version()}"]
    versions += [f"{package} {importlib.metadata.version(package)}" for package in packages]
    system = f"{platform.system()} {platform.machine()}"
    return f"{describe_machine()}, {system}, {', '.join(versions)}"

"""The machine and the versions that figures were measured with, and how C allocates memory."""

from __future__ import annotations

import ctypes
import platform
import subprocess
from collections.abc import Iterable
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from patchwork_env import __version__
from patchwork_env.core.cores import usable_cores
from patchwork_env.core.names import counted

_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_MAX = -1, -2, -4  # malloc.h of glibc
_KEEP = 2**31 - 1
_GROW_BY = 256 * 2**20

PACKAGES = ("numpy", "numba", "torch")
"""The packages whose versions could change results."""


def _cpu_info() -> str:
    """The description of the processors where there is one, as on Linux."""
    path = Path("/proc/cpuinfo")
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def processor() -> str:
    """The name of the processor."""
    lines = _cpu_info().splitlines()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def multiplies_bfloat16() -> bool:
    """Whether the processor is known to have instructions for products in bfloat16."""
    flags = _cpu_info()
    return "avx512_bf16" in flags or "amx_bf16" in flags


def describe_machine(device: str = "cpu") -> str:
    """One line: the processor, the cores that this process may use, and the GPU if ``device`` is one."""
    text = f"{processor()}, {counted(usable_cores(), 'core')}"
    if device.startswith("cuda"):
        import torch

        text += f", {torch.cuda.get_device_name(device)}"
    return text


def describe_setup(packages: Iterable[str] = ("numpy", "numba"), device: str = "cpu") -> str:
    """One line: the machine with its ``device``, its system, the versions of Python and of ``packages``."""
    versions = [f"Python {platform.python_version()}", *(f"{name} {version(name)}" for name in packages)]
    system = f"{platform.system()} {platform.machine()}"
    return ", ".join([describe_machine(device), system, *versions])


def made_with(device: str = "cpu") -> dict[str, str]:
    """The machine, and the versions of packages that could change results, for the files of the results."""
    versions = {"patchwork_env": __version__, "python": platform.python_version()}
    for package in PACKAGES:
        with suppress(PackageNotFoundError):
            versions[package] = version(package)
    return versions | {"machine": describe_machine(device)}


def commit() -> str | None:
    """The commit of the code, with a ``+`` after it if files were changed; None outside of a clone."""
    folder = Path(__file__).resolve().parents[3]
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
    """Makes glibc keep the memory that tensors free, for the next tensors.

    By default glibc returns large blocks to the system and gets them back page by page, each with a page
    fault, which takes a third of the time of training on the CPU. This does nothing where there is no glibc.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    for parameter, value in ((_M_MMAP_MAX, 0), (_M_TRIM_THRESHOLD, _KEEP), (_M_TOP_PAD, _GROW_BY)):
        mallopt(parameter, value)

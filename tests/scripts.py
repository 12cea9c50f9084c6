"""Runs the scripts of the clone as their documentation says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def run_benchmark(script: str, *arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run a script of ``benchmarks/``."""
    return _run(str(ROOT / "benchmarks" / script), *arguments, cwd=cwd)


def run_study(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a module of ``research``."""
    return _run("-m", f"research.{name}", *arguments, cwd=ROOT)


def _run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=300, check=False)

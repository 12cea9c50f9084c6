"""Runs the scripts of the clone as their documentation says."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def run_benchmark(script, *arguments, cwd=ROOT):
    """Run a script of ``benchmarks/``."""
    return _run(str(ROOT / "benchmarks" / script), *arguments, cwd=cwd)


def run_study(name, *arguments):
    """Run a module of ``research``."""
    return _run("-m", f"research.{name}", *arguments, cwd=ROOT)


def _run(*arguments, cwd):
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=300, check=False)

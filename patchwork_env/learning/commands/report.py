"""Writes a page about a run, whether it has ended or not: one HTML file that needs no other.

patchwork-env report runs/ppo
patchwork-env report runs/ppo runs/ppo-2 --out comparison.html
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from patchwork_env.core.commands import CommandParser, run_command
from patchwork_env.core.files import check_file_path, write_text
from patchwork_env.learning.reports.run_page import render_page
from patchwork_env.learning.reports.run_results import RunResult, read_result

_FILE = "report.html"


def main(arguments: list[str] | None = None, program: str = "training.report") -> int:
    """The command; returns the exit code."""
    return run_command(_parser(), _run, arguments, program)


def _run(options: argparse.Namespace) -> int:
    if len(options.runs) > 1 and options.out is None:
        options.fail("several runs need --out FILE")
    runs = _read(options.runs)
    out = options.out or options.runs[0] / _FILE
    check_file_path(out, "--out")
    write_text(out, render_page(runs))
    print(f"{out}: {out.stat().st_size / 1e6:.2f} MB")
    return 0


def _read(folders: list[Path]) -> list[RunResult]:
    """Reads the runs; those whose folders have the same name are called by their paths."""
    runs = [read_result(folder) for folder in folders]
    labels = [run.label for run in runs]
    return [
        run.model_copy(update={"label": run.source}) if labels.count(run.label) > 1 else run for run in runs
    ]


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        description="Writes a self-contained HTML page about a run, or about several side by side.",
    )
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN_DIR", help="the folder of a run")
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help=f"the file of the page (default: RUN_DIR/{_FILE}); required for several runs",
    )
    parser.set_defaults(fail=parser.error)
    return parser


if __name__ == "__main__":
    sys.exit(main())

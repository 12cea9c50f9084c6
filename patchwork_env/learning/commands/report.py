"""Write a report about a run, finished or not, as a single HTML file.

patchwork-env report runs/ppo
"""

from __future__ import annotations

import argparse
from pathlib import Path

from patchwork_env.core.commands import CommandParser, add_overwrite, check_place, run_command
from patchwork_env.core.files import write_text


def main(arguments: list[str] | None = None, program: str = "patchwork-env report") -> int:
    """Run the command; return the exit code."""
    parser = CommandParser(__doc__)
    option = parser.add_argument
    option("run", type=Path, metavar="RUN_DIR", help="the folder of a run")
    option("--out", type=Path, metavar="FILE", help="the page (default: RUN_DIR/report.html)")
    add_overwrite(parser)
    return run_command(parser, _run, arguments, program, "train")


def _run(options: argparse.Namespace) -> int:
    from patchwork_env.learning.reports.run_page import render_page
    from patchwork_env.learning.reports.run_results import read_result

    check_place(options, options.out, "--out", is_file=True)
    if options.run.is_file():
        raise ValueError(f"{options.run} is a file; a report is about the folder of a run")
    out = options.out or options.run / "report.html"
    write_text(out, render_page(read_result(options.run)))
    print(f"{out}: {out.stat().st_size / 1e6:.2f} MB")
    return 0

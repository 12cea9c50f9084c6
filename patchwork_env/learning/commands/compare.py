"""Compare configurations by several runs of each, with different seeds.

patchwork-env compare runs/ppo-seed* runs/td-seed* --against greedy
patchwork-env compare runs/ppo-seed* runs/td-seed* --against greedy --out comparison --figures pdf
patchwork-env compare runs/ppo-seed* --export results
patchwork-env compare results/*.json --format latex

Runs that differ only in their seeds are one group; docs/measure/intervals.md explains the statistics.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from patchwork_env.core.commands import CommandParser, add_overwrite, check_place, refuse, run_command
from patchwork_env.core.files import check_writable
from patchwork_env.learning.commands.match_options import add_format
from patchwork_env.learning.evaluation.statistics import METRICS
from patchwork_env.learning.evaluation.tables import FIGURE_FORMATS


def main(arguments: list[str] | None = None, program: str = "patchwork-env compare") -> int:
    """Run the command; return the exit code."""
    parser = CommandParser(__doc__)
    option = parser.add_argument
    option("runs", nargs="+", type=Path, metavar="RUN", help="the folder of a run, or a file from --export")
    option(
        "--against",
        nargs="+",
        default=(),
        metavar="AGENT",
        help="opponents (default: those of the last evaluations)",
    )
    option("--metric", choices=METRICS, help="the figure to compare (default: win_rate; for nmbr9 score)")
    add_format(parser)
    option("--out", type=Path, metavar="DIR", help="also write all tables and figures into DIR")
    option("--figures", choices=FIGURE_FORMATS, default="svg", help="their format (default: %(default)s)")
    option("--export", type=Path, metavar="DIR", help="only write a small file for every run into DIR")
    add_overwrite(parser)
    return run_command(parser, _run, arguments, program, "train")


def _run(options: argparse.Namespace) -> int:
    from patchwork_env.learning.reports.comparison import as_text, compare, write_comparison
    from patchwork_env.learning.reports.run_results import read_result, result_file, write_result

    if options.export:
        others = ("against", "metric", "format", "out", "figures")
        refuse(options, others, "--export writes the results of runs and compares nothing")
        check_writable(options.export)
    else:
        check_place(options, options.out, "--out")
    if not options.out:
        refuse(options, ["figures"], "it is for --out")
    results = [read_result(path) for path in options.runs]
    if options.export:
        sources: dict[str, str] = {}
        for result in results:
            file = result_file(result, options.export)
            other = sources.setdefault(str(file).casefold(), result.source)
            if other != result.source:
                raise ValueError(f"{other} and {result.source} would both be {file}: rename a folder")
            check_place(options, file, "--export")
        written = [write_result(result, options.export) for result in results]
        print("\n".join(map(str, written)))
        return 0
    comparison = compare(results, against=options.against, metric=options.metric)
    if options.out:
        write_comparison(comparison, options.out, options.figures)
    print(as_text(comparison, options.format))
    return 0

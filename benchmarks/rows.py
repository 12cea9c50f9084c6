"""Trains the rows of the table of results, or repeats one and compares it.

python benchmarks/rows.py [ROW ...] [--seeds N ...] [--runs DIR]
python benchmarks/rows.py quick --compare

Each run keeps the protocol of docs/measure/benchmark.md. The script resumes runs that were stopped, leaves
out those that have ended, and exports their results for ``make benchmark`` to benchmarks/results.

With ``--compare`` it repeats the first run of a row and prints its results beside the stored ones. The exit
code is 1 if one is outside the 95% prediction interval of the stored runs.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from patchwork_env.cli import main as patchwork_env
from patchwork_env.learning.evaluation.statistics import student_quantile
from patchwork_env.learning.reports.run_results import RunResult, read_result, write_result

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
PATCHWORK = (
    "threads=1",  # two runs beside each other are faster than one with two threads
    "evaluation.seed=2026",
    "evaluation.games=100",
    "evaluation.final_games=1000",
    'evaluation.opponents=[random, greedy, ppo-v1, "champion-v1:level=instant"]',
)
NMBR9 = (
    "evaluation.seed=9",
    "evaluation.games=100",
    "evaluation.final_games=1000",
    "evaluation.opponents=[random, greedy]",
)


class Row(NamedTuple):
    """A row of the table: a configuration with the values that it changes, and the number of seeds."""

    config: str
    seeds: int
    values: Sequence[str]


ROWS = {
    "quick": Row("quick", 5, PATCHWORK),
    "maskable_ppo": Row("maskable_ppo", 5, PATCHWORK),
    "ppo_20min": Row("ppo", 3, (*PATCHWORK, "total_steps=25_900_000")),
    "ppo_60min": Row("ppo", 3, (*PATCHWORK, "total_steps=77_600_000")),
    "td_20min": Row("td", 3, (*PATCHWORK, "total_steps=33_900_000")),
    "td_60min": Row("td", 3, (*PATCHWORK, "total_steps=101_700_000")),
    "alphazero_20min": Row("alphazero", 3, (*PATCHWORK, "total_steps=4_900_000")),
    "alphazero_60min": Row("alphazero", 3, (*PATCHWORK, "total_steps=14_700_000")),
    "nmbr9_quick": Row("nmbr9_quick", 5, NMBR9),
    "nmbr9": Row("nmbr9", 3, NMBR9),
    "nmbr9_ppo": Row("nmbr9_ppo", 5, ("threads=1", *NMBR9)),
    "nmbr9_maskable_ppo": Row("nmbr9_maskable_ppo", 5, ("threads=1", *NMBR9)),
}


def trained(name: str, seed: int, runs: Path) -> RunResult:
    """Return the result of a run, which starts or resumes unless it has ended."""
    row, run = ROWS[name], runs / f"{name}-seed{seed}"
    if not run.exists():
        values = [*row.values, f"seed={seed}"]
        code = patchwork_env(["train", row.config, "--run-dir", str(run), "--set", *values])
    elif read_result(run).weights is None:
        code = patchwork_env(["train", "--resume", str(run)])
    else:
        code = 0
    if code:
        sys.exit(code)
    return read_result(run)


def compare(name: str, new: RunResult, stored: Sequence[RunResult]) -> int:
    """Print the matches of a new run beside those of stored ones; return 1 if one is unlikely, else 0."""
    code = 0
    print(
        f"{name}: games won by the new run, and by {len(stored)} stored ones with their prediction interval"
    )
    for match in new.last.matches:
        rates = np.array([one.win_rate for run in stored if (one := run.last.match(match.opponent))])
        half = student_quantile(len(rates) - 1) * rates.std(ddof=1) * np.sqrt(1 + 1 / len(rates))
        is_likely = abs(match.win_rate - rates.mean()) <= half
        code |= not is_likely
        found = f"{match.win_rate:.1%}, stored {rates.mean():.1%} ± {half:.1%}"
        print(f"  {match.opponent}: {found}{'' if is_likely else ': unlikely'}")
    return code


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description="Trains the rows of the table of results.")
    parser.add_argument(
        "rows", nargs="*", choices=ROWS, default=list(ROWS), metavar="ROW", help=", ".join(ROWS)
    )
    parser.add_argument("--seeds", type=int, nargs="+", metavar="N", help="default: all of the row")
    parser.add_argument("--runs", type=Path, default=Path("runs/rows"), metavar="DIR")
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="DIR")
    parser.add_argument("--compare", action="store_true", help="repeat the first run of one row")
    options = parser.parse_args()
    if options.compare:
        (name,) = options.rows
        stored = [read_result(path) for path in sorted(options.results.glob(f"{name}-seed*.json"))]
        return compare(name, trained(name, 0, options.runs), stored)
    for name in options.rows:
        for seed in options.seeds or range(ROWS[name].seeds):
            write_result(trained(name, seed, options.runs), options.results)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Draws the learning curves of training runs: win rates against the fixed opponents over time.

python benchmarks/learning_curve.py [RUN_DIR ...] [--out FILE]

Without folders it takes all of runs/. The figures are those that the runs wrote into their metrics.jsonl.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

from patchwork_env.learning.reports.plots import SERIES, new_figure, save
from patchwork_env.learning.runs.folder import METRICS_FILE, interval_metrics
from patchwork_env.learning.system.machine import describe_setup

PREFIX = "evaluation/win_rate_against_"


class Point(NamedTuple):
    """An evaluation: the win rate with the bounds of its 95% interval, if the run noted them."""

    minutes: float
    steps: int
    rate: float
    low: float
    high: float


def evaluations(run: Path) -> dict[str, list[Point]]:
    """The evaluations of a run by opponent."""
    curves: dict[str, list[Point]] = {}
    for line in (run / METRICS_FILE).read_text().splitlines():
        metrics = json.loads(line)
        for name, value in metrics.items():
            if name.startswith(PREFIX):
                opponent = name.removeprefix(PREFIX)
                low, high = (metrics.get(metric, value) for metric in interval_metrics(opponent)[1:])
                point = Point(metrics["minutes"], metrics["steps"], value, low, high)
                curves.setdefault(opponent, []).append(point)
    return curves


def show(run: Path, curves: dict[str, list[Point]]) -> None:
    """Prints the evaluations of a run as a table."""
    opponents = list(curves)
    print(f"\n{run}\n{'minutes':>8} {'steps':>12} " + " ".join(f"{opponent:>10}" for opponent in opponents))
    for rows in zip(*curves.values(), strict=False):
        minutes, steps = rows[0].minutes, rows[0].steps
        print(f"{minutes:8.1f} {steps:12,} " + " ".join(f"{row.rate:10.1%}" for row in rows))


def draw(curves_of_runs: dict[Path, dict[str, list[Point]]], path: Path) -> None:
    """Draws all curves, with bands for their intervals, into one picture."""
    figure = new_figure(7.2, 4)
    axes = figure.add_subplot()
    axes.set_prop_cycle(color=SERIES)
    for run, curves in curves_of_runs.items():
        for opponent, points in curves.items():
            minutes = [point.minutes for point in points]
            rates, lows, highs = (
                [100 * getattr(point, name) for point in points] for name in ("rate", "low", "high")
            )
            (line,) = axes.plot(minutes, rates, marker="o", ms=3, label=f"{run.name} against {opponent}")
            axes.fill_between(minutes, lows, highs, color=line.get_color(), alpha=0.16, lw=0)
    axes.set(xlabel="minutes of training", ylabel="games won, %", ylim=(0, 101))
    axes.set_xlim(left=0)
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right")
    save(figure, path)
    print(f"\nwrote {path}")


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description="Draws the learning curves of training runs.")
    parser.add_argument("runs", nargs="*", type=Path, metavar="RUN_DIR", help="default: all of runs/")
    parser.add_argument("--out", type=Path, metavar="FILE", help="a picture, PNG or SVG by its ending")
    options = parser.parse_args()
    runs = options.runs or sorted(path.parent for path in Path("runs").glob(f"*/{METRICS_FILE}"))
    missing = [run for run in runs if not (run / METRICS_FILE).is_file()]
    if missing:
        print(f"learning_curve.py: {missing[0]} is no run: it holds no {METRICS_FILE}", file=sys.stderr)
        return 2
    if not runs:
        print("there are no runs in runs/ yet; `make train` makes one")
        return 0
    curves: dict[Path, Any] = {run: evaluations(run) for run in runs}
    print(describe_setup(("torch",)))
    for run in runs:
        show(run, curves[run])
    if options.out:
        draw(curves, options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())

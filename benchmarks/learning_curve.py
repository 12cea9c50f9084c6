"""Draws the learning curves of training runs: win rates against the fixed opponents over time.

python benchmarks/learning_curve.py [RUN_DIR ...] [--out FILE]

Without folders it takes all of runs/. The figures are those that the runs wrote into their metrics.jsonl.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from machine import describe

PREFIX = "evaluation/win_rate_against_"
METRICS_FILE = "metrics.jsonl"
Point = tuple[float, int, float]
"""Minutes, steps, win rate."""


def evaluations(run: Path) -> dict[str, list[Point]]:
    """The evaluations of a run by opponent."""
    curves: dict[str, list[Point]] = {}
    for line in (run / METRICS_FILE).read_text().splitlines():
        metrics = json.loads(line)
        for name, value in metrics.items():
            if name.startswith(PREFIX):
                point = metrics["minutes"], metrics["steps"], value
                curves.setdefault(name.removeprefix(PREFIX), []).append(point)
    return curves


def show(run: Path, curves: dict[str, list[Point]]) -> None:
    """Prints the evaluations of a run as a table."""
    opponents = list(curves)
    print(f"\n{run}\n{'minutes':>8} {'steps':>12} " + " ".join(f"{opponent:>10}" for opponent in opponents))
    for rows in zip(*curves.values(), strict=False):
        minutes, steps, _ = rows[0]
        print(f"{minutes:8.1f} {steps:12,} " + " ".join(f"{rate:10.1%}" for _, _, rate in rows))


def draw(curves_of_runs: dict[Path, dict[str, list[Point]]], path: Path) -> None:
    """Draws all curves into one picture."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7.2, 4), layout="constrained")
    for run, curves in curves_of_runs.items():
        for opponent, points in curves.items():
            minutes, _, rates = zip(*points, strict=True)
            axes.plot(
                minutes,
                [100 * rate for rate in rates],
                marker="o",
                ms=3,
                label=f"{run.name} against {opponent}",
            )
    axes.set(xlabel="minutes of training", ylabel="games won, %", ylim=(0, 101))
    axes.set_xlim(left=0)
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right")
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
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
    print(describe(("torch",)))
    for run in runs:
        show(run, curves[run])
    if options.out:
        draw(curves, options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Repeats the placement experiment of arXiv 2001.04233 and measures our placer by the same protocol.

    python -m research.placement [--runs N] [--rows ROW …] [--seed N] [--tiles SET] [--picture F] [--json]

38 tiles come in random order; each must be placed on one 9x9 quilt if it fits anywhere. A row is a placer: a
published strategy, such as All-PlacementRegret, or a beam search: Beam-W is a single one of width W, and Beam
is our placer, which tries them in turn. All rows meet the same orders. By default, all but the single beam
searches are measured, which takes a minute.

After every mean, in brackets: its difference from the published mean in standard errors of that difference,
both of them from the deviation among the runs measured here. "Strictly" below the table takes the published
mean's standard error alone. Times are processor times of one thread, per tile placed, and of the slowest run.
"""

import argparse
import csv
import json
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.learning.system import describe_setup
from patchwork_env.patchwork.components import NUM_CELLS
from research.placement import (
    EVALUATIONS,
    POLICIES,
    STAGES,
    TILE_SETS,
    BeamPlacer,
    Outcomes,
    Placer,
    StrategyPlacer,
    deal_orders,
    outcomes,
)

PUBLISHED_FILE = Path(__file__).with_name("published.csv")
FIGURES = {
    "first_fail": "avgFirstFail",
    "area_first_fail": "avgAreaFirstFail",
    "area": "avgArea",
    "tiles": "avgTiles",
}
"""Figures and their columns in the published table."""
STRICT_FROM = 1000
BEAM = "Beam"
SINGLE_BEAMS = [f"{BEAM}-{stage.width}" for stage in STAGES]
SHOWN = {
    "All-First": "first place in reading order",
    "All-PlacementRegret": "least regret of all places, the best published",
    BEAM: "our beam search",
}
"""Rows of the picture."""


class Row(NamedTuple):
    """The results of a placer: outcomes and seconds of every run, and candidates per tile placed, if any."""

    outcomes: Outcomes
    seconds: npt.NDArray[np.float64]
    candidates: float | None

    @property
    def full(self) -> int:
        """The number of quilts that were covered completely."""
        return int((self.outcomes.area == NUM_CELLS).sum())


def published_rows() -> dict[str, dict[str, float]]:
    """The published means by row."""
    lines = [line for line in PUBLISHED_FILE.read_text().splitlines() if not line.startswith("#")]
    rows = csv.DictReader(lines)
    return {
        f"{row.pop('policy')}-{row.pop('evaluation')}": {name: float(value) for name, value in row.items()}
        for row in rows
    }


def make_placer(row: str, seed: int) -> Placer:
    """The placer of a row."""
    if row == BEAM:
        return BeamPlacer()
    policy, _, evaluation = row.rpartition("-")
    if policy == BEAM:
        return BeamPlacer([stage for stage in STAGES if str(stage.width) == evaluation])
    return StrategyPlacer(policy, evaluation, seed)


def measure(placer: Placer, orders: npt.NDArray[np.int64]) -> Row:
    """Runs a placer on every order."""
    plans, seconds = np.empty_like(orders), np.empty(len(orders))
    for run, tiles in enumerate(orders):
        start = time.thread_time()
        plans[run] = placer.plan(tiles)
        seconds[run] = time.thread_time() - start
    reached = outcomes(orders, plans)
    candidates = placer.candidates / reached.tiles.sum() if isinstance(placer, StrategyPlacer) else None
    return Row(reached, seconds, candidates)


def summary(row: Row, published: dict[str, float] | None) -> dict[str, Any]:
    """The figures of a row, and their differences from published ones in standard errors."""
    runs, figures = len(row.seconds), {}
    for name, column in FIGURES.items():
        values = getattr(row.outcomes, name)
        figures[name] = {"mean": float(values.mean()), "standard_error": float(values.std() / runs**0.5)}
        if published and values.std() > 0:
            figures[name] |= _difference(values, published[column], int(published["tests"]))
    return {
        **figures,
        "full": row.full,
        "published_full": published and int(published["full81"]),
        "candidates": row.candidates,
        "milliseconds_per_tile": float(1e3 * row.seconds.sum() / row.outcomes.tiles.sum()),
        "milliseconds_of_slowest_run": float(1e3 * row.seconds.max()),
    }


def _difference(values: npt.NDArray[np.int64], published: float, published_runs: int) -> dict[str, float]:
    deviation, gap = float(values.std()), float(values.mean()) - published
    theirs = deviation / published_runs**0.5
    both = (theirs**2 + deviation**2 / len(values)) ** 0.5
    return {"published": published, "difference": gap / both, "strict_difference": gap / theirs}


def print_row(name: str, figures: dict[str, Any]) -> None:
    cells = []
    for figure in FIGURES:
        cell = figures[figure]
        off = f"({cell['difference']:+.1f})" if "difference" in cell else ""
        cells.append(f"{cell['mean']:6.2f} {off:6}")
    full = f"{figures['full']:4}" + (
        f" ({figures['published_full']})" if figures["published_full"] is not None else ""
    )
    times = f"{figures['milliseconds_per_tile']:7.3f} {figures['milliseconds_of_slowest_run']:7.1f}"
    print(f"{name:43} {'  '.join(cells)}  {full:10} {times}", flush=True)


def print_worst(figures: dict[str, dict[str, Any]], runs: int) -> None:
    """Prints the largest differences from published means; strict ones only for enough runs."""
    for title, names in (("area", ["area"]), ("all four means", list(FIGURES))):
        known = [row[name] for row in figures.values() for name in names if "difference" in row[name]]
        if known:
            worst = max(abs(cell["difference"]) for cell in known)
            strict = max(abs(cell["strict_difference"]) for cell in known)
            strictly = f", strictly at most {strict:.1f}" if runs >= STRICT_FROM else ""
            print(f"{title}: at most {worst:.1f} standard errors off{strictly}")


def draw(rows: dict[str, Row], path: Path) -> None:
    """Draws the distribution of the covered cells of each placer."""
    from patchwork_env.learning.reports.charts import SERIES
    from patchwork_env.learning.reports.plots import new_figure, save

    figure = new_figure(7.2, 3.6)
    axes = figure.add_subplot()
    least = min(int(row.outcomes.area.min()) for row in rows.values())
    places, width = np.arange(least, NUM_CELLS + 1), 0.84 / len(rows)
    for k, (name, row) in enumerate(rows.items()):
        share = 100 * np.bincount(row.outcomes.area - least, minlength=len(places)) / len(row.seconds)
        left = places + (k - (len(rows) - 1) / 2) * width
        axes.bar(left, share, width, color=SERIES[k], label=f"{SHOWN[name]}: {row.outcomes.area.mean():.2f}")
    axes.set(xlabel="cells covered, of 81", ylabel="runs, %", xticks=places)
    axes.set_axisbelow(True)
    axes.grid(alpha=0.3, axis="y")
    axes.legend(loc="upper left", title="placer: mean")
    save(figure, path)
    print(f"\nwrote {path}")


def parse(rows: list[str]) -> argparse.Namespace:
    """Reads the command line; ``rows`` are the names of all rows."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=1000, help="orders of the tiles (default: 1000)")
    parser.add_argument(
        *("--rows", "-r"),
        nargs="+",
        default=[row for row in rows if row not in SINGLE_BEAMS],
        choices=rows,
        metavar="ROW",
        help=f"strategies as in {PUBLISHED_FILE.name}, {', '.join(SINGLE_BEAMS)}, {BEAM}",
    )
    parser.add_argument("--seed", type=int, default=0, help="(default: 0)")
    parser.add_argument(
        "--tiles",
        choices=list(TILE_SETS),
        default="published",
        help="the tiles of the published program, or those of the game: a 2x2 square in place of a corner",
    )
    parser.add_argument("--picture", type=Path, metavar="FILE", help=f"draw {', '.join(SHOWN)} (PNG or SVG)")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON in the last line")
    options = parser.parse_args()
    if options.runs < 1:
        parser.error(f"--runs is {options.runs}; it must be at least 1")
    if options.picture and not set(SHOWN) <= set(options.rows):
        parser.error(f"--picture needs the rows {', '.join(SHOWN)}")
    return options


def main() -> int:
    """The command."""
    published = published_rows()
    known = [f"{policy}-{evaluation}" for policy in POLICIES for evaluation in EVALUATIONS]
    options = parse([*(row for row in known if row in published), *SINGLE_BEAMS, BEAM])
    orders = deal_orders(options.runs, options.seed, options.tiles)
    print(describe_setup())
    print(f"{options.runs} runs, one thread, seed {options.seed}, tiles {options.tiles!r}\n")
    print(
        f"{'row':43} first fail     area then     final area    tiles placed   "
        "full       ms/tile  slowest run, ms"
    )
    rows, figures = {}, {}
    for name in options.rows:
        placer = make_placer(name, options.seed)
        placer.plan(orders[0][:1])  # compiles
        rows[name] = measure(make_placer(name, options.seed), orders)
        figures[name] = summary(rows[name], published.get(name))
        print_row(name, figures[name])
    print()
    print_worst(figures, options.runs)
    if options.picture:
        draw({name: rows[name] for name in SHOWN}, options.picture)
    if options.json:
        print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())

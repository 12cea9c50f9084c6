"""Strength of trained runs against wall-clock time and steps, all by the same evaluation.

python benchmarks/algorithms.py runs/ppo runs/maskable_ppo runs/alphazero [--minutes 5 10 20 40] [--json PATH]

Measures the newest checkpoint of every run after each number of minutes of training, and the last one. Each
plays the same paired games against greedy: the policy alone and, if a search can use it, also with some
simulations per move. The minutes of evaluations are not counted.
"""

import argparse
import json
from pathlib import Path

from patchwork_env.agents.checkpoints import CHECKPOINT_FILE
from patchwork_env.core.files import write_text
from patchwork_env.learning.commands.match_options import add_worker_options
from patchwork_env.learning.config import load_config
from patchwork_env.learning.evaluation.matches import play_matches
from patchwork_env.learning.evaluation.results import MatchResult
from patchwork_env.learning.runs.folder import CONFIG_FILE
from patchwork_env.learning.system import describe_setup

OPPONENT = "greedy"
WITH_NETWORK = ("ppo", "alphazero")
"""The algorithms whose policies a search can use."""


def trained(run: Path) -> list[tuple[float, int, Path]]:
    """Minutes, steps and folder of every checkpoint, oldest first."""
    checkpoints = []
    for folder in sorted((run / "checkpoints").glob("step_*")):
        info = json.loads((folder / CHECKPOINT_FILE).read_text())["info"]
        checkpoints.append((info["seconds"] / 60, info["steps"], folder))
    return checkpoints


def chosen(run: Path, minutes: list[float]) -> list[tuple[float, int, Path]]:
    """The newest checkpoint after each number of minutes, and the last one, each once."""
    checkpoints = trained(run)
    marks = [*minutes, float("inf")]
    newest = [[c for c in checkpoints if c[0] <= mark and c[1] > 0][-1:] for mark in marks]
    return sorted({c for found in newest for c in found})


def as_text(result: MatchResult) -> str:
    """A win rate with its interval."""
    low, high = result.interval
    return f"{result.win_rate:.1%} ({low:.1%} to {high:.1%})"


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description="Compares trained runs at equal times.")
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN")
    parser.add_argument("--minutes", type=float, nargs="*", default=[5.0, 10.0, 20.0, 40.0])
    parser.add_argument("--games", type=int, default=1000, help="per checkpoint, an even number")
    parser.add_argument("--simulations", type=int, default=64, help="per move, of policies with a search")
    add_worker_options(parser, 2)
    parser.add_argument("--json", type=Path, metavar="PATH")
    options = parser.parse_args()
    print(describe_setup(("torch", "numba")))
    print(f"won against {OPPONENT}, with 95% intervals, {options.games} paired games each\n")
    print(f"| algorithm | minutes | steps | policy | with {options.simulations} simulations per move |")
    print("|---|---|---|---|---|")
    figures = []
    for run in options.runs:
        algorithm = load_config(run / CONFIG_FILE).algorithm
        for minutes, steps, folder in chosen(run, options.minutes):
            specs = [str(folder)]
            if algorithm in WITH_NETWORK:
                specs.append(f"{folder}:simulations={options.simulations}")
            results = [play_matches(spec, OPPONENT, options.games, workers=options.workers) for spec in specs]
            cells = [as_text(result) for result in results] + [""] * (2 - len(results))
            print(f"| `{algorithm}` | {minutes:.1f} | {steps:,} | {' | '.join(cells)} |", flush=True)
            matches = [result.as_dict() for result in results]
            figures.append({"run": str(run), "minutes": minutes, "steps": steps, "matches": matches})
    if options.json:
        write_text(options.json, json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()

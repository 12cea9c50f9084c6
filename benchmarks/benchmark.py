"""Makes the tables and curves of "Patchwork as a benchmark" from the files in benchmarks/results.

python benchmarks/benchmark.py [--write] [--results DIR] [--docs DIR]

It checks that every file keeps the protocol of docs/measure/benchmark.md, and prints all tables. With --write
it also keeps the figures of docs/measure/results.md and draws the curves of each task.
"""

import argparse
import sys
from collections import ChainMap, Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.keeping import Figures, add_write_option, figure, write
from patchwork_env.games import NMBR9, PATCHWORK
from patchwork_env.learning.evaluation.tables import TEXT
from patchwork_env.learning.reports.comparison import Comparison, as_text, compare, write_curves
from patchwork_env.learning.reports.run_results import RunResult, read_result

ROOT = Path(__file__).parents[1]
UNITS = {"win_rate": "share", "score": "points"}
GAMES = 1000
"""The number of games of the last evaluation against each opponent."""
LEAST_RUNS = 3
"""The fewest runs of a configuration in the tables."""


class Task(NamedTuple):
    """A task: what is played against whom, and what counts.

    Attributes:
        name: The name of the task.
        game: The name of the game.
        opponent: The spec of the opponent, which never changes.
        metric: What is compared.
        seed: The seed of the circles or decks of evaluations.
        variant: What is played of the game.
        weights: The SHA-256 of the opponent's weights; None if it has none.
    """

    name: str
    game: str
    opponent: str
    metric: str
    seed: int
    variant: str
    weights: str | None


_PPO = "80b37aa1c233af43df2a1883988c455af43b7f7eb601b55e77823a5c9fca6f4d"
_CHAMPION = "champion-v1:level=instant"
_CHAMPION_WEIGHTS = "b801e86b3006706e1a094a20f7e89da612d0f87bb2d4f13b2e963543ff3a37e9"
TASKS = (
    Task("patchwork-greedy", PATCHWORK, "greedy", "win_rate", 2026, "revised", None),
    Task("patchwork-ppo", PATCHWORK, "ppo-v1", "win_rate", 2026, "revised", _PPO),
    Task("patchwork-champion", PATCHWORK, _CHAMPION, "win_rate", 2026, "revised", _CHAMPION_WEIGHTS),
    Task("nmbr9-decks", NMBR9, "greedy", "score", 9, "unknown", None),
)


def read_results(folder: Path) -> list[RunResult]:
    """The results of a folder, each of which keeps the protocol.

    Raises:
        ValueError: The folder has none, or one breaks the protocol; the message names the folder or the file.
    """
    results = [read_result(path) for path in sorted(folder.glob("*.json"))]
    if not results:
        raise ValueError(f"there are no results in {folder}: it must hold files *.json that compare exported")
    for result in results:
        check_protocol(result)
    return results


def check_protocol(result: RunResult) -> None:
    """Checks that a run was measured as the tasks say.

    Raises:
        ValueError: It was not, or it took part in no task; the message names its file.
    """
    tasks = [task for task in TASKS if takes_part(result, task)]
    if not tasks:
        wanted = ", ".join(task.opponent for task in TASKS if task.game == result.game)
        raise ValueError(f"{result.source} takes part in no task: its last evaluation met none of {wanted}")
    if result.weights is None:
        raise ValueError(f"{result.source} has no hash of final weights: the run has not ended")
    for task in tasks:
        match = result.last.match(task.opponent)
        found = match and (match.games, match.seed, match.variant)
        if found != (GAMES, task.seed, task.variant):
            raise ValueError(
                f"{result.source}: games, seed and variant against {task.opponent} are {found}; "
                f"{task.name} has {(GAMES, task.seed, task.variant)}"
            )


def takes_part(result: RunResult, task: Task) -> bool:
    """Whether the last evaluation of a run has the match of a task."""
    return result.game == task.game and result.last.match(task.opponent) is not None


def comparisons(results: Sequence[RunResult]) -> list[tuple[Task, Comparison]]:
    """The comparison of each task that any run takes part in, without rows that have too few runs so far."""
    runs_of = Counter(result.name for result in results)
    results = [result for result in results if runs_of[result.name] >= LEAST_RUNS]
    found = [(task, [one for one in results if takes_part(one, task)]) for task in TASKS]
    return [
        (task, strongest_first(compare(runs, against=[task.opponent], metric=task.metric)))
        for task, runs in found
        if runs
    ]


def strongest_first(comparison: Comparison) -> Comparison:
    """The comparison with its groups sorted by their means."""
    groups = sorted(comparison.groups, key=lambda group: -comparison.scores(group).mean())
    return replace(comparison, groups=tuple(groups))


def figures_of(task: Task, comparison: Comparison) -> Figures:
    """The results of the configurations, by task and configuration, for the tables of other pages."""
    found = Figures()
    for group in comparison.groups:
        (mean, interval), own = comparison.mean(group, [0]), comparison.scores(group)
        found[f"{task.name} {group.label}"] = figure(
            mean,
            UNITS[task.metric],
            interval,
            runs=len(group.runs),
            lowest=round(float(own.min()), 4),
            highest=round(float(own.max()), 4),
            steps=round(float(np.mean([run.last.steps for run in group.runs]))),
            minutes=round(float(np.median([run.last.minutes for run in group.runs])), 1),
            machine=group.runs[0].made_with("machine"),
        )
    return found


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description="Makes the tables and curves of the benchmark.")
    parser.add_argument("--results", type=Path, default=ROOT / "benchmarks" / "results", metavar="DIR")
    parser.add_argument("--docs", type=Path, default=ROOT / "docs", metavar="DIR")
    add_write_option(parser)
    options = parser.parse_args()
    try:
        results = read_results(options.results)
        found = comparisons(results)
    except ValueError as error:
        print(f"benchmark.py: {error}", file=sys.stderr)
        return 2
    if options.write:
        pictures = options.docs / "images" / "benchmark"
        pictures.mkdir(parents=True, exist_ok=True)
        for task, comparison in found:
            write_curves(comparison, pictures / f"{task.name}.svg")
        reached = [figures_of(*one) for one in found]
        (options.write / "benchmark.json").unlink(missing_ok=True)  # new rows are sorted among the old ones
        write("benchmark", {"command": "make benchmark"}, dict(ChainMap(*reversed(reached))), options.write)
    for task, comparison in found:
        print(f"{task.name}\n\n{as_text(comparison, TEXT)}\n")
    print(f"{len(results)} results")
    return 0


if __name__ == "__main__":
    sys.exit(main())

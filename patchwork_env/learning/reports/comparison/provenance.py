"""What figures were made with: the words that stand below every table and figure of a comparison."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from patchwork_env.learning.evaluation.tables import Column
from patchwork_env.learning.reports.comparison.grouping import Group
from patchwork_env.learning.reports.comparison.results import RunResult
from patchwork_env.learning.system.machine import PACKAGES

UNKNOWN = "not recorded"
SHORT = 12
"""The number of digits by which commits and hashes of weights are shown; CSV has all of them.

It is no less than the length of ``UNKNOWN``.
"""

KEYS = ("patchwork_env", "commit", "python", *PACKAGES, "machine")
"""What the runs note of every start."""


def provenance_lines(groups: Sequence[Group]) -> list[str]:
    """Sentences that say what the runs were made with, and the hashes of their weights."""
    weights = "; ".join(f"{group.label} {_listed(map(_weights, group.runs))}" for group in groups)
    return [*setup_lines(groups), f"SHA-256 of the final weights, by seed: {weights}."]


def setup_lines(groups: Sequence[Group]) -> list[str]:
    """Sentences that say what the runs were made with, for tables that show the weights themselves."""
    setups: dict[str, list[str]] = {}
    for group in groups:
        for run in group.runs:
            setups.setdefault(_setup(run), []).append(group.label)
    whose = {setup: list(dict.fromkeys(labels)) for setup, labels in setups.items()}
    return [
        f"Made with {setup}{f' ({_listed(labels)})' if len(whose) > 1 else ''}."
        for setup, labels in whose.items()
    ]


def provenance_columns() -> list[Column]:
    """Columns for :func:`provenance_cells`, which CSV alone has."""
    return [Column(key, None) for key in (*KEYS, "weights")]


def provenance_cells(runs: Sequence[RunResult]) -> list[str]:
    """What some runs were made with, each thing in full; where runs differ, all that they say."""
    cells = [dict.fromkeys(run.made_with(key) or UNKNOWN for run in runs) for key in KEYS]
    return ["; ".join(cell) for cell in (*cells, [run.weights or UNKNOWN for run in runs])]


def _setup(run: RunResult) -> str:
    if not run.starts:
        return f"versions that were {UNKNOWN}"
    commit = run.made_with("commit")
    code = f"patchwork_env {run.made_with('patchwork_env')}"
    code += f" (commit {', then '.join(map(_short_commit, commit.split(', then ')))})" if commit else ""
    packages = [f"{name} {version}" for name in PACKAGES if (version := run.made_with(name)) is not None]
    return ", ".join([code, f"Python {run.made_with('python')}", *packages, f"on {run.made_with('machine')}"])


def _short_commit(commit: str) -> str:
    """The first digits of a commit, with the ``+`` of changed files."""
    return commit[:SHORT] + ("+" if commit.endswith("+") else "")


def _weights(run: RunResult) -> str:
    return f"{run.seed}: {(run.weights or UNKNOWN)[:SHORT]}"


def _listed(words: Iterable[str]) -> str:
    return ", ".join(words)

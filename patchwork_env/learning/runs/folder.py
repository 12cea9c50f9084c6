"""The files in the folder of a run, and how evaluations are read; needs nothing that trains.

    RUN/config.yaml                    the whole configuration; it is written after the first checkpoint
    RUN/checkpoints/step_0000655360/   checkpoint.json, weights.safetensors: a policy, which is an agent
                                       trainer.json, trainer.safetensors: what resuming the run needs
    RUN/final/                         the policy at the end of the run
    RUN/best/                          the policy that was best in the evaluations
    RUN/metrics.jsonl, RUN/events.*    the learning curves, as text and for TensorBoard
    RUN/evaluations/                   figures and sample games of every evaluation
    RUN/versions.jsonl                 what every start of the run was made with: code, packages, machine
    RUN/divergence/step_0000655360/    the batch, losses and policy of a loss that was not finite
    RUN/lock                           locked by the process that is training

Only the newest two checkpoints keep their trainer's files.

An evaluation, ``RUN/evaluations/step_0000655360.json``, holds ``format``, ``version``, ``game``,
``algorithm``, ``steps``, ``iteration``, ``minutes``, ``machine``, ``matches`` and ``sample_games``. A match
is the ``as_dict`` of the :class:`~patchwork_env.learning.evaluation.results.MatchResult` against an opponent.
A sample game has ``opponent``, ``players`` (their names by seat), ``scores``, ``winner`` (a seat, or null for
a tie) and ``notation`` (see ``notation.py`` of the game).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

CONFIG_FILE = "config.yaml"
METRICS_FILE = "metrics.jsonl"
EVALUATIONS = "evaluations"
FINAL = "final"
BEST = "best"
VERSIONS_FILE = "versions.jsonl"

EVALUATION_FORMAT = "patchwork-env evaluation of a run"
EVALUATION_VERSION = 1
_NEEDED = ("steps", "minutes", "machine", "matches", "sample_games")


def evaluation_file(folder: Path, steps: int) -> Path:
    """The file of the evaluation after so many steps; the order of the names is that of the steps."""
    return folder / EVALUATIONS / f"step_{steps:010d}.json"


def evaluation_files(folder: Path) -> list[Path]:
    """The files of the evaluations of a run, by their steps; empty if there are none yet."""
    return sorted((folder / EVALUATIONS).glob("step_*.json"))


def read_evaluation(path: Path) -> dict[str, Any]:
    """Reads an evaluation.

    Raises:
        ValueError: The file is damaged or of another version; the message names it.
    """
    try:
        contents = json.loads(path.read_text(encoding="utf-8"))
        found = contents["format"], contents["version"]
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is damaged: {error!r}") from None
    if found != (EVALUATION_FORMAT, EVALUATION_VERSION):
        raise ValueError(
            f"{path} is {found[0]!r}, version {found[1]!r}; "
            f"this needs {EVALUATION_FORMAT!r}, version {EVALUATION_VERSION}"
        )
    missing = [key for key in _NEEDED if key not in contents]
    if missing:
        raise ValueError(f"{path} is damaged: it holds no {', '.join(missing)}")
    return contents


def interval_metrics(opponent: str) -> tuple[str, str, str]:
    """The names of three metrics: the win rate against an opponent, and the bounds of its 95% interval."""
    names = ("win_rate", "win_rate_low", "win_rate_high")
    rate, low, high = (f"evaluation/{name}_against_{opponent}" for name in names)
    return rate, low, high

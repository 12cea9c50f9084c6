"""The best trial of a sweep, measured again.

The best of many trials owes its place in part to luck in the evaluation by which it was chosen, so the
figures of that evaluation promise too much, and so does their interval. Therefore the winner plays once more,
on circles or decks that no trial was compared on.
"""

from __future__ import annotations

import json
from typing import Any

from patchwork_env.core.checks import later_seed
from patchwork_env.core.documents import read_object
from patchwork_env.core.files import storing_in, write_text
from patchwork_env.learning.evaluation.matches import play_matches
from patchwork_env.learning.runs.folder import FINAL
from patchwork_env.learning.sweeps.folder import Sweep

WINNER_FILE = "winner.json"


def measured_again(sweep: Sweep, trial: int) -> dict[str, Any]:
    """Plays a trial's final policy against the opponent of the metric, on new circles or decks.

    The seed is that of the trials' evaluations plus 1. Returns the number of the ``trial``, the ``steps`` of
    its training, and the ``match`` as a dictionary; they are kept in ``SWEEP/winner.json``, and read from
    there if it belongs to the same policy.

    Raises:
        StorageError: The folder cannot be written.
    """
    path = sweep.folder / WINNER_FILE
    evaluation = sweep.evaluation(trial)
    chosen = {"trial": trial, "steps": evaluation["steps"] if evaluation else None}
    if path.is_file():
        kept = read_object(path, "match", finite=False)
        if chosen.items() <= kept.items():
            return kept
    config = sweep.config(trial)
    policy = str(sweep.run_folder(trial) / FINAL)
    games, seed = config.evaluation.final_games, later_seed(config.evaluation.seed, 1)
    result = play_matches(policy, sweep.metric.against, games, seed, game=config.game, **config.variant)
    kept = chosen | {"match": result.as_dict()}
    with storing_in(sweep.folder):
        write_text(path, json.dumps(kept, indent=1) + "\n")
    return kept

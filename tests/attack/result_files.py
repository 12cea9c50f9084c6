"""Files of results, with other bytes and values, alone and compared with sound ones."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from numpy.random import Generator

from tests.attack.mutations import mutate_bytes, mutate_tree

BATCH = 20
_LONGEST = 3000
"""The most characters of a message, which may name several files."""
_FIGURES_OF = 40
"""One of so many comparisons is drawn, which takes long."""


def _sound(seed: int) -> Any:
    from patchwork_env.learning.reports.run_results import RunResult

    match = {"games": 10, "seed": 7, "special_patches": "revised", "sides": {"agent": {"score": 20.0}}}
    evaluations = [
        {
            "steps": 100 * k,
            "minutes": k / 2 + seed,
            "matches": tuple(
                {**match, "opponent": name, "win_rate": k / 4, "score_difference": -k / 3}
                for name in ("random", "greedy")
            ),
        }
        for k in range(3)
    ]
    start = {"steps": 0, "commit": "c" * 40, "patchwork_env": "0.1.0", "machine": "a machine"}
    told = {"name": "ppo", "seed": seed, "game": "patchwork", "algorithm": "ppo"}
    told |= {"configuration": {"seed": seed, "ppo": {"epochs": 2}}, "starts": (start,), "weights": "ab" * 32}
    return RunResult.model_validate({**told, "evaluations": tuple(evaluations)})


def results(random: Generator) -> int:
    """Reads changed files, and compares what they hold if they are read."""
    from patchwork_env.learning.commands.compare import write_comparison
    from patchwork_env.learning.evaluation.tables import FORMATS
    from patchwork_env.learning.reports import comparison_tables
    from patchwork_env.learning.reports.comparison import compare
    from patchwork_env.learning.reports.run_results import read_result, write_result

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = [write_result(_sound(seed), folder) for seed in range(3)]
        sound = paths[0].read_bytes()
        for _ in range(BATCH):
            if random.random() < 0.3:
                paths[0].write_bytes(mutate_bytes(sound, random))
            else:
                paths[0].write_text(json.dumps(mutate_tree(json.loads(sound), random)))
            try:
                read = [read_result(path) for path in paths]
                comparison = compare(read)
            except ValueError as error:
                _require_short(error)
                continue
            for form in FORMATS:
                assert "ppo" in comparison_tables.as_text(comparison, form)
            assert read_result(write_result(read[0], folder / "again")).evaluations == read[0].evaluations
            if random.integers(_FIGURES_OF) == 0:
                write_comparison(comparison, folder / "out")
    return BATCH


def _require_short(error: BaseException) -> None:
    message = str(error)
    if "\n" in message or not 0 < len(message) < _LONGEST:
        raise AssertionError(f"a message of {len(message)} characters: {message[:300]}")


ATTACKS = {"result_files": results}

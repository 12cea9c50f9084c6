"""Power losses: trainings and tournaments go on from what is left on the disk, and nothing complete is lost.

What the real code writes is recorded once; every attempt loses the power at a random moment of it, by the
model of :mod:`tests.attack.disk_model`, and has the real code go on with what is left.
"""

from __future__ import annotations

import contextlib
import functools
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from numpy.random import Generator

from tests.attack.disk_model import Recording, lose_power, recorded
from tests.attack.whole_runs import command, configuration, quiet, require_same, result_of

_RUN, _GAMES = Path("runs", "small"), Path("games", "small")
_LOSSES = 4
"""Losses of power for each attempt."""


def lose_training(random: Generator) -> int:
    """Loses a run, which had been resumed once; what is left is resumed and ends like the unharmed one."""
    recording, expected = _trained()
    for _ in range(_LOSSES):
        moment = int(random.integers(len(recording.operations) + 1))
        with tempfile.TemporaryDirectory() as name:
            lose_power(recording, moment, Path(name), random)
            _resume(Path(name), recording, moment, expected)
    return _LOSSES


def _resume(folder: Path, recording: Recording, moment: int, expected: dict[str, Any]) -> None:
    config = folder / _RUN / "config.yaml"
    if not config.exists():
        assert not recording.allowed(_RUN / "config.yaml", moment), "the run is lost"
        return
    from patchwork_env.learning.runs.run import resumed_run

    with quiet(), resumed_run(folder / _RUN) as run:
        recording.check(folder, moment)
        assert run.train() == 0
    require_same(result_of(folder / _RUN), expected)


def lose_tournament(random: Generator) -> int:
    """Loses a tournament; with what is left it comes to the same results."""
    recording, expected = _played()
    for _ in range(_LOSSES):
        moment = int(random.integers(len(recording.operations) + 1))
        with tempfile.TemporaryDirectory() as name:
            lose_power(recording, moment, Path(name), random)
            recording.check(Path(name), moment)
            assert _play(Path(name, _GAMES)) == expected
    return _LOSSES


@functools.cache
def _trained() -> tuple[Recording, dict[str, Any]]:
    """What a run writes that is stopped, is resumed to its end and resumed once more, and what it leaves."""
    from patchwork_env.learning.config import load_config
    from patchwork_env.learning.runs.run import new_run

    with tempfile.TemporaryDirectory() as name:
        config, run = Path(name, "small.yaml"), Path(name, "disk", _RUN)
        config.write_text(configuration("ppo").replace("checkpoint_every: 1", "checkpoint_every: 2"))
        Path(name, "disk").mkdir()
        with recorded(Path(name, "disk")) as recording, _promises(Path(name, "disk"), recording):
            with quiet(), new_run(load_config(config), run) as begun:
                begun.train(_begin)
            for _ in range(2):
                command("train", "--resume", str(run), "--set", "evaluation.games=2")
        return recording, result_of(run)


def _begin(run: Any) -> None:
    """Trains for three iterations, after the second of which there is a checkpoint."""
    for _ in range(3):
        run.log(run.trainer.step())
        run.save_if_due()
        run.evaluate_if_due()


@functools.cache
def _played() -> tuple[Recording, dict[str, Any]]:
    """What a tournament writes, and its results."""
    with tempfile.TemporaryDirectory() as name:
        with recorded(Path(name)) as recording, _promises(Path(name), recording):
            results = _play(Path(name, _GAMES))
        return recording, results


def _play(folder: Path) -> dict[str, Any]:
    from patchwork_env.learning.evaluation.tournament import Tournament

    return Tournament.enter(["random", "greedy"], 4, 1).play(folder).as_dict()


@contextlib.contextmanager
def _promises(root: Path, recording: Recording) -> Iterator[None]:
    """Within the block, whatever was written in one piece is promised to stay when the function returns."""
    from patchwork_env.core import files
    from patchwork_env.learning.runs import checkpoints

    write_folder, write_bytes = files.write_folder, files.write_bytes

    def writing_folder(folder: Path, *given: Any, **named: Any) -> None:
        write_folder(folder, *given, **named)
        for name in ("checkpoint.json", "weights.safetensors"):
            recording.promise((folder / name).relative_to(root), (folder / name).read_bytes())

    def writing_bytes(path: Path, contents: bytes) -> None:
        write_bytes(path, contents)
        if not path.name.startswith("metrics."):  # which grow later on
            recording.promise(path.relative_to(root), contents)

    with (
        mock.patch.object(checkpoints, "write_folder", writing_folder),
        mock.patch.object(files, "write_bytes", writing_bytes),
    ):
        yield


ATTACKS = {"power_loss_training": lose_training, "power_loss_tournament": lose_tournament}
SLOW = {"power_loss_training"}

"""Runs and the contents of their folders, and comparisons of interrupted runs with others, bit by bit."""

import json
import os
import shutil
import sys
from pathlib import Path

from safetensors.torch import load_file

from patchwork_env.learning.algorithms.common.trainer import make_trainer, split
from patchwork_env.learning.commands import train
from patchwork_env.learning.config import load_config
from patchwork_env.learning.evaluation.records import read_evaluation
from patchwork_env.learning.runs.folder import checkpoint_folders, evaluation_files

ROOT = Path(__file__).parents[2]


def train_command(*arguments):
    """The real command, in which every warning is an error."""
    return [sys.executable, "-W", "error", "-m", "training.train", *arguments]


def environment():
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def start_run(config, run, *overrides):
    return train.main(
        ["--config", str(config), "--run-dir", str(run), *(f"--set={each}" for each in overrides)]
    )


def resume_run(run, *overrides):
    return train.main(["--resume", str(run), *(f"--set={each}" for each in overrides)])


def checkpoints_of(run):
    return list(checkpoint_folders(run).values())


def metrics_of(run):
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def evaluations_of(run):
    return [read_evaluation(path) for path in evaluation_files(run).values()]


def scalars_of(run):
    """What TensorBoard shows of the learning curves: steps and values by the names of the metrics."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    accumulator = EventAccumulator(str(run))
    accumulator.Reload()
    names = accumulator.Tags()["scalars"]
    return {name: [(event.step, event.value) for event in accumulator.Scalars(name)] for name in names}


def tensors_of(folder):
    """The bytes of all tensors of a checkpoint, by file and name."""
    return {
        (path.name, name): tensor.numpy().tobytes()
        for path in folder.glob("*.safetensors")
        for name, tensor in load_file(path).items()
    }


def assert_same_run(run, other):
    """The contents of two runs are equal, except for those that depend on the speed of the machine."""
    expected = _contents_of(other)
    for name, contents in _contents_of(run).items():
        assert contents == expected[name], name


def _contents_of(run):
    last = checkpoints_of(run)[-1]
    stored = json.loads(text := (last / "trainer.json").read_text())
    assert text == json.dumps(stored, indent=1) + "\n"
    assert stored["state"].pop("seconds") > 0
    evaluations = [json.loads(path.read_text()) for path in evaluation_files(run).values()]
    return {
        "checkpoints": [folder.name for folder in checkpoints_of(run)],
        "last checkpoint": tensors_of(last),
        "state of the trainer": stored["state"],
        "final policy": tensors_of(run / "final"),
        "metrics.jsonl": [_timeless(line) for line in metrics_of(run)],
        "events": _timeless(scalars_of(run)),
        "evaluations": [_timeless(evaluation) for evaluation in evaluations],
    }


def _timeless(figures):
    return {k: v for k, v in figures.items() if k != "minutes" and not k.startswith("time/")}


def check_resumed_run(finished, run):
    """Copies a run, removes its end, resumes it, and compares it with the original."""
    shutil.copytree(finished, run)
    forget_the_end(run)
    assert resume_run(run) == 0
    assert_same_run(run, finished)


def forget_the_end(run):
    """Changes a finished run to one that was killed after its last but one checkpoint."""
    shutil.rmtree(checkpoints_of(run)[-1])
    shutil.rmtree(run / "final")


def check_restored_trainer(config, steps=1):
    """Saves a trainer after some steps, restores another one from it, and continues both."""
    first, second = (make_trainer(load_config(config)) for _ in range(2))
    for _ in range(steps):
        first.step()
    second.load_state_dict(first.state_dict())
    first.step()
    second.step()
    assert state_of(first) == state_of(second)


def state_of(trainer):
    """The state of a trainer for comparisons: values, and the bytes of tensors by their paths."""
    values, tensors = split(trainer.state_dict())
    del values["seconds"]
    return values, {name: tensor.detach().numpy().tobytes() for name, tensor in tensors.items()}

"""Kills a small training run at random moments, resumes it every time, and looks for what has suffered.

python benchmarks/kill_and_resume.py [--config FILE] [--cycles N] [--kills-per-run N] [--seed N] [--json]

Every cycle starts the training command in a process of its own and ends it with SIGKILL after a random time,
about every other time not before it is writing a file. A run that reaches its end is compared to one that was
never interrupted, and a new one begins. After every kill

- each checkpoint that was ever seen is there and unchanged, and each new one can be loaded,
- the two newest ones hold all that the run needs to go on,

and in the end checkpoints, final policy and learning curves of every run are those of the uninterrupted one,
to the bit; only times differ. The exit code is 1 if any of this is not so.
"""

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

from patchwork_env import agents
from patchwork_env.agents.checkpoints import PARTIAL
from patchwork_env.learning.algorithms.common.trainer import make_trainer
from patchwork_env.learning.commands import train
from patchwork_env.learning.config import load_config
from patchwork_env.learning.evaluation import play_matches
from patchwork_env.learning.system.machine import describe_setup

SMALL_RUN = """
total_steps: 2560
checkpoint_every: 1
threads: 1
network: {width: 8, depth: 1, channels: 4}
ppo: {num_envs: 8, rollout_steps: 8, minibatch_size: 32, epochs: 1}
league: {fraction: 0.5, snapshot_every: 4, size: 3, opponents: 2}
evaluation: {every: 8, games: 2, final_games: 2, opponents: [random]}
"""
POLICY = ("checkpoint.json", "weights.safetensors")
TRAINER = ("trainer.json", "trainer.safetensors")


def warm_up(config: Path) -> None:
    """Does once what every process would do again: imports and the loading of compiled kernels."""
    torch.set_num_threads(1)  # no thread may run when processes are forked
    trainer = make_trainer(load_config(config, ["threads=1"]))
    for _ in range(3):
        trainer.iterate()
    play_matches(trainer.agent(), "random", 2)


def start(config: Path, run: Path) -> int:
    """Trains in a new process: a new run, or a run that is resumed if there is one. Returns its id."""
    is_run = (run / "config.yaml").exists()
    if not is_run and run.exists():
        shutil.rmtree(run)  # its first process was killed before it was a run
    process = os.fork()
    if process:
        return process
    output = os.open(run.parent / "output.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(output, 1)
    os.dup2(output, 2)
    beginning = ["--resume", str(run)] if is_run else ["--config", str(config), "--run-dir", str(run)]
    os._exit(train.main(beginning))


def wait_for(process: int) -> None:
    """Waits for a process to end.

    Raises:
        ChildProcessError: The process ended with an error.
    """
    while not has_ended(process):
        time.sleep(0.01)


def has_ended(process: int) -> bool:
    """Whether a process has ended by itself; raises ChildProcessError if that was with an error."""
    ended, status = os.waitpid(process, os.WNOHANG)
    if ended and status:
        raise ChildProcessError(f"a training ended with exit code {os.waitstatus_to_exitcode(status)}")
    return bool(ended)


def kill_after(process: int, seconds: float, run: Path, while_writing: bool) -> bool:
    """Kills a process, if it does not end before; returns whether it was killed.

    Args:
        process: The id of the process.
        seconds: The time before the process may be killed.
        run: The folder of the run that the process trains.
        while_writing: Whether to wait, after that time, until the process is writing a file.
    """
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline or (while_writing and not is_writing(run)):
        if has_ended(process):
            return False
        time.sleep(0.0005)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return True


def is_writing(run: Path) -> bool:
    """Whether a file or folder is there that is not complete."""
    return any(any(folder.glob(f".*{PARTIAL}")) for folder in (run, run / "checkpoints"))


class Witness:
    """Remembers the checkpoints of a run, and notices what happens to them.

    Attributes:
        seen: Digests of the policies' files by the names of the checkpoints.
    """

    def __init__(self, run: Path) -> None:
        self.run = run
        self.seen: dict[str, list[str]] = {}

    def look(self) -> list[str]:
        """Checks all checkpoints; returns a sentence for each thing that is wrong."""
        folders = sorted((self.run / "checkpoints").glob("step_*"))
        present = {folder.name: digests(folder, POLICY) for folder in folders}
        wrong = [f"{name} is lost" for name in self.seen if name not in present]
        wrong += [
            f"{name} has changed" for name in present if self.seen.get(name, present[name]) != present[name]
        ]
        for folder in folders:
            if folder.name not in self.seen:
                wrong += problems_of(partial(agents.load, folder))
        for folder in folders[-2:]:
            wrong += problems_of(partial(read_state, folder))
        if (self.run / "final").exists():
            wrong += problems_of(partial(agents.load, self.run / "final"))
        self.seen |= present
        return wrong


def problems_of(load: Callable[[], object]) -> list[str]:
    """The message of the error, if there is one."""
    try:
        load()
    except (ValueError, OSError, RuntimeError) as error:
        return [str(error)]
    return []


def read_state(folder: Path) -> tuple[Any, Any]:
    """The trainer's counters and tensors in a checkpoint."""
    return json.loads((folder / TRAINER[0]).read_text()), load_file(folder / TRAINER[1])


def digests(folder: Path, names: tuple[str, ...]) -> list[str]:
    """SHA-256 digests of files; an empty text for a file that is missing."""
    paths = [folder / name for name in names]
    return [hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else "" for path in paths]


def result_of(run: Path) -> dict[str, Any]:
    """What a finished run leaves, except times, under a name for each kind."""
    folders = sorted((run / "checkpoints").glob("step_*"))
    states = [read_state(folder)[0] for folder in folders[-2:]]
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return {
        "checkpoints": {folder.name: digests(folder, POLICY[1:]) for folder in folders},
        "states": [digests(folder, TRAINER[1:]) for folder in folders],
        "counters": [{key: value for key, value in state.items() if key != "seconds"} for state in states],
        "final policy": digests(run / "final", POLICY[1:]),
        "learning curves": [{name: line[name] for name in line if not is_time(name)} for line in lines],
        "evaluations": [path.name for path in sorted((run / "evaluations").iterdir())],
        "left behind": [path.name for path in run.rglob(f"*{PARTIAL}")],
    }


def is_time(metric: str) -> bool:
    """Whether a metric depends on the machine."""
    return metric == "minutes" or metric.startswith("time/")


class Cycles:
    """Runs that are killed and resumed, one after the other.

    Attributes:
        figures: Counts of what has happened so far.
        wrong: A sentence for everything that must not have happened.
    """

    def __init__(self, config: Path, folder: Path, seed: int, kills_per_run: int) -> None:
        self.config, self.folder = config, folder
        self.figures = {
            "cycles": 0,
            "runs": 1,
            "killed_while_writing": 0,
            "killed_before_first_checkpoint": 0,
        }
        self.figures |= {"checkpoints": 0, "different_runs": 0}
        self.wrong: list[str] = []
        self._random = random.Random(seed)
        began = time.monotonic()
        wait_for(start(config, folder / "uninterrupted"))
        self._longest = 2 * (time.monotonic() - began) / kills_per_run
        self._expected = result_of(folder / "uninterrupted")
        self._witness = Witness(folder / "run-1")

    def kill_and_resume(self) -> None:
        """Kills a run once and checks it; runs that end before they are killed do not count as cycles."""
        while not self._kill(start(self.config, self._witness.run)):
            self._compare()
            self.figures["runs"] += 1
            self._witness = Witness(self.folder / f"run-{self.figures['runs']}")
        run = self._witness.run
        self.figures["cycles"] += 1
        self.figures["killed_before_first_checkpoint"] += not (run / "config.yaml").exists()
        self.figures["killed_while_writing"] += is_writing(run)
        self.wrong += self._witness.look()

    def _kill(self, process: int) -> bool:
        seconds, while_writing = self._random.uniform(0, self._longest), self._random.random() < 0.5
        return kill_after(process, seconds, self._witness.run, while_writing)

    def finish(self) -> None:
        """Resumes the last run to its end, and compares it."""
        wait_for(start(self.config, self._witness.run))
        self._compare()

    def _compare(self) -> None:
        self.wrong += self._witness.look()
        self.figures["checkpoints"] += len(self._witness.seen)
        run = self._witness.run
        found = result_of(run)
        differing = [name for name, expected in self._expected.items() if found[name] != expected]
        self.figures["different_runs"] += bool(differing)
        self.wrong += [f"{run.name} differs from the uninterrupted run: {name}" for name in differing]
        if not differing:
            shutil.rmtree(run)


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description="Kills and resumes a small run at random moments.")
    parser.add_argument(
        "--config", type=Path, metavar="FILE", help="configuration of another run than the built-in one"
    )
    parser.add_argument("--cycles", type=int, default=200, metavar="N")
    parser.add_argument("--kills-per-run", type=int, default=12, metavar="N", help="on average, about")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the moments to kill at")
    parser.add_argument("--json", action="store_true", help="print the figures as the last line")
    options = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="kill-and-resume-") as name:
        config = options.config or Path(name) / "small.yaml"
        if not options.config:
            config.write_text(SMALL_RUN)
        warm_up(config)
        cycles = Cycles(config, Path(name), options.seed, options.kills_per_run)
        for _ in range(options.cycles):
            cycles.kill_and_resume()
        cycles.finish()
    figures = cycles.figures | {"wrong": len(cycles.wrong), "seconds": round(time.monotonic() - began, 1)}
    print(describe_setup(("torch",)))
    for key, value in figures.items():
        print(f"  {key.replace('_', ' '):<32} {value:>8,}")
    for problem in cycles.wrong:
        print(problem)
    if options.json:
        print(json.dumps(figures))
    return 1 if cycles.wrong else 0


if __name__ == "__main__":
    sys.exit(main())

"""Measures resident memory: of batches of games, of training, and of the champion's search.

    python benchmarks/memory.py [--write]

Every row runs two processes, which differ in one size. Its figures are the peak of the larger one and the
growth per unit between both.
"""

import argparse
import subprocess
import sys
from typing import NamedTuple

from benchmarks.keeping import Figures, add_write_option, figure, keep
from patchwork_env.learning.system import describe_setup

PEAK = """
import resource
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
BATCH = """
from patchwork_env.{game}_v0 import SelfPlayBatch
env = SelfPlayBatch({size}, seed=1)
for _ in range(60):
    env.step(env.random_actions)
"""
VECTOR = """
import gymnasium
env = gymnasium.make_vec("patchwork_env:Patchwork-v0", num_envs={size}, opponent="random")
_, infos = env.reset(seed=1)
for _ in range(10):
    _, _, _, _, infos = env.step(infos["action_mask"].argmax(1))
"""
SEARCH = """
from patchwork_env import agents
from patchwork_env.patchwork import Game
agents.load("champion:nodes={size}").act(Game(seed=1))
"""
TRAINING = """
import tempfile
from patchwork_env import cli
values = ["ppo.num_envs={size}", f"total_steps={{size} * 64}", "evaluation.final_games=2", "threads=1"]
assert cli.main(["train", "ppo", "--run-dir", tempfile.mkdtemp() + "/run", "--set", *values]) == 0
"""


class Row(NamedTuple):
    """A process to measure: its code, the unit of its size, and two sizes."""

    code: str
    unit: str
    sizes: tuple[int, int]


ROWS = {
    "SelfPlayBatch of Patchwork": Row(BATCH.replace("{game}", "patchwork"), "game", (4096, 65536)),
    "SelfPlayBatch of NMBR 9": Row(BATCH.replace("{game}", "nmbr9"), "game", (4096, 65536)),
    "make_vec of Patchwork": Row(VECTOR, "game", (4096, 65536)),
    "champion": Row(SEARCH, "node", (20_000, 200_000)),
    "train ppo": Row(TRAINING, "game", (512, 4096)),
}


def peak(code: str) -> int:
    """The highest resident memory of a new process, in bytes."""
    done = subprocess.run([sys.executable, "-c", code + PEAK], capture_output=True, text=True, check=True)
    return 1024 * int(done.stdout.split()[-1])


def measure() -> Figures:
    """A line for every row, and its figures."""
    found = Figures()
    for title, (code, unit, (small, large)) in ROWS.items():
        less, most = (peak(code.replace("{size}", str(size))) for size in (small, large))
        growth = (most - less) / (large - small)
        print(f"{title:27} {large:7,} {unit}s: {most / 1e6:7,.0f} MB, {growth / 1e3:.2f} kB per {unit}")
        found[title] = figure(most / 1e6, "MB", size=large)
        found[f"{title}, growth"] = figure(growth / 1e3, "kB", per=unit)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add_write_option(parser)
    options = parser.parse_args()
    print(describe_setup())
    found = measure()
    if options.write:
        keep("memory", found, options.write)


if __name__ == "__main__":
    main()

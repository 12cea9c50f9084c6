"""Measures what a user waits for: the import, and the first move with a cold and with a warm cache.

    python benchmarks/startup.py [--repeats N] [--json]

Every figure comes from processes of its own; "cold" ones start with an empty folder for Numba's cache.
The table shows the median and the worst of the repeats, in seconds.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping

from patchwork_env.learning.system.machine import describe_setup

IMPORT = "import patchwork_env"
GAME = """
from patchwork_env.patchwork import Game
game = Game(seed=1)
game.play(int(game.legal_actions()[0]))
"""
GYMNASIUM = """
import gymnasium
env = gymnasium.make("patchwork_env:Patchwork-v0", opponent="random")
_, info = env.reset(seed=1)
env.step(int(info["action_mask"].argmax()))
"""
BATCH = """
from patchwork_env.patchwork_v0 import SelfPlayVectorEnv
env = SelfPlayVectorEnv(64, seed=1, threads={threads})
env.step(env.random_actions)
"""
AGENT = """
from patchwork_env import agents
from patchwork_env.{game} import Game
agents.load("{spec}").act(Game(seed=1))
"""

Timings = dict[str, list[float]]


def seconds(code: str, cache: str) -> float:
    """Wall-clock seconds that a new process spends on code, not counting the start of the interpreter."""
    timed = f"import time\nstart = time.perf_counter()\n{code}\nprint(time.perf_counter() - start)"
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    command = [sys.executable, "-c", timed]
    return float(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)


def measure(repeats: int) -> Timings:
    """Seconds of every repeat, by what was measured."""
    timings: Timings = {"import patchwork_env": []}
    codes = {
        "first move of a game": GAME,
        "first step with Gymnasium": GYMNASIUM,
        "first step of a batch, 1 thread": BATCH.format(threads=1),
        "first step of a batch, all threads": BATCH.format(threads=None),
        "first move of champion:instant": AGENT.format(game="patchwork", spec="champion:instant"),
        "first move of nmbr9_champion:fast": AGENT.format(game="nmbr9", spec="nmbr9_champion:fast"),
    }
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as cache:
            timings["import patchwork_env"].append(seconds(IMPORT, cache))
        for name, code in codes.items():
            with tempfile.TemporaryDirectory() as cache:
                timings.setdefault(f"{name}, cold", []).append(seconds(code, cache))
                timings.setdefault(f"{name}, warm", []).append(seconds(code, cache))
    return timings


def print_table(timings: Mapping[str, list[float]]) -> None:
    """One line for every measurement."""
    width = max(map(len, timings))
    print(f"{'seconds, import included':{width}}  median  worst")
    for name, values in timings.items():
        print(f"{name:{width}}  {statistics.median(values):6.2f} {max(values):6.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=3, help="processes for each figure (default: 3)")
    parser.add_argument("--json", action="store_true", help="print the medians as JSON in the last line")
    options = parser.parse_args()
    if options.repeats < 1:
        parser.error("--repeats must be at least 1")
    print(describe_setup())
    timings = measure(options.repeats)
    print_table(timings)
    if options.json:
        print(json.dumps({name: round(statistics.median(values), 3) for name, values in timings.items()}))


if __name__ == "__main__":
    main()

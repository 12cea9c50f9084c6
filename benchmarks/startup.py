"""Measures the waiting times of users: the import, and the first move with a cold and a warm cache.

    python benchmarks/startup.py [NAME ...] [--repeats N] [--json] [--write]

Every figure comes from new processes; "cold" ones start with an empty folder for Numba's cache. Python
stores the bytecode of modules, as for users, even if the environment disables it. CPU is the processor time,
user and system, with the start of the interpreter and all threads; wall is the time of the clock. The table
shows the medians of the repeats, in seconds. Names such as ``champion`` choose the rows with such a title; by
default all.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from importlib.util import find_spec
from typing import NamedTuple

from benchmarks.keeping import add_write_option, keep, of_unit
from patchwork_env import agents
from patchwork_env.learning.system import describe_setup

IMPORT = "import patchwork_env"
GAME = """
from patchwork_env.{game} import Game
game = Game(seed=1)
game.play(int(game.legal_actions()[0]))
"""
AGAINST = """
import gymnasium
env = gymnasium.make("patchwork_env:Patchwork-v0", opponent="greedy")
_, info = env.reset(seed=1)
env.action_space.seed(1)
terminated = False
while not terminated:
    _, _, terminated, _, info = env.step(env.action_space.sample(info["action_mask"]))
"""
GYMNASIUM = """
import gymnasium
env = gymnasium.make("patchwork_env:Patchwork-v0", opponent="random")
_, info = env.reset(seed=1)
env.step(int(info["action_mask"].argmax()))
"""
BATCH = """
from patchwork_env.{game}_v0 import SelfPlayBatch
env = SelfPlayBatch(64, seed=1)
env.step(env.random_actions)
"""
AGENT = """
from patchwork_env import agents
from patchwork_env.{game} import Game
agents.load("{spec}").act(Game(seed=1{options}))
"""
PLAY = """
import json, subprocess, sys
from urllib.request import Request, urlopen
command = [sys.executable, "-m", "patchwork_env.cli", "play", "--no-browser", "--port", "0"]
with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
    address = server.stdout.readline().strip()
    headers = {"Content-Type": "application/json", "Origin": address.rstrip("/")}
    def ask(route, **message):
        request = Request(f"{address}api/{route}", json.dumps(message).encode(), headers)
        return urlopen(request).read().decode().splitlines()
    notation = json.loads(ask("open", game="patchwork", seed=1)[0])["notation"]
    answers = ask("choose", notation=notation, agent="champion:instant", seed=1)
    server.terminate()
assert any("choice" in answer for answer in answers)
"""
PATCHWORK_AGENTS = (
    *("greedy", "mcts:simulations=100", "champion:instant", "champion:fast", "champion:strong"),
    *("champion:seconds=1", "value", "partner:level=1", "partner:level=5"),
)
NMBR9_AGENTS = (
    *("nmbr9_greedy", "beam", "nmbr9_champion:instant", "nmbr9_champion:fast"),
    *("nmbr9_partner:level=1", "nmbr9_partner:level=5"),
)


class Seconds(NamedTuple):
    """The time and memory of a process."""

    cpu: float
    wall: float


class Start(NamedTuple):
    """The times of a process with an empty cache, and of a second one with the cache of the first."""

    cold: Seconds
    warm: Seconds


Timings = dict[str, list[Start]]


def codes() -> dict[str, str]:
    """The code of every process to measure, by title."""
    rows = {
        "import": IMPORT,
        "first move of a game": GAME.format(game="patchwork"),
        "first move of a game of NMBR 9": GAME.format(game="nmbr9"),
        "first step with Gymnasium": GYMNASIUM,
        "first game against greedy": AGAINST,
        "first step of a batch": BATCH.format(game="patchwork"),
        "first step of a batch of NMBR 9": BATCH.format(game="nmbr9"),
    }
    known_deck = ', order="known"'  # for `beam`
    for game, options, specs in (("patchwork", "", PATCHWORK_AGENTS), ("nmbr9", known_deck, NMBR9_AGENTS)):
        for spec in filter(known, specs):
            rows[f"first move of {spec}"] = AGENT.format(game=game, spec=spec, options=options)
    if find_spec("starlette") and find_spec("uvicorn"):
        rows["patchwork-env play, first answer of champion:instant"] = PLAY
    return rows


def known(spec: str) -> bool:
    """Whether this version has an agent for a spec."""
    try:
        agents.load(spec)
    except ValueError:
        return False
    return True


def seconds(code: str, cache: str) -> Seconds:
    """Return the cost of a new process that runs the code and ends."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache, "PYTHONDONTWRITEBYTECODE": ""}
    before, began = os.times(), time.perf_counter()
    subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True)
    wall, after = time.perf_counter() - began, os.times()
    user = after.children_user - before.children_user
    return Seconds(user + after.children_system - before.children_system, wall)


def measure(names: list[str], repeats: int) -> Timings:
    """Every repeat of every row with one of the names in its title, or of all rows."""
    timings: Timings = {}
    for _ in range(repeats):
        for title, code in codes().items():
            if not names or any(name in title for name in names):
                with tempfile.TemporaryDirectory() as cache:
                    start = Start(seconds(code, cache), seconds(code, cache))
                timings.setdefault(title, []).append(start)
    return timings


def medians(starts: list[Start]) -> list[float]:
    """CPU and wall of cold starts, then of warm ones."""
    return [statistics.median(column) for column in zip(*(s.cold + s.warm for s in starts), strict=True)]


def print_table(timings: Mapping[str, list[Start]]) -> None:
    """One line for every row."""
    width = max(map(len, timings))
    print(f"{'seconds':{width}}  cold CPU  cold wall  warm CPU  warm wall")
    for title, starts in timings.items():
        cold_cpu, cold_wall, warm_cpu, warm_wall = medians(starts)
        print(f"{title:{width}}  {cold_cpu:8.2f}  {cold_wall:9.2f}  {warm_cpu:8.2f}  {warm_wall:9.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", help="parts of the titles of the rows (default: all)")
    parser.add_argument("--repeats", type=int, default=3, help="processes for each figure (default: 3)")
    parser.add_argument("--json", action="store_true", help="print the medians as JSON in the last line")
    add_write_option(parser)
    options = parser.parse_args()
    if options.repeats < 1:
        parser.error("--repeats must be at least 1")
    print(describe_setup())
    timings = measure(options.names, options.repeats)
    if not timings:
        parser.error("no row has such a name")
    print_table(timings)
    if options.write:
        columns = ("cold CPU", "cold wall", "warm CPU", "warm wall")
        rows = {title: zip(columns, medians(starts), strict=True) for title, starts in timings.items()}
        named = {f"{title}, {column}": value for title, row in rows.items() for column, value in row}
        keep("startup", of_unit("s", named), options.write)
    if options.json:
        print(
            json.dumps({title: [round(s, 3) for s in medians(starts)] for title, starts in timings.items()})
        )


if __name__ == "__main__":
    main()

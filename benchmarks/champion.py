"""Measures an agent that searches with a learned value: its speed, and level against level.

    python benchmarks/champion.py [--agent SPEC] [--levels LEVEL …] [--moves N] [--games N]
        [--self-play N] [--seed S] [--json] [--write]

Moves with a choice come from games of the agent at its first level against itself, evenly from beginning to
end. Their times, and the time per position of a tree, are processor times on one thread, so that other work
on the machine matters little. The speedup of two threads is by the clock: the median over positions that are
searched with one and with two threads in turn. In matches every circle is played from both seats. Each level
plays the one before it; the first one plays the same value without a search if the agent is the folder of a
checkpoint. Games of the first level against itself show points and empty cells for each aim.
"""

import argparse
import json
import time
from typing import Any

import numpy as np

from benchmarks.keeping import Figures, add_write_option, figure, keep, of_unit
from patchwork_env import agents
from patchwork_env.agents import Agent
from patchwork_env.agents.options import AIMS
from patchwork_env.agents.patchwork.champion.agent import LEVELS, ChampionAgent, ValueAgent
from patchwork_env.learning.evaluation import play_matches
from patchwork_env.learning.system import describe_setup
from patchwork_env.patchwork import Game
from patchwork_env.patchwork.components import LAST_SPACE

_PLAYED_LEVELS = ("instant", "fast", "strong")
_NODES = 1000
"""Nodes of a search whose positions are timed."""
_NODES_OF_THREADS = 20_000
"""Nodes of a search whose threads are timed."""
_GAMES = 4
"""The least number of games that positions come from."""


def positions(agent: Agent, number: int, seed: int) -> list[Game]:
    """Positions with a choice, evenly from beginning to end of some games."""
    found: list[Game] = []
    while len(found) < number:
        game, choices = Game(seed=seed), []
        seed += 1
        while not game.is_over:
            if len(game.legal_actions()) > 1:
                choices.append(game.clone())
            game.play(agent.act(game))
        found += choices[:: max(1, _GAMES * len(choices) // number)]
    return found[:number]


def milliseconds_per_move(agent: Agent, games: list[Game]) -> dict[str, float]:
    """Mean, 99th percentile and maximum over one move in every game."""
    agent.act(games[0])  # compiles
    times = []
    for game in games:
        start = time.thread_time()
        agent.act(game)
        times.append((time.thread_time() - start) * 1e3)
    return {"mean": float(np.mean(times)), "p99": float(np.percentile(times, 99)), "most": max(times)}


def microseconds_per_position(spec: str, games: list[Game]) -> float:
    """The mean over searches of positions in the first half of a game, where no ending is solved."""
    agent, seconds, positions = agents.load(f"{spec}:nodes={_NODES}"), 0.0, 0
    assert isinstance(agent, ChampionAgent)
    for game in games:
        if sum(game.positions) < LAST_SPACE:
            start = time.thread_time()
            lines = agent.search(game)
            seconds += time.thread_time() - start
            positions += sum(line.visits for line in lines)
    return seconds / positions * 1e6


def speedup(spec: str, games: list[Game]) -> float:
    """Return the positions per second of two threads, relative to one, in the first halves of games."""
    searchers = [agents.load(f"{spec}:nodes={_NODES_OF_THREADS},threads={threads}") for threads in (1, 2)]
    ratios = []
    for game in (game for game in games if sum(game.positions) < LAST_SPACE):
        seconds = []
        for agent in searchers:
            assert isinstance(agent, ChampionAgent)
            start = time.perf_counter()
            agent.search(game)
            seconds.append(time.perf_counter() - start)
        ratios.append(seconds[0] / seconds[1])
    return float(np.median(ratios))


def self_play(spec: str, games: int, seed: int) -> dict[str, float]:
    """Means over games of an agent with itself."""
    result = play_matches(spec, spec, games, seed=seed)
    scores, means = result.games.scores, result.means(0)
    return {
        "winner": float(scores.max(1).mean()),
        "loser": float(scores.min(1).mean()),
        "empty_cells": means["empty_cells"],
        "bonus_tile": 2 * means["bonus_tile"],
    }


def kept(figures: dict[str, Any]) -> Figures:
    """Return the figures to keep."""
    found = {"position": figure(figures["microseconds_per_position"], "µs")}
    found["threads=2"] = figure(figures["speedup"], "times")
    for level, times in figures["times"].items():
        found |= of_unit("s", {f"{level}, {which}": times[which] / 1e3 for which in times})
    for match, result in figures["matches"].items():
        found[match] = figure(result["win_rate"], "share", result["interval"])
    for aim, row in figures["self_play"].items():
        tile = figure(row["bonus_tile"], "share of whole")
        points = {f"{aim}, {name}": row[name] for name in row if name != "bonus_tile"}
        found |= of_unit("points", points) | {f"{aim}, bonus_tile": tile}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--agent", metavar="SPEC", default="champion", help="an agent without options (default: %(default)s)"
    )
    parser.add_argument("--levels", metavar="LEVEL", nargs="+", choices=LEVELS, default=list(_PLAYED_LEVELS))
    parser.add_argument(
        "--moves", type=int, default=100, help="to measure at each level (default: %(default)s)"
    )
    parser.add_argument(
        "--games",
        type=int,
        default=40,
        help="games of each match, even; 0: no matches (default: %(default)s)",
    )
    parser.add_argument(
        "--self-play", type=int, default=20, help="games for each aim, even; 0: none (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the circles (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON in the last line")
    add_write_option(parser)
    options = parser.parse_args()
    if options.moves < 1 or any(games < 0 or games % 2 for games in (options.games, options.self_play)):
        parser.error("--moves must be at least 1, --games and --self-play even and at least 0")
    specs = [f"{options.agent}:level={level}" for level in options.levels]
    try:
        players = [agents.load(spec) for spec in specs]
    except (ValueError, OSError, ImportError) as error:
        parser.error(str(error))
    print(f"{describe_setup()}\n{options.agent}, one thread, {options.moves} moves with a choice\n")
    print("level       effort  ms per move: mean   99th percentile      most")
    figures: dict[str, Any] = {"times": {}, "matches": {}, "self_play": {}}
    games = positions(players[0], options.moves, options.seed)
    for level, player in zip(options.levels, players, strict=True):
        figures["times"][level] = row = milliseconds_per_move(player, games)
        times = f"{row['mean']:17.2f} {row['p99']:17.2f} {row['most']:9.2f}"
        print(f"{level:8} {LEVELS[level]:9,} {times}", flush=True)
    figures["microseconds_per_position"] = cost = microseconds_per_position(options.agent, games)
    print(f"\n{cost:.1f} microseconds per position in trees of {_NODES}")
    figures["speedup"] = ratio = speedup(options.agent, games)
    print(f"{ratio:.2f} times the positions per second of the clock with two threads")
    pairs = list(zip(specs[1:], specs[:-1], strict=True)) if options.games else []
    if options.games and isinstance(agents.load(options.agent), ValueAgent):
        pairs.insert(0, (specs[0], options.agent))
    for spec, opponent in pairs:
        result = play_matches(spec, opponent, options.games, seed=options.seed)
        low, high = result.interval
        print(f"\n{spec} against {opponent}: {result.win_rate:.1%} [{low:.1%}, {high:.1%}]", flush=True)
        figures["matches"][f"{spec} - {opponent}"] = {"win_rate": result.win_rate, "interval": [low, high]}
    if options.self_play:
        print("\nwith itself at the first level     winner   loser   empty cells   bonus tile taken")
        for aim in AIMS:
            row = self_play(f"{specs[0]},aim={aim}", options.self_play, options.seed)
            figures["self_play"][aim] = row
            print(f"aim={aim:30} {row['winner']:6.1f} {row['loser']:7.1f} {row['empty_cells']:13.1f}", end="")
            print(f" {row['bonus_tile']:18.0%}", flush=True)
    if options.write:
        keep("champion", kept(figures), options.write)
    if options.json:
        print(json.dumps(figures))


if __name__ == "__main__":
    main()

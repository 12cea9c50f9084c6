"""Measures the ratings of the gauntlet's members that search, and prints them beside the frozen ones.

    python benchmarks/gauntlet_ratings.py [--seed S] [--workers N] [--out DIR]

Searches take long, so each of these members plays only its neighbors in strength. The ratings of the other
members are fixed; docs/measure/tournaments.md has the tournament that measured them. The circles differ from
those of the gauntlet. After a stop, the same command resumes.
"""

import argparse
from pathlib import Path

import numpy as np

from patchwork_env import __version__
from patchwork_env.core.progress import Bar
from patchwork_env.learning.commands.match_options import add_worker_options
from patchwork_env.learning.distributed import Workers
from patchwork_env.learning.evaluation.gauntlet import read_pool
from patchwork_env.learning.evaluation.matches import Participant, play_all
from patchwork_env.learning.evaluation.ratings import show_bounds
from patchwork_env.learning.evaluation.results import matches_table
from patchwork_env.learning.evaluation.runners import Match
from patchwork_env.learning.evaluation.store import open_store
from patchwork_env.learning.evaluation.tables import Column, Table, render
from patchwork_env.learning.evaluation.tournament import Standings
from patchwork_env.learning.system import describe_setup, usable_cores

SEED = 1
LADDER = {
    ("mcts:simulations=400", "greedy"): 400,
    ("mcts:simulations=400", "ppo-v1"): 400,
    ("mcts:simulations=5000", "ppo-v1"): 200,
    ("mcts:simulations=5000", "mcts:simulations=400"): 200,
    ("mcts:seconds=1", "mcts:simulations=400"): 20,
    ("mcts:seconds=1", "mcts:simulations=5000"): 60,
}
"""The number of games of each search, named first, against weaker members."""


def measure(seed: int, workers: Workers, folder: Path) -> Standings:
    """Play the missing games of the ladder; return its standings, in which the other ratings are fixed."""
    pool = read_pool()
    members = [member for member in pool.members if any(member.agent in pair for pair in LADDER)]
    participants = [Participant.load(member.agent) for member in members]
    names = [member.agent for member in members]
    pairs = {
        (names.index(agent), names.index(opponent)): games for (agent, opponent), games in LADDER.items()
    }
    matches = [
        Match(
            (i, j),
            (names[i], names[j]),
            pool.game,
            pool.special_patches,
            games,
            seed,
            block_size=members[i].circles_per_block,
            key=participants[i].against(participants[j]),
        )
        for (i, j), games in pairs.items()
    ]
    settings = {"pool": pool.version, "seed": seed, "package": __version__}
    with open_store(folder, "gauntlet", 1, settings) as store, Bar(sum(pairs.values()), "games") as bar:
        players = [one.agent for one in participants]
        results = dict(zip(pairs, play_all(players, matches, workers, bar.update, store), strict=True))
    searches = {agent for agent, _ in LADDER}
    known = [np.nan if member.agent in searches else float(member.rating) for member in members]
    return Standings(tuple(names), results, tuple(known))


def ratings_table(standings: Standings) -> Table:
    """Return the measured and the frozen rating of each search."""
    pool, (values, intervals, _) = read_pool(), standings.ratings
    columns = [Column("agent"), *(Column(title, "{:.0f}".format) for title in ("measured", "frozen"))]
    rows = [
        [name, values[i], pool.member(name).rating, show_bounds(intervals[i])]
        for i, name in enumerate(standings.names)
        if np.isnan(standings.known[i])
    ]
    return Table([*columns, Column("95% interval")], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=SEED, help=f"of circles and agents (default: {SEED})")
    add_worker_options(parser, usable_cores())
    parser.add_argument("--out", type=Path, metavar="DIR", default=Path("runs/gauntlet_ratings"))
    options = parser.parse_args()
    print(describe_setup(("torch",)))
    try:
        standings = measure(options.seed, options.workers, options.out)
    except (ValueError, OSError, ImportError) as error:
        parser.error(str(error))
    print(render([matches_table(list(standings.results.values())), ratings_table(standings)]))


if __name__ == "__main__":
    main()

"""Measures the ratings of the gauntlet's reference players, which stand frozen in training/gauntlet_v1.json.

    python benchmarks/gauntlet_ratings.py [--games N] [--seed S] [--workers N] [--out DIR] [--write]

Plays a round robin of the pool with circles of its own and prints the ratings beside the frozen ones. With
`--write` it freezes them: only before a version is published, for a pool that changes needs a new version.
"""

import argparse
import json
from pathlib import Path

from machine import describe
from tqdm import tqdm

from training.files import write_text
from training.gauntlet import POOL_FILE, read_pool
from training.machine import made_with, usable_cores
from training.players import fingerprint
from training.standings import Standings
from training.tournament import enter, play, write_results

ANCHOR, ANCHOR_RATING = "greedy", 1000.0
"""What fixes the scale."""
SEED = 1
GAMES = 4000


def measure(games: int, seed: int, workers: int, folder: Path) -> Standings:
    """Plays the round robin, or what is left of it."""
    pool = read_pool()
    names = [member.agent for member in pool.members]
    entry = enter(names, games, seed, {"special_patches": pool.special_patches}, ANCHOR, ANCHOR_RATING)
    with tqdm(total=games * len(names) * (len(names) - 1) // 2, unit=" games", disable=None) as bar:
        standings = play(entry, folder, workers, bar.update)
    write_results(folder, entry, standings)
    return standings


def freeze(standings: Standings, games: int, seed: int) -> None:
    """Writes the ratings, whole points, into the file of the pool; its settings stay."""
    contents = json.loads(POOL_FILE.read_text(encoding="utf-8"))
    contents["members"] = [
        {
            "agent": standings.names[i],
            "weights": fingerprint(standings.names[i]),
            "rating": round(float(standings.ratings.values[i])),
            "interval": [end if end is None else round(end) for end in standings.ratings.intervals[i]],
        }
        for i in reversed(standings.order)
    ]
    contents["rated_with"] = {
        "anchor": ANCHOR,
        "games_per_pairing": games,
        "seed": seed,
        "script": "benchmarks/gauntlet_ratings.py",
        **made_with(),
    }
    write_text(POOL_FILE, json.dumps(contents, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--games", type=int, default=GAMES, help=f"per pairing (default: {GAMES})")
    parser.add_argument("--seed", type=int, default=SEED, help=f"of circles and agents (default: {SEED})")
    parser.add_argument("--workers", type=int, default=usable_cores(), help="processes (default: the cores)")
    parser.add_argument("--out", type=Path, default=Path("runs/gauntlet_ratings"), metavar="DIR")
    parser.add_argument("--write", action="store_true", help="freeze the ratings")
    options = parser.parse_args()
    print(describe(("torch",)))
    try:
        standings = measure(options.games, options.seed, options.workers, options.out)
    except (ValueError, OSError, ImportError) as error:
        parser.error(str(error))
    print(standings.table(), "\n")
    if options.write:
        freeze(standings, options.games, options.seed)
        print(f"wrote {POOL_FILE}")
    frozen = {member.agent: member.rating for member in read_pool().members}
    for i in standings.order:
        name = standings.names[i]
        print(f"{name:<12} measured {standings.ratings.values[i]:6.0f}   frozen {frozen[name]:6.0f}")


if __name__ == "__main__":
    main()

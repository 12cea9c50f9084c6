"""Measures the ratings of the gauntlet's reference players, which stand frozen in its gauntlet_v*.json.

    python benchmarks/gauntlet_ratings.py [--seed S] [--workers N] [--cluster ADDRESS] [--out DIR]
        [--games AGENT OPPONENT N] [--only MEMBER …] [--write]
    python benchmarks/gauntlet_ratings.py --version 1 [--seed S] [--workers N] [--cluster ADDRESS] [--out DIR]

The members of version 1 met in a round robin of 4000 games per pairing. The stronger ones that version 2 adds
take long, so each of them meets its neighbors in strength only, and the ratings of version 1 stand. Circles
are others than those of the gauntlet. A measurement that was stopped goes on where it was; `--only` plays the
matches of some of the new members, others later. `--write` freezes the ratings of new members: only before a
version is published, for a pool that changes needs a new version.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from patchwork_env import __version__
from patchwork_env.core.files import write_text
from patchwork_env.core.names import aligned
from patchwork_env.core.progress import Bar
from patchwork_env.games import PATCHWORK
from patchwork_env.learning.commands.match_options import add_worker_options, workers_of
from patchwork_env.learning.distributed import Workers
from patchwork_env.learning.evaluation.gauntlet import LATEST, VERSIONS, GauntletPool, pool_file, read_pool
from patchwork_env.learning.evaluation.matches import Participant, check_games, play_all
from patchwork_env.learning.evaluation.ratings import (
    Bounds,
    Ratings,
    expected_wins,
    rate,
    show_bounds,
)
from patchwork_env.learning.evaluation.results import MatchResult, wins_by_set_up
from patchwork_env.learning.evaluation.runners import AGENT, OPPONENT, Match
from patchwork_env.learning.evaluation.statistics import Floats
from patchwork_env.learning.evaluation.store import open_store
from patchwork_env.learning.evaluation.tournament import Tournament
from patchwork_env.learning.reports.plots import write_results
from patchwork_env.learning.system import describe_setup, made_with, usable_cores

ANCHOR, ANCHOR_RATING = "greedy", 1000.0
"""The ratings that fix the scale in version 1; version 2 takes the scale of version 1."""
ROUND_ROBIN_GAMES = 4000
SEED = 1
LADDER = {
    ("mcts:simulations=400", "greedy"): 400,
    ("mcts:simulations=400", "ppo-v1"): 400,
    ("mcts:simulations=5000", "ppo-v1"): 200,
    ("mcts:simulations=5000", "mcts:simulations=400"): 200,
    ("mcts:seconds=1", "mcts:simulations=400"): 20,
    ("mcts:seconds=1", "mcts:simulations=5000"): 60,
}
"""Games of every new member of version 2 against weaker ones."""

Games = dict[tuple[str, str], int]


class Ladder:
    """The matches of the new members of a pool, and the ratings that follow from them.

    Args:
        pool: The whole pool.
        games: The number of games of every pairing of a new member, named first, with a weaker one.
        seed: The seed of the circles and of the agents' random numbers.
    """

    def __init__(self, pool: GauntletPool, games: Games, seed: int) -> None:
        self.pool, self.games, self.seed = pool, games, seed
        self.specs = [spec for spec in pool.specs if any(spec in pair for pair in games)]
        frozen = {member.agent: member.rating for member in read_pool(LATEST - 1).members}
        self.known = np.array([frozen.get(spec, np.nan) for spec in self.specs], np.float64)
        self.results: list[MatchResult] = []

    def play(self, only: list[str], workers: Workers, folder: Path) -> None:
        """Plays what is left of all matches, or of those of some of the new members."""
        participants = [Participant.load(spec) for spec in self.specs]
        pairs = [pair for pair in self.games if not only or pair[0] in only]
        matches = [self._match(participants, *pair) for pair in pairs]
        settings = {"pool": self.pool.version, "seed": self.seed, "package": __version__}
        total = sum(match.games for match in matches)
        with open_store(folder, "gauntlet", 1, settings) as store, Bar(total, "games") as bar:
            players = [one.agent for one in participants]
            self.results = list(play_all(players, matches, workers, bar.update, store))

    def _match(self, participants: list[Participant], agent: str, opponent: str) -> Match:
        i, j = self.specs.index(agent), self.specs.index(opponent)
        return Match(
            (i, j),
            (agent, opponent),
            PATCHWORK,
            self.pool.special_patches,
            self.games[agent, opponent],
            self.seed,
            block_size=self.pool.member(agent).circles_per_block,
            key=participants[i].against(participants[j]),
        )

    def rate(self) -> Ratings:
        """The ratings of ``specs``; those of version 1 stand."""
        place = self.specs.index
        results = {(place(result.agent), place(result.opponent)): result for result in self.results}
        return rate(wins_by_set_up(results, len(self.specs)), self.known)

    def matches(self) -> list[str]:
        """The matches as lines of text."""
        rows = [["match", "games", "wins", "95% interval", "score difference", "ms/move", "opponent's"]]
        for result in self.results:
            low, high = result.interval
            rows.append(
                [
                    f"{result.agent} against {result.opponent}",
                    str(len(result.games)),
                    f"{result.win_rate:.1%}",
                    f"{low:.1%} to {high:.1%}",
                    f"{result.score_difference:+.1f}",
                    *(f"{1000 * result.seconds_per_move(side):.3g}" for side in (AGENT, OPPONENT)),
                ]
            )
        return aligned(rows)

    def table(self, ratings: Floats, intervals: tuple[Bounds, ...]) -> list[str]:
        """Ratings and how well they fit as lines of text."""
        order = np.argsort(-ratings)
        rows = [[self.specs[i], f"{ratings[i]:.0f}", self._interval(i, intervals)] for i in order]
        fit = [["match", "wins", "expected"]]
        for result in self.results:
            i, j = self.specs.index(result.agent), self.specs.index(result.opponent)
            share = float(expected_wins(ratings[i] - ratings[j]))
            fit.append(
                [f"{result.agent} against {result.opponent}", f"{result.win_rate:.1%}", f"{share:.1%}"]
            )
        return [*aligned([["agent", "rating", "95% interval"], *rows]), "", *aligned(fit)]

    def _interval(self, i: int, intervals: tuple[Bounds, ...]) -> str:
        return show_bounds(intervals[i]) if np.isnan(self.known[i]) else "of version 1"

    def freeze(self, ratings: Floats, intervals: tuple[Bounds, ...]) -> None:
        """Writes the new ratings, whole points, into the file of the pool; its settings stay."""
        path = pool_file(self.pool.version)
        contents = json.loads(path.read_text(encoding="utf-8"))
        for i in np.flatnonzero(np.isnan(self.known)):
            place = self.pool.specs.index(self.specs[i])
            contents["members"][place] |= {
                "rating": round(float(ratings[i])),
                "interval": [end if end is None else round(end) for end in intervals[i]],
            }
        contents["rated_with"] = {
            "taken_from_version_1": list(read_pool(LATEST - 1).specs),
            "matches": [_summary(result) for result in self.results],
            "seed": self.seed,
            "script": "benchmarks/gauntlet_ratings.py",
            **made_with(),
        }
        write_text(path, json.dumps(contents, indent=1) + "\n")


def _summary(result: MatchResult) -> dict[str, Any]:
    about = {"agent": result.agent, "opponent": result.opponent, "games": len(result.games)}
    return about | {"win_rate": result.win_rate}


def measure_ladder(options: argparse.Namespace) -> None:
    """Plays the ladder and prints what it gives."""
    ladder = Ladder(read_pool(LATEST), LADDER | _games(options.games), options.seed)
    new = {agent for agent, _ in LADDER}
    strangers = sorted(set(options.only) - new)
    if strangers:
        raise ValueError(f"--only takes new members, not {', '.join(strangers)}: {', '.join(sorted(new))}")
    ladder.play(options.only, workers_of(options), options.out)
    print("\n".join(ladder.matches()), "\n")
    if options.only and set(options.only) != new:
        print(f"ratings need the matches of all new members: {', '.join(sorted(new))}")
        return
    ratings, intervals, _ = ladder.rate()
    print("\n".join(ladder.table(ratings, intervals)))
    if options.write:
        ladder.freeze(ratings, intervals)
        print(f"wrote {pool_file(LATEST)}")


def _games(given: list[list[str]]) -> Games:
    """The numbers of games that replace those of the ladder."""
    games = {}
    for agent, opponent, number in given:
        if (agent, opponent) not in LADDER:
            allowed = ", ".join(" ".join(pair) for pair in LADDER)
            raise ValueError(f"--games names {agent} {opponent}, who do not meet; allowed are {allowed}")
        games[agent, opponent] = check_games(int(number))
    return games


def measure_round_robin(options: argparse.Namespace) -> None:
    """Repeats the measurement of version 1 and prints the ratings beside the frozen ones."""
    pool = read_pool(1)
    names, variant = pool.specs, {"special_patches": pool.special_patches}
    tournament = Tournament.enter(names, ROUND_ROBIN_GAMES, options.seed, variant, ANCHOR, ANCHOR_RATING)
    with Bar(tournament.num_games, "games") as bar:
        standings = tournament.play(options.out, workers_of(options), bar.update)
    write_results(options.out, tournament, standings)
    print(standings.table(), "\n")
    for i in standings.order:
        name = standings.names[i]
        measured, frozen = standings.ratings.values[i], pool.member(name).rating
        print(f"{name:<12} measured {measured:6.0f}   frozen {frozen:6.0f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--version", type=int, choices=VERSIONS, default=LATEST, help="(default: the latest)")
    parser.add_argument("--seed", type=int, default=SEED, help=f"of circles and agents (default: {SEED})")
    add_worker_options(parser, usable_cores())
    parser.add_argument("--out", type=Path, metavar="DIR", help="default: runs/gauntlet_ratings_vN")
    ladder = parser.add_argument_group("version 2")
    ladder.add_argument("--only", nargs="+", default=[], metavar="MEMBER", help="play matches of these only")
    ladder.add_argument(
        "--games",
        nargs=3,
        action="append",
        default=[],
        metavar=("AGENT", "OPPONENT", "N"),
        help="play N games of this pairing; may be given several times",
    )
    ladder.add_argument("--write", action="store_true", help="freeze the ratings")
    options = parser.parse_args()
    options.out = options.out or Path(f"runs/gauntlet_ratings_v{options.version}")
    if options.only and options.write:
        parser.error("--write needs the matches of all new members; leave out --only")
    if options.version == 1 and (options.only or options.games or options.write):
        parser.error("--only, --games and --write are for version 2; version 1 is published")
    print(describe_setup(("torch",)))
    try:
        (measure_round_robin if options.version == 1 else measure_ladder)(options)
    except (ValueError, OSError, ImportError) as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()

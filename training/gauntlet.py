"""The gauntlet: an agent meets a fixed pool of reference players under frozen settings, and gets a rating.

python -m training.gauntlet runs/ppo/final --json result.json
python -m training.gauntlet my_module:my_function

In Python: ``gauntlet(my_function)``, with a function from a game to an action, an agent, or a spec. The pool,
its settings and the ratings of its members are in gauntlet_v1.json, which never changes: another pool is
another version. docs/evaluation.md has the protocol.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from patchwork_env import agents
from patchwork_env._games import PATCHWORK
from patchwork_env.agents import Agent
from patchwork_env.patchwork.options import check_at_least_one
from training.block_store import BlockStore, Settings, open_store
from training.files import check_file_path, write_text
from training.machine import made_with, usable_cores
from training.matches import Player, Task, check_games, join, play_tasks, split
from training.paired_games import Played
from training.players import HELP, fingerprint, load_player
from training.ratings import Bounds, expected_wins, rate_against
from training.results import AGENT, CONFIDENCE, Result
from training.signals import Interruption, signals_interrupt
from training.standings import aligned, show_interval
from training.workers import WorkerError

FORMAT = "patchwork-env gauntlet"
VERSION = 1
POOL_FILE = Path(__file__).with_name(f"gauntlet_v{VERSION}.json")


@dataclass(frozen=True)
class Member:
    """A reference player.

    Attributes:
        agent: Its spec.
        weights: SHA-256 of its weights; None if it has none.
        rating: Elo points; frozen.
    """

    agent: str
    weights: str | None
    rating: float


@dataclass(frozen=True)
class Pool:
    """The reference players, and how everybody meets them.

    Attributes:
        games: Against each member.
        seed: Of the circles and of the agents' random numbers.
        special_patches: Print of the time track.
        members: From the weakest to the strongest.
    """

    games: int
    seed: int
    special_patches: str
    members: tuple[Member, ...]


@dataclass(frozen=True)
class GauntletResult:
    """How an agent did in the gauntlet.

    Attributes:
        pool: Whom it met.
        results: Its matches, in the order of the pool's members.
        rating: Elo points on the scale of the pool.
        interval: The 95% interval of the rating; see :mod:`training.ratings`.
        weights: SHA-256 of the agent's weights; None if it has none on disk.
    """

    pool: Pool
    results: tuple[Result, ...]
    rating: float
    interval: Bounds
    weights: str | None

    @property
    def agent(self) -> str:
        """Its name."""
        return self.results[0].agent

    @property
    def is_complete(self) -> bool:
        """Whether all games of the protocol were played; if not, the result is a trial."""
        return len(self.results[0].games) == self.pool.games

    @property
    def seconds_per_move(self) -> float:
        """What the agent took per action."""
        moves = sum(int(result.games.turns[:, AGENT].sum()) for result in self.results)
        return sum(result.seconds[AGENT] for result in self.results if result.seconds) / moves

    def as_dict(self) -> dict[str, Any]:
        """The result as plain data, for JSON; docs/evaluation.md describes it."""
        expected = expected_wins([self.rating - member.rating for member in self.pool.members])
        return {
            "format": FORMAT,
            "version": VERSION,
            "game": PATCHWORK,
            "agent": self.agent,
            "weights": self.weights,
            "complete": self.is_complete,
            "rating": self.rating,
            "interval": list(self.interval),
            "confidence": CONFIDENCE,
            "matches": [
                result.as_dict() | {"opponent_rating": member.rating, "expected_win_rate": float(share)}
                for result, member, share in zip(self.results, self.pool.members, expected, strict=True)
            ],
            "seconds_per_move": self.seconds_per_move,
            "made_with": made_with(),
        }

    def table(self) -> str:
        """The result as lines of text."""
        games = len(self.results[0].games)
        trial = "" if self.is_complete else f" (a trial: {games} of {self.pool.games} games per member)"
        rows = [["against", "its rating", "wins", "95% interval", "score difference", "95% interval"]]
        for member, result in zip(self.pool.members, self.results, strict=True):
            low, high = result.interval
            spread = result.score_difference_interval
            rows.append(
                [
                    member.agent,
                    f"{member.rating:.0f}",
                    f"{result.win_rate:.1%}",
                    f"{low:.1%} to {high:.1%}",
                    f"{result.score_difference:+.1f}",
                    "" if spread is None else f"{spread[0]:+.1f} to {spread[1]:+.1f}",
                ]
            )
        return "\n".join(
            [
                f"{self.agent} in gauntlet v{VERSION}{trial}: rating {self.rating:.0f}, "
                f"95% interval {show_interval(self.interval)}",
                "",
                *aligned(rows),
                "",
                f"{games} games against each, {games // 2} circles from both seats, "
                f"{1000 * self.seconds_per_move:.3g} ms per move",
            ]
        )


def gauntlet(
    agent: Player,
    *,
    games: int | None = None,
    workers: int = 1,
    folder: Path | None = None,
    progress: Callable[[int], object] | None = None,
) -> GauntletResult:
    """Has an agent play the gauntlet.

    Args:
        agent: What :func:`~training.players.load_player` takes, an agent, or a function from a game to an
            action.
        games: Against each member, for a trial; None for the number of the protocol.
        workers: Processes that share the games; with more than one, the agent must allow pickling.
        folder: Where to keep the games, so that a second call goes on where the first was stopped; it must
            be the same agent. None to keep nothing.
        progress: Called with numbers of games, at first of those that ``folder`` holds already.

    Raises:
        ValueError: An argument is not of these, the pool is not as it was frozen, or the folder holds other
            games.
        FileNotFoundError: A spec names no checkpoint.
        ModuleNotFoundError: Members of the pool need PyTorch, which is not installed.
        IllegalActionError: The agent chose an action that is not legal.
    """
    pool = read_pool()
    games = pool.games if games is None else check_games(games)
    check_at_least_one(workers, "workers")
    player = load_player(agent) if isinstance(agent, str) else agents.as_agent(agent)
    _check_game(player)
    name, weights = player.name, fingerprint(agent) if isinstance(agent, str) else None
    players = [player, *_load_members(pool)]
    blocks = split(PATCHWORK, pool.special_patches, games, pool.seed)
    tasks = [Task(0, 1 + k, block) for block in blocks for k in range(len(pool.members))]
    specs = (name, *(member.agent for member in pool.members))
    hashes = (weights, *(member.weights for member in pool.members))
    settings = Settings(specs, hashes, games, pool.seed, pool.special_patches)
    with nullcontext() if folder is None else open_store(folder, settings) as store:
        parts = _play(players, tasks, workers, store, progress or (lambda games: None))
    results = []
    for k, member in enumerate(pool.members):
        whole = join([parts[task] for task in tasks if task.opponent == 1 + k])
        about = name, member.agent, pool.seed, pool.special_patches
        results.append(Result(*about, whole.games, seconds=whole.seconds))
    rating, interval = rating_of(results, pool)
    return GauntletResult(pool, tuple(results), rating, interval, weights)


def rating_of(results: Sequence[Result], pool: Pool) -> tuple[float, Bounds]:
    """The rating that matches against members of the pool give an agent, and its 95% interval.

    Args:
        results: Of one agent against members of the pool, all with the same circles.
        pool: Where their ratings stand.

    Raises:
        ValueError: An opponent is no member of the pool, or the circles differ.
    """
    known = {member.agent: member.rating for member in pool.members}
    strangers = sorted({result.opponent for result in results} - set(known))
    if strangers:
        raise ValueError(f"{', '.join(strangers)} is not in the gauntlet; its members: {', '.join(known)}")
    circles = {(result.seed, result.variant, len(result.games)) for result in results}
    if len(circles) != 1:
        raise ValueError(
            f"a rating needs matches with the same circles, at least one; given: {len(circles)} kinds"
        )
    wins = np.stack([result.games.agent_wins.reshape(-1, 2).sum(1) for result in results], axis=1)
    ratings = np.array([known[result.opponent] for result in results])
    return rate_against(ratings, wins.astype(np.float64), 2.0 - wins)


def read_pool(path: Path = POOL_FILE) -> Pool:
    """The reference players and the frozen settings."""
    contents = json.loads(path.read_text(encoding="utf-8"))
    members = tuple(Member(m["agent"], m["weights"], m["rating"]) for m in contents["members"])
    return Pool(contents["games"], contents["seed"], contents["special_patches"], members)


def _check_game(player: Agent) -> None:
    try:
        player.check_game(PATCHWORK)
    except ValueError as error:
        raise ValueError(f"the gauntlet is one of Patchwork: {error}") from None


def _load_members(pool: Pool) -> list[Agent]:
    for member in pool.members:
        found = fingerprint(member.agent)
        if found != member.weights:
            raise ValueError(
                f"the weights of {member.agent!r} are not those of gauntlet v{VERSION}: "
                f"SHA-256 {found} instead of {member.weights}"
            )
    return [load_player(member.agent) for member in pool.members]


def _play(
    players: Sequence[Agent],
    tasks: Sequence[Task],
    workers: int,
    store: BlockStore | None,
    report: Callable[[int], object],
) -> dict[Task, Played]:
    """Plays the tasks that the store does not hold yet."""
    parts = {task: store.read(task) for task in tasks if store.has(task)} if store else {}
    report(sum(len(part.games) for part in parts.values()))
    left = [task for task in tasks if task not in parts]
    for number, played in play_tasks(players, left, workers):
        if store is not None:
            store.write(left[number], played)
        parts[left[number]] = played
        report(len(played.games))
    return parts


# --- the command ------------------------------------------------------------------------------------------


def main(arguments: list[str] | None = None) -> int:
    """The command; returns the exit code: 0, 2 for an error, 128 + the number of a signal that stopped it."""
    options = _parse(arguments)
    try:
        if options.json:
            check_file_path(options.json, "--json")
        with signals_interrupt():
            result = _run(options)
        print(result.table())
        if options.json:
            write_text(options.json, json.dumps(result.as_dict(), indent=1) + "\n")
    except Interruption as interruption:
        kept = f"; the same command goes on with what is in {options.folder}" if options.folder else ""
        print(f"stopped by {interruption}{kept}", flush=True)
        return 128 + interruption.signal
    except (ValueError, OSError, ImportError, WorkerError) as error:
        print(f"training.gauntlet: {error}", file=sys.stderr)
        return 2
    return 0


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m training.gauntlet",
        description="Measures an agent against a fixed pool of reference players, on a fixed scale.",
        epilog=HELP,
    )
    parser.add_argument("agent", metavar="AGENT", help="who is measured")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the result to this file")
    parser.add_argument("--games", type=int, metavar="N", help="games against each member, for a trial")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="keep the games, to go on after a stop")
    parser.add_argument(
        "--workers",
        type=int,
        default=usable_cores(),
        help="processes; the results do not depend on them (default: the cores)",
    )
    return parser.parse_args(arguments)


def _run(options: argparse.Namespace) -> GauntletResult:
    pool = read_pool()
    games = pool.games if options.games is None else options.games
    with tqdm(total=games * len(pool.members), unit=" games", leave=False, disable=None) as bar:
        return gauntlet(
            options.agent,
            games=options.games,
            workers=options.workers,
            folder=options.folder,
            progress=bar.update,
        )


if __name__ == "__main__":
    sys.exit(main())

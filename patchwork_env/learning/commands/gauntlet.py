"""The gauntlet: an agent meets a fixed pool of reference players under frozen settings, and gets a rating.

python -m training.gauntlet runs/ppo/final --json result.json
python -m training.gauntlet my_module:my_function

In Python: ``gauntlet(my_function)``, with a function from a game to an action, an agent, or a spec. The pools
with their settings and ratings are in ``gauntlet_pool``; docs/evaluation.md has the protocol.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from patchwork_env import agents
from patchwork_env.agents import Agent
from patchwork_env.errors import WorkerError
from patchwork_env.games import PATCHWORK
from patchwork_env.learning.distributed.worker_options import add_options, workers_of
from patchwork_env.learning.distributed.workers import WorkerError, Workers, check_workers
from patchwork_env.learning.evaluation.gauntlet import LATEST, VERSIONS, Pool, read_pool
from patchwork_env.learning.evaluation.matches import Player, check_games
from patchwork_env.learning.evaluation.pairings import Entrant, Pairing, folder_name, play_pairings
from patchwork_env.learning.evaluation.players import HELP, fingerprint, load_player
from patchwork_env.learning.evaluation.ratings import Bounds, expected_wins, rate_against
from patchwork_env.learning.evaluation.results import AGENT, CONFIDENCE, Result
from patchwork_env.learning.evaluation.standings import aligned, show_interval
from patchwork_env.learning.system.files import check_file_path, write_text
from patchwork_env.learning.system.machine import made_with, usable_cores
from patchwork_env.learning.system.signals import Interruption, signals_interrupt

FORMAT = "patchwork-env gauntlet"


@dataclass(frozen=True)
class GauntletResult:
    """How an agent did in the gauntlet.

    Attributes:
        pool: Whom it met; without those who were left out.
        results: Its matches, in the order of the pool's members.
        rating: Elo points on the scale of the pool.
        interval: The 95% interval of the rating; see :mod:`patchwork_env.learning.evaluation.ratings`.
        weights: SHA-256 of the agent's weights; None if it has none on disk.
        skipped: Members that were left out.
    """

    pool: Pool
    results: tuple[Result, ...]
    rating: float
    interval: Bounds
    weights: str | None
    skipped: tuple[str, ...] = ()

    @property
    def agent(self) -> str:
        """Its name."""
        return self.results[0].agent

    @property
    def is_complete(self) -> bool:
        """Whether all games of the protocol were played; if not, the result is a trial."""
        return not self.skipped and not self._is_short

    @property
    def _is_short(self) -> bool:
        """Whether there are fewer games against some member than the protocol has."""
        return any(len(r.games) < m.games for r, m in zip(self.results, self.pool.members, strict=True))

    @property
    def seconds_per_move(self) -> float:
        """What the agent took per action."""
        moves = sum(int(result.games.turns[:, AGENT].sum()) for result in self.results)
        return sum(result.seconds[AGENT] for result in self.results if result.seconds) / moves

    def as_dict(self) -> dict[str, Any]:
        """The result as plain data, for JSON; docs/evaluation.md describes it."""
        ratings = self.pool.ratings()
        expected = expected_wins(self.rating - ratings)
        return {
            "format": FORMAT,
            "version": self.pool.version,
            "game": PATCHWORK,
            "agent": self.agent,
            "weights": self.weights,
            "complete": self.is_complete,
            "skipped": list(self.skipped),
            "rating": self.rating,
            "interval": list(self.interval),
            "confidence": CONFIDENCE,
            "matches": [
                result.as_dict() | {"opponent_rating": float(rating), "expected_win_rate": float(share)}
                for result, rating, share in zip(self.results, ratings, expected, strict=True)
            ],
            "seconds_per_move": self.seconds_per_move,
            "made_with": made_with(),
        }

    def table(self) -> str:
        """The result as lines of text."""
        rows = [
            ["against", "its rating", "games", "wins", "95% interval", "score difference", "95% interval"]
        ]
        for rating, result in zip(self.pool.ratings(), self.results, strict=True):
            low, high = result.interval
            spread = result.score_difference_interval
            rows.append(
                [
                    result.opponent,
                    f"{rating:.0f}",
                    str(len(result.games)),
                    f"{result.win_rate:.1%}",
                    f"{low:.1%} to {high:.1%}",
                    f"{result.score_difference:+.1f}",
                    "" if spread is None else f"{spread[0]:+.1f} to {spread[1]:+.1f}",
                ]
            )
        name = f"gauntlet v{self.pool.version}{self._reservations()}"
        return "\n".join(
            [
                f"{self.agent} in {name}: rating {self.rating:.0f}, 95% interval "
                f"{show_interval(self.interval)}",
                "",
                *aligned(rows),
                "",
                f"every circle from both seats, {1000 * self.seconds_per_move:.3g} ms per move",
            ]
        )

    def _reservations(self) -> str:
        """Why the result is not that of the protocol, in parentheses; nothing if it is."""
        games = sum(len(result.games) for result in self.results)
        reasons = []
        if self._is_short:
            reasons.append(f"a trial: {games} of {sum(member.games for member in self.pool.members)} games")
        if self.skipped:
            reasons.append(f"by a part of the pool, without {', '.join(self.skipped)}")
        return f" ({'; '.join(reasons)})" if reasons else ""


def gauntlet(
    agent: Player,
    *,
    version: int = LATEST,
    games: int | None = None,
    skip: Sequence[str] = (),
    workers: Workers = 1,
    folder: Path | None = None,
    progress: Callable[[int], object] | None = None,
) -> GauntletResult:
    """Has an agent play the gauntlet.

    Args:
        agent: What ``load_player`` takes, an agent, or a function from a game to an
            action.
        version: Of the gauntlet.
        games: At most so many against each member, for a trial; None for the numbers of the protocol.
        skip: Members to leave out; the result says that it comes from a part of the pool.
        workers: Processes that share the games, or a cluster; with more than one, the agent must allow
            pickling.
        folder: Where to keep the games, so that a second call goes on where the first was stopped; it must
            be the same agent. None to keep nothing.
        progress: Called with numbers of games, at first of those that ``folder`` holds already.

    Raises:
        ValueError: An argument is not of these, the pool is not as it was frozen, not all of its members have
            been rated, or the folder holds other games.
        FileNotFoundError: A spec names no checkpoint.
        ModuleNotFoundError: Members of the pool need PyTorch, which is not installed.
        IllegalActionError: The agent chose an action that is not legal.
    """
    pool = read_pool(version).without(tuple(skip))
    most = None if games is None else check_games(games)
    check_workers(workers)
    player = load_player(agent) if isinstance(agent, str) else agents.as_agent(agent)
    _check_game(player)
    pool.ratings()  # a pool that is not rated is refused before anything is played
    weights = fingerprint(agent) if isinstance(agent, str) else None
    results = play_pairings(
        [Entrant(player.name, weights, player), *_load_members(pool)],
        _pairings(pool, most),
        pool.seed,
        pool.special_patches,
        workers=workers,
        folder=folder,
        progress=progress,
    )
    rating, interval = rating_of(results, pool)
    return GauntletResult(pool, tuple(results), rating, interval, weights, tuple(skip))


def _pairings(pool: Pool, most: int | None) -> list[Pairing]:
    """The agent, at place 0, against every member, at most so many games."""
    return [
        Pairing(0, 1 + k, _games(member.games, most), member.circles_per_block, folder_name(member.agent))
        for k, member in enumerate(pool.members)
    ]


def _games(protocol: int, most: int | None) -> int:
    return protocol if most is None else min(protocol, most)


def rating_of(results: Sequence[Result], pool: Pool) -> tuple[float, Bounds]:
    """The rating that matches against members of the pool give an agent, and its 95% interval.

    Args:
        results: Of one agent against members of the pool, all with the same circles, as far as each goes.
        pool: Where their ratings stand.

    Raises:
        ValueError: An opponent is no member of the pool or has no rating, or the circles differ.
    """
    circles = {(result.seed, result.variant) for result in results}
    if len(circles) != 1:
        raise ValueError(
            f"a rating needs matches with the same circles, at least one; given: {len(circles)} kinds"
        )
    members = tuple(pool.member(result.opponent) for result in results)
    ratings = replace(pool, members=members).ratings()
    wins, losses = np.zeros((2, max(result.num_set_ups for result in results), len(results)))
    for k, result in enumerate(results):
        won = 2 * result.games.by_set_up(result.games.agent_wins)
        wins[: len(won), k], losses[: len(won), k] = won, 2 - won
    return rate_against(ratings, wins, losses)


def _check_game(player: Agent) -> None:
    try:
        player.check_game(PATCHWORK)
    except ValueError as error:
        raise ValueError(f"the gauntlet is one of Patchwork: {error}") from None


def _load_members(pool: Pool) -> list[Entrant]:
    for member in pool.members:
        found = fingerprint(member.agent)
        if found != member.weights:
            raise ValueError(
                f"the weights of {member.agent!r} are not those of gauntlet v{pool.version}: "
                f"SHA-256 {found} instead of {member.weights}"
            )
    return [Entrant(member.agent, member.weights, load_player(member.agent)) for member in pool.members]


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
    parser.add_argument("--version", type=int, default=LATEST, help=f"of {VERSIONS} (default: {LATEST})")
    parser.add_argument("--games", type=int, metavar="N", help="at most N against each member, for a trial")
    parser.add_argument(
        "--skip", nargs="+", default=[], metavar="MEMBER", help="leave out members; the result says so"
    )
    parser.add_argument("--folder", type=Path, metavar="DIR", help="keep the games, to go on after a stop")
    add_options(parser, usable_cores())
    return parser.parse_args(arguments)


def _run(options: argparse.Namespace) -> GauntletResult:
    pool = read_pool(options.version).without(tuple(options.skip))
    games = sum(_games(member.games, options.games) for member in pool.members)
    with tqdm(total=games, unit=" games", leave=False, disable=None) as bar:
        return gauntlet(
            options.agent,
            version=options.version,
            games=options.games,
            skip=options.skip,
            workers=workers_of(options),
            folder=options.folder,
            progress=bar.update,
        )


if __name__ == "__main__":
    sys.exit(main())

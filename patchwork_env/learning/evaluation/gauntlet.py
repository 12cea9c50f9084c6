"""The gauntlet: an agent plays a fixed pool of reference players under frozen settings, and gets a rating.

The pool is in gauntlet.json, whose contents never change without a new version number;
docs/measure/gauntlet.md has the protocol.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from patchwork_env import __version__, agents
from patchwork_env.core.checks import as_texts
from patchwork_env.games import PATCHWORK, rules_of
from patchwork_env.learning.distributed import Workers, check_workers
from patchwork_env.learning.evaluation.matches import (
    Participant,
    Player,
    Progress,
    check_games,
    fingerprint,
    load_player,
    play_all,
)
from patchwork_env.learning.evaluation.playing import BLOCK_SIZE
from patchwork_env.learning.evaluation.ratings import Bounds, show_bounds
from patchwork_env.learning.evaluation.results import MATCH_COLUMNS, MatchResult
from patchwork_env.learning.evaluation.runners import Match
from patchwork_env.learning.evaluation.store import open_store
from patchwork_env.learning.evaluation.tables import TEXT, Column, Table, render
from patchwork_env.learning.evaluation.tournament import Standings
from patchwork_env.learning.system import made_with

FORMAT = "patchwork-env gauntlet"
POOL_FILE = Path(__file__).with_name("gauntlet.json")


class Member(NamedTuple):
    """A reference player: spec, SHA-256 of weights on disk, frozen rating, and the games with it."""

    agent: str
    weights: str | None
    rating: float
    games: int
    circles_per_block: int = BLOCK_SIZE  # fewer for long searches, which keep the trees of all games


@dataclass(frozen=True)
class GauntletPool:
    """The reference players, the weakest first, and the frozen settings of their matches."""

    version: int
    seed: int
    special_patches: str
    members: tuple[Member, ...]
    game: str = PATCHWORK

    @property
    def specs(self) -> tuple[str, ...]:
        """The specs of the members."""
        return tuple(member.agent for member in self.members)

    def member(self, agent: str) -> Member:
        """Return the member with this spec; ValueError for any other spec."""
        for member in self.members:
            if member.agent == agent:
                return member
        raise ValueError(f"{agent} is not in gauntlet v{self.version}; its members: {', '.join(self.specs)}")

    def without(self, agents: Sequence[str]) -> GauntletPool:
        """Return the pool without some members; ValueError if a spec is unknown or no member remains."""
        left_out = [self.member(agent) for agent in as_texts(agents, "skip")]
        members = tuple(member for member in self.members if member not in left_out)
        if not members:
            raise ValueError(f"no member is left of gauntlet v{self.version} without {', '.join(agents)}")
        return replace(self, members=members)


def read_pool() -> GauntletPool:
    """Return the pool of :data:`POOL_FILE`."""
    contents = json.loads(POOL_FILE.read_text(encoding="utf-8"))
    members = tuple(Member(*(one[key] for key in Member._fields)) for one in contents["members"])
    return GauntletPool(contents["version"], contents["seed"], contents["special_patches"], members)


@dataclass(frozen=True)
class GauntletResult:
    """The result of an agent in the gauntlet: a tournament in which the ratings of all others are fixed.

    Attributes:
        pool: The members that the agent played, without those that were left out.
        standings: The matches and ratings; the agent has index 0, and the members follow in order.
        weights: The SHA-256 of the agent's weights; None if it has none on disk.
        skipped: The specs of the members that were left out.
    """

    pool: GauntletPool
    standings: Standings
    weights: str | None
    skipped: tuple[str, ...] = ()

    @property
    def agent(self) -> str:
        """The name of the agent."""
        return self.standings.names[0]

    @property
    def results(self) -> tuple[MatchResult, ...]:
        """The matches, in the order of the pool's members."""
        return tuple(self.standings.results.values())

    @property
    def rating(self) -> float:
        """The rating on the scale of the pool, in Elo points."""
        return float(self.standings.ratings.values[0])

    @property
    def interval(self) -> Bounds:
        """The 95% interval of the rating; an end is None where the games give no bound."""
        return self.standings.ratings.intervals[0]

    @property
    def caveats(self) -> list[str]:
        """The deviations from the protocol, in words."""
        games, protocol = [len(r.games) for r in self.results], [m.games for m in self.pool.members]
        reasons = []
        if games != protocol:
            reasons.append(f"a trial: {sum(games)} of {sum(protocol)} games")
        if self.skipped:
            reasons.append(f"by a part of the pool, without {', '.join(self.skipped)}")
        return reasons

    @property
    def seconds_per_move(self) -> float:
        """The mean seconds that the agent took per action."""
        return self.standings.seconds_per_move(0)

    def __repr__(self) -> str:
        return f"<GauntletResult: {self.agent}, rating {self.rating:.0f}, {show_bounds(self.interval)}>"

    def as_dict(self) -> dict[str, Any]:
        """Return the result as plain data, for JSON; docs/reference/formats.md describes it."""
        matches = zip(self.standings.matches_as_dicts(), self.pool.members, strict=True)
        return {
            "format": FORMAT,
            "version": self.pool.version,
            "game": self.pool.game,
            "agent": self.agent,
            "weights": self.weights,
            "complete": not self.caveats,
            "skipped": list(self.skipped),
            "rating": self.rating,
            "interval": list(self.interval),
            "matches": [match | {"opponent_rating": float(member.rating)} for match, member in matches],
            "seconds_per_move": self.seconds_per_move,
            "made_with": made_with(),
        }

    def table(self, form: str = TEXT) -> str:
        """Return the result as text, markdown or latex; csv has only the matches, without the rating."""
        columns = [Column("against"), Column("its rating", "{:.0f}".format), *MATCH_COLUMNS]
        rows = [
            [result.opponent, float(member.rating), *result.figures.cells]
            for member, result in zip(self.pool.members, self.results, strict=True)
        ]
        caveats = f" ({'; '.join(self.caveats)})" if self.caveats else ""
        name = f"gauntlet v{self.pool.version}{caveats}"
        rating = f"rating {self.rating:.0f}, 95% interval {show_bounds(self.interval)}"
        speed = f"every circle from both seats, {1000 * self.seconds_per_move:.3g} ms per move"
        return render([f"{self.agent} in {name}: {rating}", Table(columns, rows), speed], form)


def play_gauntlet(
    agent: Player,
    *,
    games: int | None = None,
    skip: Sequence[str] = (),
    workers: Workers = 1,
    folder: Path | None = None,
    progress: Progress | None = None,
) -> GauntletResult:
    """Play the gauntlet with an agent.

    Args:
        agent: A spec or ``module:name``, as ``load_player`` takes it, an agent, or a function from a game to
            an action.
        games: The most games against each member, for a trial; None for the numbers of the protocol.
        skip: The specs of members to leave out; the result names them.
        workers: See :func:`~patchwork_env.learning.evaluation.matches.play_matches`.
        folder: The folder that stores the games of any number of agents; a second call resumes. Of
            an agent that is an object, it knows only the name.
        progress: See :func:`~patchwork_env.learning.evaluation.matches.play_all`.

    Raises:
        ValueError: A value is not allowed, weights of the pool changed, or the folder has other settings.
        FileNotFoundError: A spec names no checkpoint.
        ModuleNotFoundError: Members of the pool need PyTorch, which is not installed.
        IllegalActionError, OpponentError: The agent chose an illegal action, or failed otherwise.
    """
    pool = read_pool().without(skip)
    most = None if games is None else check_games(games)
    check_workers(workers)
    player = load_player(agent) if isinstance(agent, str) else agents.as_agent(agent)
    try:
        player.check_game(pool.game)
    except ValueError as error:
        raise ValueError(f"the gauntlet is played in {rules_of(pool.game).title}: {error}") from None
    weights = fingerprint(agent) if isinstance(agent, str) else None
    measured, members = Participant(player.name, weights, player), _load_members(pool)
    matches = [
        Match(
            (0, k),
            (measured.name, member.agent),
            pool.game,
            pool.special_patches,
            _games(member, most),
            pool.seed,
            block_size=member.circles_per_block,
            key=measured.against(participant),
        )
        for k, (member, participant) in enumerate(zip(pool.members, members, strict=True), 1)
    ]
    settings = {"pool": pool.version, "seed": pool.seed, "package": __version__}
    players = [player, *(member.agent for member in members)]
    with nullcontext() if folder is None else open_store(folder, "gauntlet", 1, settings) as store:
        results = list(play_all(players, matches, workers, progress, store))
    return GauntletResult(pool, standings_of(results, pool), weights, tuple(skip))


def games_of_gauntlet(games: int | None = None, skip: Sequence[str] = ()) -> int:
    """Return the number of games that :func:`play_gauntlet` plays."""
    return sum(_games(member, games) for member in read_pool().without(skip).members)


def _games(member: Member, most: int | None) -> int:
    return member.games if most is None else min(member.games, most)


def _load_members(pool: GauntletPool) -> list[Participant]:
    members = [Participant.load(agent) for agent in pool.specs]
    for member, loaded in zip(pool.members, members, strict=True):
        if loaded.weights != member.weights:
            raise ValueError(
                f"the weights of {member.agent!r} are not those of gauntlet v{pool.version}: "
                f"SHA-256 {loaded.weights} instead of {member.weights}"
            )
    return members


def standings_of(results: Sequence[MatchResult], pool: GauntletPool) -> Standings:
    """Return the standings of an agent, index 0, that played members of the pool with the same circles."""
    names = (results[0].agent, *(result.opponent for result in results))
    known = (math.nan, *(float(pool.member(name).rating) for name in names[1:]))
    return Standings(names, {(0, k): result for k, result in enumerate(results, 1)}, known)


def rating_metrics(results: Sequence[MatchResult]) -> dict[str, float]:
    """Return the rating on the gauntlet's scale and its 95% interval, from matches with its members.

    The dictionary is empty without such matches, or if all games were won or lost: the rating then depends
    mostly on the number of games.
    """
    pool = read_pool()
    played = [one for one in results if (one.games.game, one.variant) == (pool.game, pool.special_patches)]
    known = [one for one in played if one.opponent in pool.specs]
    if not known:
        return {}
    ratings = standings_of(known, pool).ratings
    low, high = ratings.intervals[0]
    if low is None or high is None:
        return {}
    name = "evaluation/gauntlet_rating"
    return {name: float(ratings.values[0]), f"{name}_low": low, f"{name}_high": high}

"""The pools of the gauntlet: who is met how often, under which settings, and what their ratings are.

Each version is a file, gauntlet_v1.json and so on, which never changes: another pool is another version.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from patchwork_env.learning.evaluation.matches import BLOCK_SIZE
from patchwork_env.learning.evaluation.ratings import Floats

FORMAT = "patchwork-env gauntlet pool"
VERSIONS = (1, 2)
LATEST = VERSIONS[-1]


@dataclass(frozen=True)
class Member:
    """A reference player.

    Attributes:
        agent: Its spec.
        weights: SHA-256 of its weights; None if it has none.
        rating: Elo points; frozen. None as long as it has not been measured.
        games: How many are played against it.
        circles_per_block: How many are played at once. Few for a player who searches long: it keeps its
            trees from move to move, for which only so much memory is there.
    """

    agent: str
    weights: str | None
    rating: float | None
    games: int
    circles_per_block: int = BLOCK_SIZE


@dataclass(frozen=True)
class Pool:
    """The reference players, and how everybody meets them.

    Attributes:
        version: Of the gauntlet.
        seed: Of the circles and of the agents' random numbers.
        special_patches: Print of the time track.
        members: From the weakest to the strongest.
    """

    version: int
    seed: int
    special_patches: str
    members: tuple[Member, ...]

    @property
    def specs(self) -> tuple[str, ...]:
        """Of the members."""
        return tuple(member.agent for member in self.members)

    def member(self, agent: str) -> Member:
        """The member with a spec.

        Raises:
            ValueError: There is none.
        """
        for member in self.members:
            if member.agent == agent:
                return member
        raise ValueError(f"{agent} is not in gauntlet v{self.version}; its members: {', '.join(self.specs)}")

    def ratings(self) -> Floats:
        """``(members,)``, the ratings of all.

        Raises:
            ValueError: Not all members have one.
        """
        unrated = [member.agent for member in self.members if member.rating is None]
        if unrated:
            raise ValueError(
                f"the ratings of {', '.join(unrated)} in gauntlet v{self.version} have not been measured; "
                "benchmarks/gauntlet_ratings.py --write does it"
            )
        return np.array([member.rating for member in self.members], np.float64)

    def without(self, agents: tuple[str, ...]) -> Pool:
        """The pool without some of its members.

        Raises:
            ValueError: One of them is no member, or nobody is left.
        """
        left_out = [self.member(agent) for agent in agents]
        members = tuple(member for member in self.members if member not in left_out)
        if not members:
            raise ValueError(f"nobody is left of gauntlet v{self.version} without {', '.join(agents)}")
        return replace(self, members=members)


def read_pool(version: int = LATEST) -> Pool:
    """The reference players and the frozen settings of a version of the gauntlet.

    Raises:
        ValueError: There is no such version.
    """
    contents = json.loads(pool_file(version).read_text(encoding="utf-8"))
    members = tuple(_member(entry, contents) for entry in contents["members"])
    return Pool(version, contents["seed"], contents["special_patches"], members)


def pool_file(version: int) -> Path:
    """Where the pool of a version stands.

    Raises:
        ValueError: There is no such version.
    """
    if version not in VERSIONS:
        raise ValueError(f"there is no version {version} of the gauntlet; allowed are {VERSIONS}")
    return Path(__file__).with_name(f"gauntlet_v{version}.json")


def _member(entry: dict[str, Any], contents: dict[str, Any]) -> Member:
    """A member as the file holds it; in version 1 all have the same number of games, which stands once."""
    games = entry["games"] if "games" in entry else contents["games"]
    circles = entry.get("circles_per_block", BLOCK_SIZE)
    return Member(entry["agent"], entry["weights"], entry["rating"], games, circles)

"""What is to be played for a dataset, after all checks, and what its metadata say of it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from gymnasium.envs.registration import EnvSpec

from patchwork_env import __version__
from patchwork_env.agents import Agent, as_agent
from patchwork_env.core.batches import REWARDS
from patchwork_env.core.checks import check_between, check_seed
from patchwork_env.core.rules import Rules
from patchwork_env.envs.options import check_rewards, complete
from patchwork_env.games import rules_of
from patchwork_env.integrations.minari.environment import environment_of
from patchwork_env.integrations.minari.games import Block, split
from patchwork_env.learning.evaluation.contests import common_game
from patchwork_env.learning.evaluation.matches import MOST_GAMES, Player, name_of
from patchwork_env.learning.evaluation.players import fingerprint


class Plan(NamedTuple):
    """What is to be played, after all checks.

    Attributes:
        rules: The rules of the game.
        options: All options of the game, by name.
        players: The agents as they were given.
        agents: The agents.
        seats: The number of players of a game.
        games: The number of games.
        seed: The seed of the dataset.
        rewards: The kind of rewards.
    """

    rules: Rules
    options: dict[str, Any]
    players: Sequence[Player]
    agents: Sequence[Agent]
    seats: int
    games: int
    seed: int
    rewards: int

    @classmethod
    def of(
        cls,
        players: Player | Sequence[Player],
        games: Any,
        game: str | None,
        seed: int | None,
        rewards: str | None,
        options: dict[str, Any],
    ) -> Self:
        """The plan for the arguments of ``record``, which names the errors."""
        several: list[Any] = list(players) if isinstance(players, list | tuple) else [players]
        if not several:
            raise ValueError("there are no agents; a dataset needs one at least")
        listed = [os.fspath(player) if isinstance(player, os.PathLike) else player for player in several]
        loaded = [as_agent(player) for player in listed]
        rules = rules_of(common_game(loaded, game))
        if "players" in rules.options:
            options = {"players": len(listed), **options}
        complete_options = complete(options, rules.options, (), f"a dataset of {rules.title}")
        seats = rules.set_up(complete_options, {}).players
        return cls(
            rules=rules,
            options={name: _plain(value) for name, value in complete_options.items()},
            players=listed,
            agents=loaded,
            seats=seats,
            games=check_between(games, 1, MOST_GAMES, "games"),
            seed=check_seed(seed),
            rewards=check_rewards(rewards, seats),
        )

    @property
    def blocks(self) -> list[Block]:
        """The games in blocks."""
        return split(self.rules.name, self.options, self.games, self.seed)

    @property
    def names(self) -> list[str]:
        """What the dataset calls the agents."""
        return [name_of(player) for player in self.players]

    def environment(self) -> EnvSpec | None:
        """What a player of the dataset met; None if the opponent has no spec that could be loaded again."""
        rewards = REWARDS[self.rewards]
        if self.seats == 1:
            return environment_of(self.rules, self.options, rewards, None)
        opponent = self.players[1 % len(self.players)]
        if not isinstance(opponent, str):
            return None
        return environment_of(self.rules, self.options, rewards, opponent)

    def metadata(self) -> dict[str, Any]:
        """What Minari's metadata say of the dataset; all that is special to it stands under one key."""
        names = self.names
        who = " against ".join(names) if len(names) > 1 else f"{names[0]} alone"
        if len(names) == 1 < self.seats:
            who = f"{names[0]} against itself"
        specs = [player for player in self.players if isinstance(player, str)]
        return {
            "algorithm_name": who,
            "description": f"{self.games} games of {self.rules.title}, {who}. An episode is what one player "
            "sees and does in one game; its metadata hold the notation of the whole game.",
            "patchwork_env": {
                "version": __version__,
                "game": self.rules.name,
                "options": self.options,
                "rewards": REWARDS[self.rewards],
                "agents": names,
                "weights": {spec: fingerprint(spec) for spec in specs},
                "games": self.games,
                "seed": self.seed,
            },
        }


def _plain(value: Any) -> Any:
    """The value of an option as JSON can say it."""
    return np.asarray(value).tolist() if isinstance(value, np.ndarray | np.generic | tuple) else value

"""Who plays whom in RLlib's games: a policy mapping and callbacks that make self-play with a league.

The policy that learns has the name :data:`MAIN`. Past selves are frozen policies, ``past_0`` and so on:
places whose weights the trainer exchanges, as the ``Pool`` draws them. As in the
project's own algorithms the last games of the batch are league games, in which one seat is the learner's, by
turns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import ray
import torch
from ray.rllib.callbacks.callbacks import RLlibCallback

MAIN = "main"
"""The policy that learns."""
LEAGUE_FRACTION = "league_fraction"
"""The key of the environment's configuration that says in which share of the games past selves play."""


def past_self(slot: int) -> str:
    """The name of a frozen policy."""
    return f"past_{slot}"


def policy_of(agent: str, episode: Any, **_: Any) -> str:
    """RLlib's policy mapping: who plays for an agent in a game that :class:`League` has named."""
    seats = _read(episode.id_)
    mine = seats.slot < 0 or int(agent.removeprefix("player_")) == seats.seat
    return MAIN if mine else past_self(seats.slot)


class Seats(NamedTuple):
    """Who sits where in a game.

    Attributes:
        slot: The number of the past self; -1 in games of the learner against itself.
        seat: The learner's against a past self, which has all the others.
    """

    slot: int
    seat: int


def seats_of(game: int, games: int, players: int, fraction: float, opponents: int) -> Seats:
    """Who has the seats in a game of a batch.

    Args:
        game: Its number, from 0.
        games: Of the batch.
        players: Of every game.
        fraction: Of the games that past selves play.
        opponents: Past selves that there are.
    """
    league_game = game - (games - round(fraction * games))
    if league_game < 0 or opponents == 0 or players == 1:
        return Seats(-1, 0)
    # As many neighbors as there are seats have the same opponent, and the learner each seat once.
    return Seats(league_game // players % opponents, game % players)


class Finished(NamedTuple):
    """A game that has ended.

    Attributes:
        seats: Who sat where.
        state: The bytes of its last state record.
        turns: Of all players.
    """

    seats: Seats
    state: bytes
    turns: int


def _name(seats: Seats, identity: str) -> str:
    """A name for a game: all of its chunks have it, and the mapping sees nothing else of most of them."""
    return f"{seats.slot}:{seats.seat}:{identity}"


def _read(name: str) -> Seats:
    slot, seat, _ = name.split(":", 2)
    return Seats(int(slot), int(seat))


class League(RLlibCallback):
    """Deals out the seats, keeps the results, and takes the trajectories of frozen policies away."""

    def on_episode_created(
        self, *, episode: Any, env_runner: Any, env: Any, env_index: int, **_: Any
    ) -> None:
        """Gives the seats of a new game to policies."""
        config = env_runner.config
        seats = seats_of(
            max(env_runner.worker_index - 1, 0) * env.num_envs + env_index,
            max(config.num_env_runners, 1) * env.num_envs,
            len(env.envs[env_index].unwrapped.possible_agents),
            config.env_config[LEAGUE_FRACTION],
            getattr(env_runner, "opponents", 0),
        )
        episode.id_ = _name(seats, episode.id_)

    def on_episode_end(self, *, episode: Any, env_runner: Any, env: Any, env_index: int, **_: Any) -> None:
        """Notes how a game ended; one that was cut off has no result."""
        if episode.is_terminated:
            state = env.envs[env_index].unwrapped.finished.state
            finished = Finished(_read(episode.id_), state.tobytes(), episode.env_t)
            env_runner.finished = [*getattr(env_runner, "finished", []), finished]

    def on_sample_end(self, *, samples: list[Any], **_: Any) -> None:
        """Leaves the learner's trajectories alone in the samples: nothing is learned from the others."""
        for episode in samples:
            for agent, trajectory in list(episode.agent_episodes.items()):
                if trajectory.module_id != MAIN:
                    del episode.agent_episodes[agent]
        samples[:] = [episode for episode in samples if episode.agent_episodes]


# --- called with an env runner ----------------------------------------------------------------------------


def take_finished(env_runner: Any) -> list[Finished]:
    """The games that have ended since the last call."""
    finished: list[Finished] = getattr(env_runner, "finished", [])
    env_runner.finished = []
    return finished


def set_opponents(weights: Sequence[Mapping[str, npt.NDArray[Any]]]) -> Callable[[Any], None]:
    """Brings past selves to the env runners, which get them from the object store.

    Args:
        weights: The modules' states, one for each place that is taken.

    Returns:
        To be called with each env runner.
    """
    reference = ray.put(list(weights))

    def work(env_runner: Any) -> None:
        states = ray.get(reference)
        for slot, state in enumerate(states):
            env_runner.module[past_self(slot)].set_state(state)
        env_runner.opponents = len(states)

    return work


def set_salt(seed: int, salt: int) -> Callable[[Any], None]:
    """Lets the env runners play other games than a run that begins; to be called with each of them."""

    def work(env_runner: Any) -> None:
        words = np.random.SeedSequence([seed, salt, env_runner.worker_index]).generate_state(1)
        torch.manual_seed(int(words[0]))
        for env in env_runner.env.envs:
            env.unwrapped.salt = salt

    return work

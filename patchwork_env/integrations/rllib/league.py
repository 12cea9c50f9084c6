"""Who plays whom in RLlib's games: a policy mapping and callbacks that make self-play with a league.

The policy that learns has the name :data:`MAIN`. Past selves are frozen policies in slots, ``past_0`` and so
on. A snapshot that is drawn takes a slot that no game needs any more, so that every game has the same
opponent from its beginning to its end. As in the project's own algorithms the last games of the batch are
league games. In these the learner has one seat, another one in every game.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import ray
import torch
from ray.rllib.callbacks.callbacks import RLlibCallback
from torch import Tensor

from patchwork_env.core.game import BaseGame
from patchwork_env.games import rules_of
from patchwork_env.integrations.rllib.env import LEAGUE_FRACTION
from patchwork_env.learning.algorithms.common.stats import statistics_of_games
from patchwork_env.learning.config import League

MAIN = "main"
"""The policy that learns."""
_SPARE_SLOTS = 2
"""Slots for past selves that are drawn while games against earlier ones go on."""


def num_slots(league: League) -> int:
    """The number of frozen policies; none without games against past selves."""
    return league.opponents + _SPARE_SLOTS if league.fraction else 0


def past_self(slot: int) -> str:
    """The name of a frozen policy."""
    return f"past_{slot}"


class Seats(NamedTuple):
    """Who sits where: the learner has one ``seat``, the past self all others; -1 without one."""

    slot: int
    seat: int
    snapshot: int = -1


def seats_of(
    game: int, games: int, players: int, fraction: float, opponents: Sequence[tuple[int, int]]
) -> Seats:
    """Who sits where in one of the ``games`` of a batch, a fraction of which have a past self.

    ``opponents`` are the slots and numbers of the past selves that games begin against.
    """
    league_game = game - (games - round(fraction * games))
    if league_game < 0 or not opponents:
        return Seats(-1, 0)
    # Neighbors, as many as there are seats, have the same opponent; the learner has each seat once.
    slot, snapshot = opponents[league_game // players % len(opponents)]
    return Seats(slot, game % players, snapshot)


def allotted(
    drawn: Sequence[int], slots: Mapping[int, int], busy: Collection[int], number: int
) -> dict[int, int]:
    """The snapshots, by slot, that are drawn or whose games, in the slots that are busy, have not ended.

    A snapshot that is drawn but for which none of the ``number`` slots is free is left out.
    """
    kept = {slot: snapshot for slot, snapshot in slots.items() if slot in busy or snapshot in drawn}
    free = [slot for slot in range(number) if slot not in kept and slot not in busy]
    new = [snapshot for snapshot in drawn if snapshot not in kept.values()]
    return kept | dict(zip(free, new, strict=False))


# --- RLlib's hooks ----------------------------------------------------------------------------------------


def _seats_in(name: str) -> Seats:
    """The seats in the name of a game, which is all that the mapping sees of most of its chunks."""
    slot, seat, snapshot, _ = name.split(":", 3)
    return Seats(int(slot), int(seat), int(snapshot))


def policy_of(agent: str, episode: Any, **_: Any) -> str:
    """RLlib's policy mapping: the policy of an agent in a game that :class:`LeagueCallback` has named."""
    seats = _seats_in(episode.id_)
    mine = seats.slot < 0 or int(agent.removeprefix("player_")) == seats.seat
    return MAIN if mine else past_self(seats.slot)


class LeagueCallback(RLlibCallback):
    """Gives seats to policies, keeps the results, and removes the trajectories of frozen policies."""

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
            getattr(env_runner, "opponents", ()),
        )
        env_runner.slots = getattr(env_runner, "slots", {}) | {env_index: seats.slot}
        episode.id_ = f"{seats.slot}:{seats.seat}:{seats.snapshot}:{episode.id_}"

    def on_episode_end(self, *, episode: Any, env_runner: Any, env: Any, env_index: int, **_: Any) -> None:
        """Notes how a game ended."""
        game = env.envs[env_index].unwrapped.finished
        finished = finished_game(game, _seats_in(episode.id_), episode.env_t)
        env_runner.finished = [*getattr(env_runner, "finished", []), finished]

    def on_sample_end(self, *, samples: list[Any], **_: Any) -> None:
        """Keeps only the learner's trajectories in the samples: nothing is learned from the others."""
        for episode in samples:
            for agent, trajectory in list(episode.agent_episodes.items()):
                if trajectory.module_id != MAIN:
                    del episode.agent_episodes[agent]
        samples[:] = [episode for episode in samples if episode.agent_episodes]


# --- called with an env runner ----------------------------------------------------------------------------


def slots_in_play(env_runner: Any) -> set[int]:
    """The slots of the past selves whose games have not ended."""
    return set(getattr(env_runner, "slots", {}).values()) - {-1}


def set_opponents(
    weights: Mapping[int, Mapping[str, Tensor]], opponents: Sequence[tuple[int, int]]
) -> Callable[[Any], None]:
    """A function that gives an env runner the weights of past selves, by slot, and those to play."""
    reference = ray.put(dict(weights))

    def work(env_runner: Any) -> None:
        for slot, of_slot in ray.get(reference).items():
            env_runner.module[past_self(slot)].network.load_state_dict(of_slot)
        env_runner.opponents = tuple(opponents)

    return work


def set_salt(seed: int, salt: int) -> Callable[[Any], None]:
    """A function that makes an env runner play other games than at the beginning of a run."""

    def work(env_runner: Any) -> None:
        words = np.random.SeedSequence([seed, salt, env_runner.worker_index]).generate_state(1)
        torch.manual_seed(int(words[0]))
        for env in env_runner.env.envs:
            env.unwrapped.salt = salt

    return work


# --- results ----------------------------------------------------------------------------------------------


class Finished(NamedTuple):
    """A game that has ended: its last record, its turns, and the share of the win of the learner's seat."""

    seats: Seats
    state: bytes
    turns: int
    won: float


def finished_game(game: BaseGame, seats: Seats, turns: int) -> Finished:
    """What is told of a game that is over."""
    winners = game.winners()
    won = (1.0 if winners == (seats.seat,) else 0.5) if seats.seat in winners else 0.0
    return Finished(seats, game.state.tobytes(), turns, won)


def take_finished(env_runner: Any) -> list[Finished]:
    """The games that have ended since the last call."""
    finished: list[Finished] = getattr(env_runner, "finished", [])
    env_runner.finished = []
    return finished


def statistics(game: str, finished: Sequence[Finished]) -> dict[str, float]:
    """Mean figures of games that have ended; empty without any."""
    if not finished:
        return {}
    rules = rules_of(game)
    finals = np.frombuffer(b"".join(one.state for one in finished), rules.dtype)
    return statistics_of_games(rules, finals) | {
        "turns_per_game": float(np.mean([one.turns for one in finished]))
    }


def league_results(finished: Sequence[Finished]) -> tuple[dict[int, float], dict[int, float]]:
    """The learner's wins, a shared one counting as half, and all games; both by snapshot."""
    wins: defaultdict[int, float] = defaultdict(float)
    games: defaultdict[int, float] = defaultdict(float)
    for one in finished:
        if one.seats.slot >= 0:
            games[one.seats.snapshot] += 1
            wins[one.seats.snapshot] += one.won
    return wins, games

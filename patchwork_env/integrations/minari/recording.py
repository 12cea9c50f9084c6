"""Recording of games as a dataset of observations, masks, actions and rewards."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.envs.registration import EnvSpec, WrapperSpec
from minari import MinariDataset

from patchwork_env import __version__
from patchwork_env.agents import Agent, as_agent
from patchwork_env.core.batches import REWARDS, begin_games, loop, reward_of, write_views
from patchwork_env.core.checks import check_between, check_seed, seed_streams
from patchwork_env.core.game import BaseGame
from patchwork_env.core.kernels import States
from patchwork_env.core.rules import Rules
from patchwork_env.envs.options import check_rewards, complete
from patchwork_env.games import rules_of
from patchwork_env.integrations.minari import dataset
from patchwork_env.learning.distributed import Workers, check_workers, do_jobs
from patchwork_env.learning.evaluation.matches import MOST_GAMES, Player, Progress, fingerprint, name_of
from patchwork_env.learning.evaluation.playing import BLOCK_SIZE, GamesInPlay, spawn_seed
from patchwork_env.learning.evaluation.runners import common_game


class Recording(NamedTuple):
    """The validated arguments of a recording."""

    rules: Rules
    options: dict[str, Any]
    players: Sequence[Player]
    agents: Sequence[Agent]
    seats: int
    games: int
    seed: int
    rewards: int

    @property
    def blocks(self) -> list[BlockOfGames]:
        """All games in blocks."""
        make = partial(BlockOfGames, self.rules.name, self.options, self.seed)
        begins = range(0, self.games, BLOCK_SIZE)
        return [make(begin, min(begin + BLOCK_SIZE, self.games)) for begin in begins]

    @property
    def names(self) -> list[str]:
        """The names of the agents in the dataset."""
        return [name_of(player) for player in self.players]

    def environment(self) -> EnvSpec | None:
        """Return the environment without its opponent; None if the game is not registered."""
        name = f"{self.rules.name.capitalize()}-v0"
        if name not in gymnasium.registry:
            return None
        spec = copy.deepcopy(gymnasium.spec(name))
        spec.kwargs = {**self.options, "rewards": REWARDS[self.rewards]}
        spec.additional_wrappers = (WrapperSpec(dataset.MaskedObservation.__name__, dataset.ENTRY_POINT, {}),)
        return spec

    def metadata(self) -> dict[str, Any]:
        """Return Minari's metadata, with those of this package under one key."""
        names = self.names
        who = " against ".join(names) if len(names) > 1 else f"{names[0]} alone"
        if len(names) == 1 < self.seats:
            who = f"{names[0]} against itself"
        specs = [player for player in self.players if isinstance(player, str)]
        return {
            "algorithm_name": who,
            "description": f"{self.games} games of {self.rules.title}, {who}. An episode has one player's "
            "observations and actions in one game; its metadata hold the notation of the whole game.",
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


def record(
    agents: Player | Sequence[Player],
    games: int,
    dataset_id: str,
    *,
    game: str | None = None,
    seed: int | None = 0,
    rewards: str | None = None,
    workers: Workers = 1,
    progress: Progress | None = None,
    root: Any = None,
    **options: Any,
) -> MinariDataset:
    """Play games and write them as a dataset.

    An episode has one player's observations and actions in one game, as in the game's Gymnasium environment.
    In game ``k``, seat ``s`` has agent ``k + s``, modulo the number of agents. Equal arguments give equal
    files. After an error or an interrupt there is no dataset, and no file remains.

    Args:
        agents: Specs, agents or functions from a game to an action; a single one plays against itself.
        games: 1 to a million.
        dataset_id: Such as ``"patchwork/self-play/champion-v0"``.
        game: The name of the game; None for the only one that all agents play, or else Patchwork.
        seed: The seed of the games and agents, ``0 ... 2**64 - 1``; None for a fresh one. It is in the
            metadata.
        rewards: The kind of rewards, ``"outcome"``, ``"margin"`` or ``"score"``; None for the outcome with
            several players, for the score with one.
        workers: The number of processes that play, or a cluster. The dataset does not depend on it.
        progress: Called with the number of games that were written since the last call.
        root: The folder of all datasets; None for Minari's own.
        options: Options of the game, as its environments take them. NMBR 9 has as many ``players`` as there
            are agents, unless a number is given.

    Raises:
        ValueError, UnknownOptionError, FileNotFoundError: An argument is not allowed, or there is no agent.
        FileExistsError, StorageError: There is a dataset of this id, or the files cannot be written.
        IllegalActionError, OpponentError, WorkerError: An agent failed, or a process was killed.
    """
    recording = _checked(agents, games, game, seed, rewards, options)
    workers, folder = check_workers(workers), dataset.folder_of_new(dataset_id, root)
    played = _in_order(do_jobs(play_block, recording.agents, recording.blocks, workers))
    episodes = _episodes(recording, played, progress)
    dataset.write_dataset(
        folder, dataset_id, recording.rules, recording.environment(), recording.metadata(), episodes
    )
    return MinariDataset(folder / dataset.DATA)


def _checked(
    players: Player | Sequence[Player],
    games: Any,
    game: str | None,
    seed: int | None,
    rewards: str | None,
    options: dict[str, Any],
) -> Recording:
    several: list[Any] = list(players) if isinstance(players, list | tuple) else [players]
    if not several:
        raise ValueError("there are no agents; a dataset needs one at least")
    listed = [os.fspath(player) if isinstance(player, os.PathLike) else player for player in several]
    loaded = [as_agent(player) for player in listed]
    rules = rules_of(common_game(loaded, game))
    if "players" in rules.options:
        options = {"players": len(listed), **options}
    options = complete(options, rules.options, record)
    seats = rules.set_up(options, {}).players
    return Recording(
        rules=rules,
        options={name: _plain(value) for name, value in options.items()},
        players=listed,
        agents=loaded,
        seats=seats,
        games=check_between(games, 1, MOST_GAMES, "games"),
        seed=check_seed(seed),
        rewards=check_rewards(rewards, seats),
    )


def _plain(value: Any) -> Any:
    """Return the value of an option as plain data for JSON."""
    return np.asarray(value).tolist() if isinstance(value, np.ndarray | np.generic | tuple) else value


def _in_order(results: Iterable[tuple[int, list[PlayedGame]]]) -> Iterator[PlayedGame]:
    """Yield the games of all blocks in the order of their numbers."""
    waiting: dict[int, list[PlayedGame]] = {}
    following = 0
    for index, played in results:
        waiting[index] = played
        while following in waiting:
            yield from waiting.pop(following)
            following += 1


def _episodes(
    recording: Recording, played: Iterable[PlayedGame], progress: Progress | None
) -> Iterator[dataset.EpisodeData]:
    for each in played:
        game, agents = each.game, [recording.names[agent] for agent in each.seating]
        about = {
            "seed": each.seed,
            "game": each.number,
            "agents": agents,
            "scores": np.array(game.scores(), np.int16),
            "winners": np.array(game.winners(), np.int8),
            "notation": game.notation(),
        }
        states = _states_of(game)
        for seat, agent in enumerate(agents):
            about_player = {**about, "seat": seat, "agent": agent}
            yield _episode(recording, states, game.history, seat, about_player)
        if progress:
            progress(1)


def _states_of(game: BaseGame[Any]) -> States:
    """Return the records of a game before every action and at the end, ``(plies + 1,)``."""
    position = game.root()
    states = np.repeat(position.state, len(game.history) + 1)
    for ply, action in enumerate(game.history, 1):
        position.play(action)
        states[ply] = position.state[0]
    return states


def _episode(
    recording: Recording, states: States, history: Sequence[int], seat: int, about: dict[str, Any]
) -> dataset.EpisodeData:
    rules = recording.rules
    plies = np.append(np.flatnonzero(states["current_player"][:-1] == seat), len(history))
    states = states[plies]
    count = len(states)
    observations = np.empty((count, rules.layout.size), np.float32)
    masks = np.empty((count, rules.num_actions), np.uint8)
    loop(write_views, rules)(
        states, np.arange(count), np.full(count, seat), masks.view(np.int8), observations
    )
    rewards = _rewards(rules, states, seat, recording.rewards)
    actions = np.array(history, np.int64)[plies[:-1]]
    return dataset.EpisodeData(observations, masks, actions, rewards, plies.astype(np.int16), about)


def _rewards(rules: Rules, states: States, seat: int, kind: int) -> npt.NDArray[np.float64]:
    """Return a player's rewards ``(T,)`` from the ``T + 1`` records of its decisions and the end."""
    scores = [rules.kernels.score(states, i, seat) for i in range(len(states))]
    reward = loop(reward_of, rules)
    return np.array([reward(states, i, seat, kind, scores[i - 1]) for i in range(1, len(states))])


# --- playing ----------------------------------------------------------------------------------------------


class BlockOfGames(NamedTuple):
    """The games ``begin ... end - 1`` of a dataset, which are played side by side."""

    game: str
    options: Mapping[str, Any]
    seed: int  # of the dataset
    begin: int  # the number of the first game
    end: int


class PlayedGame(NamedTuple):
    """A game that was played to its end."""

    number: int  # in the dataset
    seed: int  # of the game, as ``Game`` and the environments take it
    game: BaseGame[Any]
    seating: tuple[int, ...]  # the index of the agent in each seat


def play_block(agents: Sequence[Agent], block: BlockOfGames) -> list[PlayedGame]:
    """Play all games of a block; agents move by one seat from game to game.

    The games depend only on the agents and the block.
    """
    numbers, rules = range(block.begin, block.end), rules_of(block.game)
    seeds = [spawn_seed(block.seed, number) for number in numbers]
    streams = np.concatenate([seed_streams(seed) for seed in seeds])
    states = begin_games(rules, streams, **block.options)
    hidden = seed_streams(spawn_seed(block.seed, block.begin, len(agents)), len(numbers))
    seating = np.add.outer(numbers, range(rules.set_up(block.options, {}).players)) % len(agents)
    games = GamesInPlay(agents, states, hidden, seating, keep=len(numbers))
    games.play([spawn_seed(block.seed, block.begin, place) for place in range(len(agents))])
    seated = map(tuple, seating.tolist())
    return list(map(PlayedGame, numbers, seeds, games.kept, seated))

"""Batches of games for Stable-Baselines3: one learner in each game, against any agents."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import VecEnv

from patchwork_env.agents import Agent, as_agent
from patchwork_env.core import batches
from patchwork_env.core.batches import OUTCOME, Games, list_games, loop
from patchwork_env.core.checks import check_at_least_one, check_seed, seed_streams
from patchwork_env.core.rules import SetUp
from patchwork_env.core.tensors import Observation
from patchwork_env.envs.opponents import answers, opponent_seed
from patchwork_env.envs.options import check_batch, check_saved
from patchwork_env.envs.spaces import GameSpaces
from patchwork_env.errors import IllegalActionError
from patchwork_env.games import PATCHWORK
from patchwork_env.learning.algorithms.common.rewards import rewards_of_players
from patchwork_env.learning.config import Reward
from patchwork_env.patchwork.actions import NUM_ACTIONS
from patchwork_env.patchwork.components import NUM_PLAYERS
from patchwork_env.patchwork.game import Game
from patchwork_env.patchwork.observation import OBSERVATION_SIZE
from patchwork_env.patchwork.rules import RULES
from patchwork_env.patchwork.state import States, empty_states

Indices = None | int | Iterable[int]
Info = dict[str, Any]


class FinishedGames(NamedTuple):
    """``k`` games that ended.

    Attributes:
        states: ``(k,)`` records of their ends.
        seats: int64 ``(k,)``, the learner's player numbers.
        opponents: int64 ``(k,)``, the numbers of the opponents.
        won: bool ``(k,)``, whether the learner won.
        lengths: int64 ``(k,)``, the numbers of the learner's decisions.
    """

    states: States
    seats: npt.NDArray[np.int64]
    opponents: npt.NDArray[np.int64]
    won: npt.NDArray[np.bool_]
    lengths: npt.NDArray[np.int64]


_NO_NUMBERS = np.empty(0, np.int64)
_NONE_FINISHED = FinishedGames(
    empty_states(0), _NO_NUMBERS, _NO_NUMBERS, _NO_NUMBERS.astype(np.bool_), _NO_NUMBERS
)


class PatchworkVecEnv(VecEnv):
    """``num_envs`` games for an algorithm of Stable-Baselines3; all rules run compiled, over the whole batch.

    >>> from sb3_contrib import MaskablePPO
    >>> env = PatchworkVecEnv(64, opponents=["random", "greedy"], seed=1)
    >>> model = MaskablePPO("MlpPolicy", env, n_steps=64)

    The learner has player number 0 in game 0, 1 in game 1, 0 in game 2 and so on; chance decides who starts.
    The opponents' moves are part of each step, and each opponent gets all games in which it is to move at
    once, through :meth:`Agent.act_batch`. Turns with a single legal action, of any player, are part of the
    step too, so that every step is a decision of the learner.

    Spaces are those of the Gymnasium environment ``Patchwork-v0``, and a model can go from one to the other.
    The reward, see ``Reward``, comes at the end of a game, no matter whose move ended it.

    **Info**: empty until a game ends. Then ``terminal_observation``; ``episode`` like SB3's ``Monitor``,
    where ``l`` is the number of the learner's decisions; ``is_success``, whether the learner won; ``scores``,
    the own and the opponent's; ``opponent``, the number of the opponent.

    Args:
        num_envs: The number of games, at least 1.
        opponents: The opponents: a spec, or a list of specs, agents and functions; see
            :func:`patchwork_env.agents.as_agent`. Game ``i`` has opponent ``i // 2`` modulo their number,
            until :meth:`set_opponents` changes that.
        seed: The seed of the games, ``0 ... 2**64 - 1``; None for fresh random games.
        reward: The learner's reward for the end of a game; None for the outcome alone.
        special_patches: The print of the time track, ``"revised"`` or ``"2014"``.
        keep_finished: Whether to keep games that end for :meth:`take_finished`.

    Raises:
        ValueError: An option is unknown or its value not allowed.
        FileNotFoundError: There is no checkpoint at the path of an opponent.
    """

    def __init__(
        self,
        num_envs: int,
        opponents: str | Sequence[Any] = "random",
        *,
        seed: int | None = None,
        reward: Reward | None = None,
        special_patches: str = "revised",
        keep_finished: bool = False,
    ) -> None:
        check_at_least_one(num_envs, "num_envs")
        options = {**RULES.options, "special_patches": special_patches, "first_player": "random"}
        self._set_up: SetUp = RULES.set_up(options, {})
        self._reward = reward or Reward()
        self.states = empty_states(num_envs)
        self.seats = np.arange(num_envs) % NUM_PLAYERS
        listed = [opponents] if isinstance(opponents, str) else opponents
        self._has_begun = False
        self.set_opponents([as_agent(opponent, game=PATCHWORK) for opponent in listed])
        self._streams = seed_streams(seed, num_envs)
        self._reseed_opponents(seed)
        self._lengths = np.zeros(num_envs, np.int64)
        self._actions = np.zeros(num_envs, np.int64)
        self._all_games = np.arange(num_envs)
        self._observations = np.zeros((num_envs, OBSERVATION_SIZE), np.float32)
        self._masks = np.zeros((num_envs, NUM_ACTIONS), np.int8)
        self._keep_finished = keep_finished
        self._finished: list[FinishedGames] = []
        self._rewards, self._ends = np.zeros(num_envs, np.float32), np.zeros(num_envs, np.bool_)
        self._infos: list[Info] = [{} for _ in range(num_envs)]
        self._created = time.time()
        spaces = GameSpaces(RULES)
        super().__init__(num_envs, spaces.flat_space(), spaces.action_space())

    def set_opponents(
        self,
        opponents: Sequence[Agent],
        numbers: npt.NDArray[np.integer[Any]] | None = None,
        *,
        at_once: bool = False,
    ) -> None:
        """Changes the opponents of games that begin, or of all games ``at_once``.

        A game that has begun keeps its opponent, which gets a number after those of the new ones, unless it
        is among these. ``numbers``, integers ``(num_envs,)``, gives every game its opponent; None gives all
        in turn.

        Raises:
            ValueError: There are no opponents, or a number is not one of theirs.
        """
        count = len(opponents)
        check_at_least_one(count, "the number of opponents")
        if numbers is None:
            numbers = np.arange(len(self.states)) // NUM_PLAYERS % count
        if numbers.shape != self.states.shape or numbers.min() < 0 or numbers.max() >= count:
            raise ValueError(
                f"the numbers of the opponents are {numbers}; "
                f"they must be {len(self.states)} integers from 0 to {count - 1}"
            )
        self._next_numbers = numbers.astype(np.int64)
        if at_once or not self._has_begun:
            self.opponents, self.opponent_numbers = list(opponents), self._next_numbers.copy()
            return
        playing = [self.opponents[number] for number in self.opponent_numbers]
        self.opponents = list({id(opponent): opponent for opponent in (*opponents, *playing)}.values())
        places = {id(opponent): place for place, opponent in enumerate(self.opponents)}
        self.opponent_numbers = np.array([places[id(opponent)] for opponent in playing])

    # --- Stable-Baselines3 --------------------------------------------------------------------------------

    def reset(self) -> Observation:
        """Begins all games, after :meth:`seed` with new random numbers.

        Raises:
            ValueError: There are options; games take none.
        """
        if any(self._options):
            raise ValueError(f"the options of the games are {self._options}; they take none")
        with self._undone_by_errors():
            if self._seeds[0] is not None:
                for game, seed in enumerate(self._seeds):
                    self._streams[game : game + 1] = seed_streams(seed)
                self._reseed_opponents(self._seeds[0])
            self._begin(self._all_games)
            self._play_on()
        self._reset_seeds()
        self._has_begun = True
        self._finished.clear()
        return self._observe()

    def step_async(self, actions: npt.NDArray[np.int64]) -> None:
        """Takes the learner's actions, integers ``(num_envs,)``; if one is refused, no game is changed.

        Raises:
            IllegalActionError: An action is not legal; the message names the first such game.
            ValueError: The actions have another shape or type.
        """
        self._actions[:] = check_batch(actions, self.num_envs)
        illegal = loop(batches.first_illegal, RULES)(self.states, self._actions)
        if illegal >= 0:
            raise IllegalActionError(
                f"action {self._actions[illegal]} of game {illegal} is not legal; no game was changed"
            )

    def step_wait(
        self,
    ) -> tuple[Observation, npt.NDArray[np.float32], npt.NDArray[np.bool_], list[Info]]:
        """Plays the actions and what follows, up to the learner's next decision in every game.

        Raises:
            OpponentError: The opponent's action is not legal; no game is changed.
        """
        self._rewards, self._ends = np.zeros(self.num_envs, np.float32), np.zeros(self.num_envs, np.bool_)
        self._infos = [{} for _ in range(self.num_envs)]
        with self._undone_by_errors():
            self._lengths += 1
            loop(batches.play_listed, RULES)(self.states, self._all_games, self._actions)
            self._play_on()
        return self._observe(), self._rewards, self._ends, self._infos

    def close(self) -> None:
        """There is nothing to close."""

    def get_attr(self, attr_name: str, indices: Indices = None) -> list[Any]:
        """The ``render_mode``, ``seat`` or ``action_masks`` of some games."""
        attributes: dict[str, list[Any]] = {
            "render_mode": [None] * len(self.states),
            "seat": self.seats.tolist(),
            "action_masks": list(self._masks),
        }
        if attr_name not in attributes:
            raise AttributeError(f"games have no {attr_name!r}; they have {', '.join(attributes)}")
        return [attributes[attr_name][game] for game in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Indices = None) -> None:
        """Games have no attributes to set.

        Raises:
            AttributeError: Always.
        """
        raise AttributeError(f"games have no {attr_name!r} that could be set")

    def env_method(
        self, method_name: str, *method_args: Any, indices: Indices = None, **method_kwargs: Any
    ) -> list[Any]:
        """``action_masks`` of some games: views of :meth:`action_masks`.

        Raises:
            AttributeError: It is another method.
        """
        if method_name != "action_masks":
            raise AttributeError(f"games have no method {method_name!r}; they have action_masks")
        return [self._masks[game] for game in self._get_indices(indices)]

    def env_is_wrapped(self, wrapper_class: type, indices: Indices = None) -> list[bool]:
        """Whether the infos hold what a wrapper would add to them, as is so for ``Monitor``."""
        return [issubclass(wrapper_class, Monitor) for _ in self._get_indices(indices)]

    # --- beyond it ----------------------------------------------------------------------------------------

    def action_masks(self) -> npt.NDArray[np.int8]:
        """1 for the learner's legal actions, int8 ``(num_envs, 2026)``; the next step overwrites them."""
        return self._masks

    def take_finished(self) -> FinishedGames:
        """The games that have ended since the last call, if the environment was made to keep them."""
        finished = FinishedGames._make(map(np.concatenate, zip(_NONE_FINISHED, *self._finished, strict=True)))
        self._finished.clear()
        return finished

    def games(self) -> list[Game]:
        """Copies of all games."""
        return [Game._of_record(self.states, i) for i in range(self.num_envs)]

    def save(self) -> dict[str, npt.NDArray[Any]]:
        """Copies of all that the games depend on, except the opponents, for :meth:`restore`."""
        arrays: dict[str, npt.NDArray[Any]] = {
            "states": self.states.view(np.uint8),
            "streams": self._streams,
            "lengths": self._lengths,
        }
        return {name: array.copy() for name, array in arrays.items()}

    def restore(self, saved: dict[str, npt.NDArray[Any]]) -> Observation:
        """Continues from what :meth:`save` returned; returns the observations.

        Raises:
            ValueError: An array is missing or has another size, or a state is impossible or no decision of
                the learner. Nothing has changed.
        """
        saved = check_saved(saved, self.save())
        states = Game.check_states(saved["states"].view(self.states.dtype))
        over = list_games(batches.list_over, RULES, states)
        wrong = [*over, *list_games(batches.list_waiting, RULES, states, self.seats)]
        if wrong:
            raise ValueError(f"in the saved game {wrong[0]} it is not the learner's turn")
        self.states[:] = states
        self._streams[:] = saved["streams"]
        self._lengths[:] = saved["lengths"]
        self._finished.clear()
        return self._observe()

    # --- playing ------------------------------------------------------------------------------------------

    @contextmanager
    def _undone_by_errors(self) -> Iterator[None]:
        """Brings games and random streams back to where they were if the block raises an error."""
        arrays = (self.states, self._streams, self._lengths, self.opponent_numbers)
        before, finished = [array.copy() for array in arrays], len(self._finished)
        try:
            yield
        except BaseException:
            for array, values in zip(arrays, before, strict=True):
                array[:] = values
            del self._finished[finished:]
            if self._has_begun:
                self._observe()
            raise

    def _play_on(self) -> None:
        """Plays up to the learner's next decision in every game, and begins a new game where one ends."""
        while True:
            loop(batches.play_forced, RULES)(self.states)
            over = list_games(batches.list_over, RULES, self.states)
            if len(over):
                self._finish(over)
                self._begin(over)
                continue
            waiting = list_games(batches.list_waiting, RULES, self.states, self.seats)
            if not len(waiting):
                return
            self._let_opponents_move(waiting)

    def _let_opponents_move(self, waiting: Games) -> None:
        numbers = self.opponent_numbers[waiting]
        for number in np.unique(numbers):
            games, opponent = waiting[numbers == number], self.opponents[number]
            actions = answers(opponent, RULES, self.states[games], games)
            loop(batches.play_listed, RULES)(self.states, games, actions)

    def _finish(self, over: Games) -> None:
        """Notes the results of games that are over."""
        outcomes, scores = np.zeros(self.num_envs), np.zeros((self.num_envs, NUM_PLAYERS), np.int16)
        loop(batches.write_final_rewards, RULES)(self.states, over, self.seats, OUTCOME, outcomes)
        loop(batches.write_scores, RULES)(self.states, over, self.seats, scores)
        has_lost = (outcomes[over] < 0).astype(np.int8)
        self._rewards[over] = rewards_of_players(self._reward, has_lost, scores[over])[:, 0]
        self._ends[over] = True
        loop(batches.write_views, RULES)(self.states, over, self.seats, self._masks, self._observations)
        seconds = round(time.time() - self._created, 6)
        for game in over:
            self._infos[game] = {
                "terminal_observation": self._observations[game].copy(),
                "episode": {"r": float(self._rewards[game]), "l": int(self._lengths[game]), "t": seconds},
                "is_success": bool(outcomes[game] > 0),
                "scores": scores[game].copy(),
                "opponent": int(self.opponent_numbers[game]),
            }
        if not self._keep_finished:
            return
        games = FinishedGames(self.states, self.seats, self.opponent_numbers, outcomes > 0, self._lengths)
        self._finished.append(FinishedGames._make(array[over] for array in games))

    def _begin(self, games: Games) -> None:
        beginning, chance, _ = self._set_up
        loop(batches.deal_listed, RULES)(self.states, games, self._streams, beginning, chance)
        self.opponent_numbers[games] = self._next_numbers[games]
        self._lengths[games] = 0

    def _observe(self) -> Observation:
        """Writes observations and masks; returns a copy, as SB3 still needs the observations before."""
        loop(batches.write_views, RULES)(
            self.states, self._all_games, self.seats, self._masks, self._observations
        )
        return self._observations.copy()

    def _reseed_opponents(self, seed: int | None) -> None:
        if seed is not None:
            for opponent in self.opponents:
                opponent.reseed(opponent_seed(check_seed(seed)))

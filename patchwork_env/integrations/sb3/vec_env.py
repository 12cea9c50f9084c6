"""Batches of games for Stable-Baselines3: one learner in each game, against any agents."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import VecEnv

from patchwork_env.agents import Agent, as_agents
from patchwork_env.core import batches
from patchwork_env.core.batches import MARGIN, MARGIN_SCALE, OUTCOME, SCORE, Games, list_games, loop
from patchwork_env.core.checks import check_seed, seed_streams
from patchwork_env.core.game import BaseGame, SetUp
from patchwork_env.core.kernels import States
from patchwork_env.core.names import short_repr
from patchwork_env.core.records import records_at
from patchwork_env.core.tensors import Observation
from patchwork_env.envs.opponents import Opponents
from patchwork_env.envs.options import check_batch, check_num_envs, check_rewards, check_saved, complete
from patchwork_env.envs.spaces import GameSpaces
from patchwork_env.errors import IllegalActionError
from patchwork_env.games import PATCHWORK, rules_of
from patchwork_env.learning.algorithms.common.rewards import weighed
from patchwork_env.learning.config import Reward

Flags = npt.NDArray[np.bool_]
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


class MaskedVecEnv(VecEnv):
    """Environments of one batch, with nothing but some attributes and the method ``action_masks``."""

    _masks: npt.NDArray[np.int8]

    def _attributes(self) -> dict[str, list[Any]]:
        """The values of all attributes in every environment, by name."""
        masks = list(self._masks)
        return {"render_mode": [None] * len(masks), "action_masks": masks}

    def get_attr(self, attr_name: str, indices: Indices = None) -> list[Any]:
        """The ``render_mode``, the ``action_masks`` or what else there is of some environments.

        Raises:
            AttributeError: There is no such attribute.
        """
        attributes = self._attributes()
        if attr_name not in attributes:
            raise self._no_attribute(attr_name, f"; it has {', '.join(attributes)}")
        return [attributes[attr_name][env] for env in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Indices = None) -> None:
        """There are no attributes to set.

        Raises:
            AttributeError: Always.
        """
        raise self._no_attribute(attr_name, " that could be set")

    def env_method(self, method_name: str, *args: Any, indices: Indices = None, **kwargs: Any) -> list[Any]:
        """``action_masks`` of some environments, int8 ``(num_actions,)`` each; a step may overwrite them.

        Raises:
            AttributeError: It is another method.
        """
        if method_name != "action_masks":
            raise self._no_attribute(method_name, "; it has action_masks")
        return [self._masks[env] for env in self._get_indices(indices)]

    def _no_attribute(self, name: str, ending: str) -> AttributeError:
        return AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{ending}")

    def env_is_wrapped(self, wrapper_class: type, indices: Indices = None) -> list[bool]:
        """False for all."""
        return [False for _ in self._get_indices(indices)]


class SelfPlayVecEnv(MaskedVecEnv):
    """``num_envs`` games for an algorithm of Stable-Baselines3; all rules run compiled, over the whole batch.

    >>> from sb3_contrib import MaskablePPO
    >>> env = SelfPlayVecEnv(64, opponent=["random", "greedy"], seed=1)
    >>> model = MaskablePPO("MlpPolicy", env, n_steps=64)

    The learner has player number 0 in game 0, 1 in game 1, 0 in game 2 and so on. In Patchwork chance decides
    who starts. The opponents' moves are part of each step, and each opponent gets all games in which it is to
    move at once, through :meth:`Agent.act_batch`. Turns with a single legal action, of any player, are part
    of the step too, so that every step is a decision of the learner.

    Spaces are those of the game's Gymnasium environment, and a model can go from one to the other. Rewards
    for the end of a game come with the learner's last step, no matter whose move ended it.

    **Info**: empty until a game ends. Then ``terminal_observation``; ``episode`` like SB3's ``Monitor``,
    where ``l`` is the number of the learner's decisions; ``scores``, first the learner's; against opponents
    ``is_success``, whether the learner won, and ``opponent``, the number of the opponent.

    Args:
        num_envs: The number of games, at least 1.
        opponent: Who plays for all other players: a spec, an agent, a function (see
            :func:`patchwork_env.agents.as_agent`), or a list of these, of which neighboring games with all
            seats share one, until :meth:`set_opponents` changes that. None is ``"random"``, or nobody in a
            game for one player.
        opponent_shares: The relative share of the games for each of several opponents; None shares the games
            evenly.
        game: The game, ``"patchwork"`` or ``"nmbr9"``.
        seed: The seed of the games, ``0 ... 2**64 - 1``; None for fresh random games.
        rewards: The learner's rewards: ``"outcome"``, ``"margin"`` or ``"score"`` as in all environments
            here, or the weights of outcome and margin at the end of a game; None for the outcome, or the
            score of a single player.
        reward_scale: What rewards are multiplied by, above 0. Points are large for a value to learn: 0.02 is
            good for ``"score"``.
        keep_finished: Whether to keep games that end for :meth:`take_finished`.
        options: Options of the game, such as ``special_patches="2014"`` or ``players=2``.

    Attributes:
        rules: The rules of the game.
        first_opponents: The agents that the environment was made with.
        turns: The number of turns played so far in all games, by whoever moved, forced ones included.

    Raises:
        ValueError: A value is not allowed.
        UnknownOptionError: There is no such option.
        FileNotFoundError: There is no checkpoint at the path of an opponent.
    """

    def __init__(
        self,
        num_envs: int,
        opponent: Any = None,
        *,
        opponent_shares: Sequence[float] | None = None,
        game: str = PATCHWORK,
        seed: int | None = None,
        rewards: str | Reward | None = None,
        reward_scale: float = 1.0,
        keep_finished: bool = False,
        **options: Any,
    ) -> None:
        self.rules = rules = rules_of(game)
        own = ("num_envs", "opponent", "opponent_shares", "game", "seed", "rewards", "reward_scale")
        known = {**rules.options, **rules.batch_options}
        given = complete(options, known, (*own, "keep_finished"), type(self).__name__)
        self._set_up: SetUp = rules.set_up(given, {})
        self._rewarding = _Rewarding(rewards, reward_scale, self._set_up.players)
        self.states = rules.empty_states(check_num_envs(num_envs))
        self.seats = np.arange(num_envs) % self._set_up.players
        self._has_begun = False
        self.turns = 0
        self._opponents = self._new_opponents(opponent, opponent_shares)
        self.first_opponents = self.opponents
        self._streams = seed_streams(seed, num_envs)
        self._reseed_opponents(seed)
        self._lengths = np.zeros(num_envs, np.int64)
        self._returns = np.zeros(num_envs)
        self._points = np.zeros(num_envs, np.int16)
        self._actions = np.zeros(num_envs, np.int64)
        self._all_games = np.arange(num_envs)
        self._observations = np.zeros((num_envs, rules.layout.size), np.float32)
        self._masks = np.zeros((num_envs, rules.num_actions), np.int8)
        self.keep_finished = keep_finished
        self._finished: list[FinishedGames] = []
        self._rewards, self._ends = np.zeros(num_envs, np.float32), np.zeros(num_envs, np.bool_)
        self._infos: list[Info] = [{} for _ in range(num_envs)]
        self._created = time.time()
        spaces = GameSpaces(rules)
        super().__init__(num_envs, spaces.flat_space(), spaces.action_space())

    @property
    def num_players(self) -> int:
        """The number of players of each game."""
        return self._set_up.players

    @property
    def opponents(self) -> list[Agent]:
        """The agents that play against the learner."""
        return [] if self._opponents is None else cast(list[Agent], self._opponents.agents)

    @property
    def opponent_numbers(self) -> npt.NDArray[np.int64]:
        """The number of the opponent in each game, int64 ``(num_envs,)``."""
        return np.zeros(len(self.states), np.int64) if self._opponents is None else self._opponents.numbers

    def _new_opponents(self, given: Any, shares: Sequence[float] | None) -> Opponents | None:
        if self.num_players == 1:
            if given is not None:
                raise ValueError(f"opponent is {short_repr(given)}; a game for one player has none")
            return None
        agents = as_agents("random" if given is None else given, game=self.rules.name)
        return Opponents(len(self.states), agents, shares=shares, players=self.num_players)

    def set_opponents(
        self,
        opponents: Sequence[Agent],
        numbers: npt.NDArray[np.integer[Any]] | None = None,
        *,
        at_once: bool = False,
    ) -> None:
        """Changes the opponents of games that begin, or of all games ``at_once``.

        See :meth:`patchwork_env.envs.opponents.Opponents.change`.

        Raises:
            ValueError: There are no opponents, a number is not one of theirs, or the game is for one player.
        """
        if self._opponents is None:
            raise ValueError(f"opponents are {short_repr(opponents)}; a game for one player has none")
        self._opponents.change(opponents, numbers, at_once=at_once or not self._has_begun)

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
            self._points[:] = self._own_scores()
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
        illegal = loop(batches.first_illegal, self.rules)(self.states, self._actions)
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
            self._play(self._all_games, self._actions)
            self._play_on()
            if self._rewarding.kind == SCORE:
                self._reward_points()
        return self._observe(), self._rewards, self._ends, self._infos

    def close(self) -> None:
        """There is nothing to close."""

    def _attributes(self) -> dict[str, list[Any]]:
        """The ``render_mode``, ``seat`` and ``action_masks`` of all games."""
        return {**super()._attributes(), "seat": self.seats.tolist()}

    def env_is_wrapped(self, wrapper_class: type, indices: Indices = None) -> list[bool]:
        """Whether the infos hold what a wrapper would add to them, as is so for ``Monitor``."""
        return [issubclass(wrapper_class, Monitor) for _ in self._get_indices(indices)]

    # --- beyond it ----------------------------------------------------------------------------------------

    def action_masks(self) -> npt.NDArray[np.int8]:
        """1 for the learner's legal actions, int8 ``(num_envs, num_actions)``; a step overwrites them."""
        return self._masks

    def take_finished(self) -> FinishedGames:
        """The games that have ended since the last call, if the environment was made to keep them."""
        empty = np.empty(0, np.int64)
        none = FinishedGames(self.rules.empty_states(0), empty, empty, empty.astype(np.bool_), empty)
        finished = FinishedGames._make(map(np.concatenate, zip(none, *self._finished, strict=True)))
        self._finished.clear()
        return finished

    def games(self) -> list[BaseGame]:
        """Copies of all games."""
        return [self.rules.game.unchecked(self.states, i) for i in range(self.num_envs)]

    def save(self) -> dict[str, npt.NDArray[Any]]:
        """Copies of all that the games depend on, except the opponents, for :meth:`restore`."""
        arrays: dict[str, npt.NDArray[Any]] = {
            "states": self.states.view(np.uint8),
            "streams": self._streams,
            "lengths": self._lengths,
        }
        if self._rewarding.kind == SCORE:
            arrays["returns"] = self._returns
        return {name: array.copy() for name, array in arrays.items()}

    def restore(self, saved: dict[str, npt.NDArray[Any]]) -> Observation:
        """Continues from what :meth:`save` returned; returns the observations.

        Raises:
            ValueError: An array is missing or has another size, or a state is impossible or no decision of
                the learner. Nothing has changed.
        """
        saved = check_saved(saved, self.save())
        states = self.rules.game.check_states(saved["states"].view(self.states.dtype))
        players = {self.rules.kernels.num_players(states, i) for i in range(len(states))}
        if players != {self.num_players}:
            raise ValueError(f"the saved games have {sorted(players)} players, not {self.num_players}")
        over = list_games(batches.list_over, self.rules, states)
        wrong = [*over, *list_games(batches.list_waiting, self.rules, states, self.seats)]
        if wrong:
            raise ValueError(f"in the saved game {wrong[0]} it is not the learner's turn")
        self.states[:] = states
        self._streams[:] = saved["streams"]
        self._lengths[:] = saved["lengths"]
        self._returns[:] = saved.get("returns", 0)
        self._points[:] = self._own_scores()
        self._finished.clear()
        return self._observe()

    # --- playing ------------------------------------------------------------------------------------------

    @contextmanager
    def _undone_by_errors(self) -> Iterator[None]:
        """Brings games and random streams back to where they were if the block raises an error."""
        counts: tuple[npt.NDArray[Any], ...] = (self._lengths, self._returns, self._points)
        arrays = (self.states, self._streams, *counts, self.opponent_numbers)
        before, finished, turns = [array.copy() for array in arrays], len(self._finished), self.turns
        try:
            yield
        except BaseException:
            for array, values in zip(arrays, before, strict=True):
                array[:] = values
            del self._finished[finished:]
            self.turns = turns
            if self._has_begun:
                self._observe()
            raise

    def _play(self, games: Games, actions: npt.NDArray[np.int64]) -> None:
        """Plays legal actions ``(k,)`` in the ``k`` listed games."""
        loop(batches.play_listed, self.rules)(self.states, games, actions)
        self.turns += len(games)

    def _play_on(self) -> None:
        """Plays up to the learner's next decision in every game, and begins a new game where one ends."""
        while True:
            self.turns += loop(batches.play_forced, self.rules)(self.states)
            ended = list_games(batches.list_over, self.rules, self.states)
            if len(ended):
                self._finish(ended)
                self._begin(ended)
                continue
            waiting = list_games(batches.list_waiting, self.rules, self.states, self.seats)
            if not len(waiting):
                return
            self._let_opponents_move(waiting)

    def _let_opponents_move(self, waiting: Games) -> None:
        assert self._opponents is not None
        self._play(waiting, self._opponents.answers(records_at(self.states, waiting), waiting))

    def _finish(self, ended: Games) -> None:
        """Notes the results of games that are over."""
        outcomes = np.zeros(self.num_envs)
        scores = np.zeros((self.num_envs, self.num_players), np.int16)
        if self.num_players > 1:
            loop(batches.write_final_rewards, self.rules)(self.states, ended, self.seats, OUTCOME, outcomes)
        loop(batches.write_scores, self.rules)(self.states, ended, self.seats, scores)
        self._rewards[ended] = self._rewarding.of_ends(outcomes[ended], scores[ended])
        if self._rewarding.kind == SCORE:
            self._rewards[ended] = self._rewarding.of_points(scores[ended, 0] - self._points[ended])
        self._ends[ended] = True
        loop(batches.write_views, self.rules)(self.states, ended, self.seats, self._masks, self._observations)
        for game in ended:
            self._infos[game] = self._info_of_end(game, outcomes[game], scores[game])
        if not self.keep_finished:
            return
        games = FinishedGames(self.states, self.seats, self.opponent_numbers, outcomes > 0, self._lengths)
        self._finished.append(FinishedGames._make(array[ended] for array in games))

    def _info_of_end(self, game: int, outcome: float, scores: npt.NDArray[np.int16]) -> Info:
        """What is told of a game that ended."""
        total = float(self._returns[game] + self._rewards[game])
        seconds = round(time.time() - self._created, 6)
        info: Info = {
            "terminal_observation": self._observations[game].copy(),
            "episode": {"r": total, "l": int(self._lengths[game]), "t": seconds},
            "scores": scores.copy(),
        }
        if self.num_players > 1:
            info |= {"is_success": bool(outcome > 0), "opponent": int(self.opponent_numbers[game])}
        return info

    def _reward_points(self) -> None:
        """Rewards what the learners' scores have changed by, in games that go on."""
        scores, goes_on = self._own_scores(), ~self._ends
        self._rewards[goes_on] = self._rewarding.of_points((scores - self._points)[goes_on])
        self._returns[goes_on] += self._rewards[goes_on]
        self._points[:] = scores

    def _own_scores(self) -> npt.NDArray[np.int16]:
        """The learners' present scores, int16 ``(num_envs,)``."""
        scores = np.zeros((self.num_envs, 1), np.int16)
        loop(batches.write_scores, self.rules)(self.states, self._all_games, self.seats, scores)
        return scores[:, 0]

    def _begin(self, games: Games) -> None:
        beginning, chance, _ = self._set_up
        loop(batches.deal_listed, self.rules)(self.states, games, self._streams, beginning, chance)
        if self._opponents is not None:
            self._opponents.begin(games)
        self._lengths[games] = 0
        self._returns[games] = 0

    def _observe(self) -> Observation:
        """Writes observations and masks; returns a copy, as SB3 still needs the observations before."""
        loop(batches.write_views, self.rules)(
            self.states, self._all_games, self.seats, self._masks, self._observations
        )
        return self._observations.copy()

    def _reseed_opponents(self, seed: int | None) -> None:
        if seed is not None and self._opponents is not None:
            self._opponents.reseed(check_seed(seed))


class _Rewarding:
    """What the learner is rewarded for; see :class:`SelfPlayVecEnv` for the arguments."""

    def __init__(self, rewards: str | Reward | None, scale: float, players: int) -> None:
        self._weights = rewards if isinstance(rewards, Reward) else None
        if self._weights is not None and players == 1:
            raise ValueError("rewards weigh outcome and margin, which need 2 players; alone there is 'score'")
        self.kind = OUTCOME if isinstance(rewards, Reward) else check_rewards(rewards, players)
        if isinstance(scale, bool) or not isinstance(scale, int | float) or not 0 < scale < np.inf:
            raise ValueError(f"reward_scale is {short_repr(scale)}; it must be a number above 0")
        self._scale = scale

    def of_ends(self, outcomes: npt.NDArray[np.float64], scores: npt.NDArray[np.int16]) -> npt.NDArray[Any]:
        """Rewards ``(k,)`` for the ends of games with outcomes ``(k,)`` and scores ``(k, players)``."""
        if self._weights is None and self.kind != MARGIN:
            return outcomes * self._scale
        margins = scores[:, 0] - scores[:, 1:].max(1)
        if self._weights is None:
            return margins / MARGIN_SCALE * self._scale
        return weighed(self._weights, outcomes, margins) * self._scale

    def of_points(self, points: npt.NDArray[np.int16]) -> npt.NDArray[Any]:
        """Rewards ``(k,)`` for points gained."""
        return points * self._scale

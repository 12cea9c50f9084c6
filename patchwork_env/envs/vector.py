"""The Gymnasium vector environment of any game: many games at once, one learner in each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import logger
from gymnasium.error import ResetNeeded
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from patchwork_env.core import batches
from patchwork_env.core.batches import SCORE, Games, loop
from patchwork_env.core.checks import check_one_of
from patchwork_env.core.game import BaseGame
from patchwork_env.core.kernels import States
from patchwork_env.core.names import short_repr
from patchwork_env.core.rules import Rules
from patchwork_env.envs.display import BATCH_RENDER_MODES, FRAMES_PER_SECOND, Display, names_of
from patchwork_env.envs.learner_batch import LearnerBatch, refuse
from patchwork_env.envs.opponents import Opponent, opponents_of
from patchwork_env.envs.options import (
    ILLEGAL_ACTION,
    ILLEGAL_REWARD,
    NO_ACTION,
    check_autoreset_mode,
    check_layout,
    check_num_envs,
    check_rewards,
    check_seeds,
    complete,
    take_reset_mask,
)
from patchwork_env.envs.spaces import GameSpaces

Flags = npt.NDArray[np.bool_]
Infos = dict[str, Any]


class GameVectorEnv(VectorEnv[Any, npt.NDArray[np.int64], npt.NDArray[Any]]):
    """``num_envs`` games of any rules, each with one learner, in compiled loops.

    Each game is that of a :class:`~patchwork_env.envs.single.GameEnv`, with the same spaces, rewards and
    infos, laid out as in Gymnasium's own vector environments. ``act_batch`` of the opponent gets all games in
    which it is to move.

    The start of the next game depends on Gymnasium's ``autoreset_mode``:

    * ``SAME_STEP`` (default): a game that ends is followed by the next in the same step. The observation and
      ``action_mask`` are then those of the new game, and ``infos["final_obs"]`` and ``infos["final_info"]``
      hold what the single environment returned at the end.
    * ``NEXT_STEP``: the step after the end of a game ignores its action, begins the next game and gives the
      reward 0. Until then ``action_mask`` is all zeros, unless an illegal action ended the game.
    * ``DISABLED``: games that have ended wait for ``reset(options={"reset_mask": …})``.

    With the seed ``s``, game ``i`` begins like a single environment with the seed ``s + i``. All its
    games are the same as there unless an opponent draws random numbers or hidden tiles.

    Other arguments and errors are those of the single environment. After an interrupt, or after an opponent
    failed during a call, all calls raise ResetNeeded until a reset of all games.

    Args:
        num_envs: The number of games, at least 1.
        opponent: May be several agents in a list. A game keeps its opponent to its end, and
            ``infos["final_info"]["opponent"]`` is then the opponent's number in :attr:`opponents`.
        opponent_shares: The relative share of the games for each opponent; None shares them evenly.
        autoreset_mode: An ``AutoresetMode`` or its value.
        render_mode: ``"ansi"``, ``"rgb_array"`` or None; ``"human"`` is for single environments.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  # as Gymnasium declares it
        "autoreset_mode": AutoresetMode.SAME_STEP,
        "render_modes": list(BATCH_RENDER_MODES),
        "render_fps": FRAMES_PER_SECOND,
    }

    def __init__(
        self,
        rules: Rules,
        num_envs: int = 1,
        opponent: Opponent | Sequence[Opponent] | None = None,
        *,
        opponent_shares: Sequence[float] | None = None,
        seat: int | str = "alternate",
        illegal_action: str = "terminate",
        rewards: str | None = None,
        observation: str = "flat",
        autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        self._rules = rules
        self.num_envs = check_num_envs(num_envs)
        self._named = check_layout(observation)
        self._raises = check_one_of(illegal_action, ILLEGAL_ACTION, "illegal_action") == "raise"
        self._display = Display(render_mode, rules, of=BATCH_RENDER_MODES)
        self.render_mode = render_mode
        self._autoreset = check_autoreset_mode(autoreset_mode)
        self.metadata = {**self.metadata, "autoreset_mode": self._autoreset}
        completed = complete(options, rules.options, type(self))
        self._players = rules.set_up(completed, {}).players
        opponents = opponents_of(opponent, self.num_envs, self._players, opponent_shares)
        self._batch = LearnerBatch(
            rules,
            self.num_envs,
            completed,
            seat=seat,
            opponents=opponents,
            reward_kind=check_rewards(rewards, self._players),
        )
        spaces = GameSpaces(rules)
        self.single_observation_space = spaces.observation_space(self._named)
        self.single_action_space = spaces.action_space()
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._ended = np.zeros(self.num_envs, np.bool_)  # games that are over and not replaced yet

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Any, Infos]:
        """Begin all games, or some, and let the opponent play until it is the learner's turn in each.

        Args:
            seed: Restarts the random numbers of game ``i`` with ``seed + i`` or ``seed[i]``. If all games
                begin anew, the first seed also restarts the opponents, each with another number. None, for
                all or for one game, continues the present random numbers.
            options: Options of these games. With ``reset_mask``, bool ``(num_envs,)``, only games
                where it is True begin anew; the others are unchanged and have no infos.

        Returns observations and infos; errors are those of the single environment.
        """
        batch = self._batch
        given, chosen = take_reset_mask(options, self.num_envs)
        set_up = batch.dealer.set_up(given)
        seeds = check_seeds(seed, self.num_envs)
        games = batch.all_games
        if chosen is not None:
            batch.require_ready()
            games = np.flatnonzero(chosen)
        if seeds[0] is not None:  # as VectorEnv does, for wrappers and tools
            self._np_random, self._np_random_seed = seeding.np_random(seeds[0])
        with batch.changing():
            batch.reseed({game: seeds[game] for game in games.tolist()})
            batch.begin(games, set_up)
            self._ended[games] = False
        return self._view({}, NO_ACTION, chosen)

    def step(self, actions: npt.ArrayLike) -> tuple[Any, npt.NDArray[np.float64], Flags, Flags, Infos]:
        """Play the learner's action in every game, integers ``(num_envs,)``, then the opponent's.

        An illegal action ends its episode with -1 or, with ``illegal_action="raise"``, raises an error that
        names the first such game. One outside the action space always raises. An error changes no game.

        After the end of a game the next one begins by the ``autoreset_mode``. The actions of games that
        begin in this step are ignored.

        Returns observations, rewards, terminations, truncations and infos; errors are those of the single
        environment, and ValueError for actions of another shape or type.
        """
        batch, idle = self._batch, self._ended
        checked, legal = self._check_actions(actions)
        illegal = ~legal
        if np.count_nonzero(idle):
            illegal[idle] = legal[idle] = False
        played = np.flatnonzero(legal)
        rewards = np.zeros(self.num_envs)
        infos: Infos = {}
        illegal_action: Games | int = NO_ACTION
        with batch.changing():
            if np.count_nonzero(self._ended):  # without an autoreset, _check_actions has raised an error
                batch.begin(np.flatnonzero(self._ended))
            batch.play(played, checked[played])
            batch.play_on()
            over = batch.over()
            batch.write_rewards(played if batch.reward_kind == SCORE else over, rewards)
            rewards[illegal] = ILLEGAL_REWARD
            terminations = illegal.copy()
            terminations[over] = True
            self._ended = ended = terminations.copy()
            if np.count_nonzero(ended):
                illegal_action = np.where(illegal, checked, NO_ACTION)
                if self._autoreset is AutoresetMode.SAME_STEP:
                    infos = self._final_infos(ended, illegal_action)
                    illegal_action = NO_ACTION
                    batch.begin(np.flatnonzero(ended))
                    self._ended = np.zeros_like(ended)
        observations, infos = self._view(infos, illegal_action)
        return observations, rewards, terminations, np.zeros(self.num_envs, np.bool_), infos

    def action_masks(self) -> npt.NDArray[np.int8]:
        """Return the masks of the learners' legal actions, int8 ``(num_envs, num_actions)``."""
        return self._views()[0]

    def render(self) -> tuple[Any, ...] | None:
        """Return every game as text (``"ansi"``) or as uint8 ``(height, width, 3)`` (``"rgb_array"``)."""
        if self.render_mode is None:
            logger.warn("render() shows nothing without a render_mode; give one to gymnasium.make_vec")
            return None
        each = zip(self.games(), self._batch.seats.tolist(), self._opponents_by_game(), strict=True)
        return tuple(self._display.show(game, names_of(seat, self._players, who)) for game, seat, who in each)

    def games(self) -> list[BaseGame]:
        """Return copies of all games."""
        return self._batch.games()

    @property
    def states(self) -> States:
        """A copy of the records of all games, ``(num_envs,)``, for ``encode`` of a network and for agents.

        The learner is to move in each, except in games that are over and not replaced yet, which have no
        legal actions.
        """
        self._batch.require_ready()
        return self._batch.states.copy()

    @property
    def opponent(self) -> Opponent | None:
        """The single opponent, or None."""
        return self.opponents[0] if len(self.opponents) == 1 else None

    @property
    def opponents(self) -> list[Opponent]:
        """The agents that play against the learner; empty in games for one player."""
        opponents = self._batch.opponents
        return [] if opponents is None else list(opponents.agents)

    @property
    def opponent_numbers(self) -> Games:
        """The index in :attr:`opponents` of the opponent of each game, int64 ``(num_envs,)``."""
        opponents = self._batch.opponents
        return np.zeros(self.num_envs, np.int64) if opponents is None else opponents.numbers.copy()

    def set_opponents(
        self, opponents: Sequence[Opponent], shares: Sequence[float] | None = None, *, at_once: bool = False
    ) -> None:
        """Change the opponents of games that begin from now on, or of all games ``at_once``.

        A game that is on keeps its opponent, which gets a number after the new ones. ``shares`` are relative
        shares of the games; None shares them evenly. ValueError if agents or shares do not fit, or the game
        is for one player.
        """
        self._batch.change_opponents(opponents, shares=shares, at_once=at_once)

    # --- as in Gymnasium's SyncVectorEnv ------------------------------------------------------------------

    @property
    def autoreset_mode(self) -> AutoresetMode:
        """The mode that decides when the next game begins."""
        return self._autoreset

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Return an attribute or the result of a method of every game, as of single environments.

        These are ``action_masks``, ``game``, ``opponent``, ``render`` and ``seat``; another name is an
        AttributeError. No method takes arguments.
        """
        found: dict[str, Callable[..., Any]] = {
            "action_masks": self.action_masks,
            "game": self.games,
            "opponent": self._opponents_by_game,
            "render": self.render,
            "seat": self._batch.seats.tolist,
        }
        if name not in found:
            raise AttributeError(f"games have no attribute {short_repr(name)}; they have {', '.join(found)}")
        values = found[name](*args, **kwargs)
        return (None,) * self.num_envs if values is None else tuple(values)

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Return an attribute of every game, see :meth:`call`."""
        return self.call(name)

    def set_attr(self, name: str, values: Any) -> None:
        """Change the ``opponent`` of games that begin from now on: one for all, or a list of one for each.

        AttributeError for another name, ValueError for a list of another length; other errors are those of
        :meth:`set_opponents`.
        """
        if name != "opponent":
            raise AttributeError(f"{short_repr(name)} cannot be set; 'opponent' can")
        is_listed = isinstance(values, list | tuple)
        listed = list(values) if is_listed else [values]
        if is_listed and len(listed) != self.num_envs:
            raise ValueError(f"there are {len(listed)} opponents for {self.num_envs} games")
        self.set_opponents(listed, [1] * len(listed))

    def _opponents_by_game(self) -> list[Opponent | None]:
        opponents: list[Opponent] | list[None] = self.opponents or [None]
        return [opponents[number] for number in self.opponent_numbers]

    # --- observations and infos ---------------------------------------------------------------------------

    def _view(
        self, infos: Infos, illegal_action: Games | int, present: Flags | None = None
    ) -> tuple[Any, Infos]:
        """Return observations, and ``infos`` with their entries for the ``present`` games, None for all."""
        masks, observations = self._views()
        if present is None:
            present = np.ones(self.num_envs, np.bool_)
        else:
            masks = masks * present[:, None]
        infos |= self._entries(masks, illegal_action, present)
        return self._rules.layout.as_dict(observations) if self._named else observations, infos

    def _views(self) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float32]]:
        """Return the masks and observations of the present states."""
        batch = self._batch
        batch.require_ready()
        masks = np.empty((self.num_envs, self._rules.num_actions), np.int8)
        observations = np.empty((self.num_envs, self._rules.layout.size), np.float32)
        loop(batches.write_views, self._rules)(
            batch.states, batch.all_games, batch.seats, masks, observations
        )
        return masks, observations

    def _entries(self, masks: Any, illegal_action: Games | int, present: Flags) -> Infos:
        """Return the entries of infos with their flags, zeros for games that are not ``present``."""
        batch, scores = self._batch, np.zeros((self.num_envs, self._players), np.int16)
        loop(batches.write_scores, self._rules)(batch.states, np.flatnonzero(present), batch.seats, scores)
        entries = {"action_mask": masks, "seat": batch.seats * present, "scores": scores}
        entries["illegal_action"] = illegal_action * present
        if len(self.opponents) > 1:
            entries["opponent"] = self.opponent_numbers * present
        return entries | {f"_{key}": present for key in entries}

    def _final_infos(self, ended: Flags, illegal_action: Games) -> Infos:
        """Return the entries ``final_obs`` and ``final_info`` for the ``ended`` games."""
        vectors = np.empty((self.num_envs, self._rules.layout.size), np.float32)
        masks = np.zeros((self.num_envs, self._rules.num_actions), np.int8)
        games = np.flatnonzero(ended)
        loop(batches.write_views, self._rules)(self._batch.states, games, self._batch.seats, masks, vectors)
        observations = np.full(self.num_envs, None, object)
        for game in games:
            vector = vectors[game].copy()
            observations[game] = self._rules.layout.as_dict(vector) if self._named else vector
        final = self._entries(masks, illegal_action, ended)
        return {"final_obs": observations, "_final_obs": ended, "final_info": final, "_final_info": ended}

    # --- checks -------------------------------------------------------------------------------------------

    def _check_actions(self, actions: npt.ArrayLike) -> tuple[npt.NDArray[np.int64], Flags]:
        """Return the actions, int64, and which of them are legal, bool; both ``(num_envs,)``."""
        checked, legal = self._batch.legality(actions)
        if self._autoreset is AutoresetMode.DISABLED and np.count_nonzero(self._ended):
            games = short_repr(np.flatnonzero(self._ended).tolist())
            raise ResetNeeded(f"games {games} have ended: call reset() with options={{'reset_mask': …}}")
        if np.count_nonzero(legal) < self.num_envs:
            wrong = ~legal if self._raises else (checked < 0) | (checked >= self._rules.num_actions)
            refuse(checked, wrong & ~self._ended)
        return checked, legal

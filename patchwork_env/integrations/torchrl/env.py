"""Batches of games as an environment of TorchRL, and its action spec."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
import torch
from tensordict import TensorDict, TensorDictBase
from torch import Tensor
from torchrl.data import Binary, Bounded, Categorical, Composite, OneHot, Unbounded
from torchrl.data.utils import ACTION_SPACE_MAP
from torchrl.envs import EnvBase

from patchwork_env.agents import as_agents
from patchwork_env.core.batches import (
    Actions,
    Games,
    Masks,
    deal_listed,
    loop,
    play_listed,
    write_current_observations,
)
from patchwork_env.core.checks import check_actions, check_flag, check_seed, described
from patchwork_env.core.kernels import States
from patchwork_env.core.names import short_repr
from patchwork_env.core.rules import Rules
from patchwork_env.core.tensors import Observation
from patchwork_env.envs.opponents import Opponent
from patchwork_env.envs.options import check_num_envs, complete
from patchwork_env.envs.self_play import SHARED, BatchArrays, SelfPlayBatch, write_outputs
from patchwork_env.envs.vector import GameVectorEnv, Views
from patchwork_env.errors import IllegalActionError
from patchwork_env.games import PATCHWORK, rules_of


class LegalActions(Categorical):
    """A ``Categorical`` that draws legal actions, in a fiftieth of the time that a ``Categorical`` takes.

    ``Categorical.rand`` draws a random number for every action of every game; here it is one for every game.
    Clones share the mask, so that what TorchRL makes of the spec, such as a collector's ``RandomPolicy``,
    follows the games as the spec of the environment does. Those of ``SerialEnv`` and ``ParallelEnv`` are of
    another shape, and know masks by ``ActionMask`` alone.
    """

    @property
    def mask(self) -> Tensor | None:
        """The legal actions, bool ``(*shape, n)``; None before they are known."""
        mask: Tensor | None = self._shared.get("mask")
        return mask

    @mask.setter
    def mask(self, mask: Tensor | None) -> None:
        self.__dict__.setdefault("_shared", {})["mask"] = mask

    def clone(self) -> LegalActions:
        """Return a clone that shares the mask."""
        clone = self.__class__(n=self.space.n, shape=self.shape, device=self.device, dtype=self.dtype)
        clone._shared = self._shared
        return clone

    def rand(self, shape: Any = None) -> Tensor:
        """Return uniformly random legal actions, ``(*shape, *self.shape)``, by PyTorch's random numbers."""
        mask = self.mask
        if mask is None:
            raise RuntimeError(
                "the legal actions to draw from are not known: call reset(), and put the transform "
                "ActionMask around a SerialEnv or ParallelEnv"
            )
        masks = mask.expand(*(shape or ()), *mask.shape)
        rows = masks.reshape(-1, masks.shape[-1]).cpu().numpy()
        columns = _draw(rows, torch.rand(len(rows), dtype=torch.float64, device="cpu").numpy())
        return torch.from_numpy(columns).view(masks.shape[:-1]).to(self.device, self.dtype)


ACTION_SPACE_MAP[LegalActions] = "categorical"  # value learning looks a spec's class up here


def _draw(masks: np.ndarray[Any, Any], uniforms: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return a column that is True for each row, int64 ``(n,)``, by random numbers ``(n,)`` below 1."""
    count, columns = masks.shape
    places = np.flatnonzero(masks)
    bounds = np.searchsorted(places, np.arange(count + 1) * columns)
    legal = np.diff(bounds)
    if not legal.all():
        raise RuntimeError(f"game {int(legal.argmin())} has no legal action to draw from")
    drawn: np.ndarray[Any, Any] = places[bounds[:-1] + (uniforms * legal).astype(np.int64)]
    return drawn % columns


_OF_OPPONENTS = {"opponent_shares": None, "seat": "alternate"}


def make_env(
    game: str = PATCHWORK,
    num_envs: int = 64,
    *,
    opponent: Any = None,
    seed: int | None = None,
    rewards: str | None = None,
    categorical_actions: bool = True,
    device: Any = "cpu",
    **options: Any,
) -> GamesEnv:
    """Make an environment of TorchRL over a compiled batch of games.

    >>> env = make_env("nmbr9", num_envs=16, players=2, seed=7)
    >>> tensordict = env.rand_step(env.reset())
    >>> tensordict["next", "player"].unique().tolist()
    [1]

    Args:
        game: ``"patchwork"`` or ``"nmbr9"``.
        num_envs: The number of games, at least 1.
        opponent: None for self-play, in which each step is a move of the current player. Otherwise each step
            is a decision of one learner in every game, and this plays for all others: a spec, an agent, a
            function (see :func:`patchwork_env.agents.as_agent`), or a list of these.
        seed: The seed of the games, ``0 ... 2**64 - 1``; None for fresh random games.
        rewards: ``"outcome"``, ``"margin"`` or ``"score"``; None for the outcome, alone the score.
        categorical_actions: Whether actions are numbers ``(n,)`` or one-hot vectors ``(n, num_actions)``.
        device: Where the tensors are; games are played on the CPU.
        options: Options of the game; against opponents also ``opponent_shares`` and ``seat`` of
            :class:`~patchwork_env.envs.vector.GameVectorEnv`.

    Raises:
        ValueError, UnknownOptionError, FileNotFoundError: A value, an option or an opponent is not allowed.
    """
    rules = rules_of(game)
    check_num_envs(num_envs)
    check_flag(categorical_actions, "categorical_actions")
    further = {} if opponent is None else _OF_OPPONENTS
    given = complete(options, {**rules.options, **further}, make_env)
    if opponent is None:
        return GamesEnv(
            SelfPlayGames(rules, num_envs, seed=seed, rewards=rewards, **given),
            categorical_actions=categorical_actions,
            device=device,
        )
    if rules.set_up({name: given[name] for name in rules.options}, {}).players == 1:
        raise ValueError(f"opponent is {short_repr(opponent)}; a game for one player has none")
    agents = as_agents(opponent, game=rules.name)
    batch = OpponentGames(rules, num_envs, agents, seed, rewards=rewards, **given)
    return GamesEnv(batch, categorical_actions=categorical_actions, device=device)


class GamesEnv(EnvBase):
    """``n`` games as one environment of TorchRL, with the batch size ``(n,)``; :func:`make_env` makes it.

    ========================  ====================  ====================================================
    ``observation``           float32 (n, size)     the view of the player to move
    ``action_mask``           bool (n, actions)     that player's legal actions
    ``player``                int64 (n,)            that player; against opponents, the learner
    ``action``                int64 (n,)            that player's action
    ``("next", "reward")``    float32 (n, 1)        the reward of the player who acted
    ``("next", "rewards")``   float32 (n, players)  the rewards of all players; in self-play alone
    ``("next", "done")`` …    bool (n, 1)           whether the game ended: ``terminated`` or ``truncated``
    ========================  ====================  ====================================================

    Turns need not alternate: ``("next", "player")`` may be ``player`` again. The reward of a
    player for another player's move, such as a defeat by the other's last move, is only in
    ``("next", "rewards")``; :class:`~patchwork_env.integrations.torchrl.TurnGAE` reads it.

    A game that has ended stays as it is, seen by the player who would be next, until it is reset. Its
    ``("next", "action_mask")`` is True everywhere, as a distribution without any action does not exist.

    Games are those of the game's ``SelfPlayBatch`` with the same seed, or of its vector environment against
    opponents. Random actions are drawn with PyTorch's random numbers. ``batch.states`` are the records.
    """

    def __init__(self, batch: Batch, *, categorical_actions: bool = True, device: Any = "cpu") -> None:
        super().__init__(device=device, batch_size=(batch.num_envs,))
        self.batch = batch
        self._categorical = categorical_actions
        self._is_new = np.ones(batch.num_envs, np.bool_)
        """The games without a move, which a reset need not begin anew."""
        self._make_specs()

    def _make_specs(self) -> None:
        batch, n, rules, device = self.batch, self.batch.num_envs, self.batch.rules, self.device
        high = torch.from_numpy(rules.layout.upper_bounds).to(device).expand(n, -1)
        mask_shape = (n, rules.num_actions)
        self.observation_spec = Composite(
            observation=Bounded(torch.zeros_like(high), high, dtype=torch.float32, device=device),
            action_mask=Binary(rules.num_actions, mask_shape, dtype=torch.bool, device=device),
            player=Categorical(batch.num_players, (n,), dtype=torch.int64, device=device),
            shape=(n,),
            device=device,
        )
        if self._categorical:
            self.action_spec = LegalActions(rules.num_actions, (n,), dtype=torch.int64, device=device)
        else:
            self.action_spec = OneHot(rules.num_actions, mask_shape, dtype=torch.bool, device=device)
        rewards = {"reward": 1, "rewards": batch.num_players} if batch.rewards_all else {"reward": 1}
        self.reward_spec = Composite(
            {name: Unbounded((n, columns), device=device) for name, columns in rewards.items()}, shape=(n,)
        )
        self.done_spec = Composite(
            {
                name: Categorical(2, (n, 1), dtype=torch.bool, device=device)
                for name in ("done", "terminated", "truncated")
            },
            shape=(n,),
        )

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        """Play one action in every game; an illegal one raises, and no game is changed."""
        staying = ~_flags(tensordict, "_step", self.batch.num_envs)
        turn = self.batch.turn(self._actions(tensordict.get("action"), staying), staying)
        self._is_new[~staying] = False
        self._is_new[turn.ended] = True
        return TensorDict(
            {**self._seen(turn), **self._results(turn)}, batch_size=self.batch_size, device=self.device
        )

    def _reset(self, tensordict: TensorDictBase | None = None) -> TensorDictBase:
        again = _flags(tensordict, "_reset", self.batch.num_envs)
        begun = np.flatnonzero(again & ~self._is_new)
        if len(begun):
            self.batch.begin(begun)
        self._is_new[again] = True
        return TensorDict(self._seen(), batch_size=self.batch_size, device=self.device)

    def _set_seed(self, seed: int | None) -> None:
        self.batch.seed(seed)
        self._is_new[:] = True

    def _actions(self, given: Any, staying: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        """Return the actions as numbers; those of games that are ``staying`` do not count."""
        if self._categorical:
            return check_actions(given, self.batch.num_envs)
        shape = (self.batch.num_envs, self.batch.rules.num_actions)
        if not isinstance(given, Tensor) or given.shape != shape or given.is_floating_point():
            needed = f"they must be one-hot rows of bools or integers, of shape {shape}"
            raise IllegalActionError(f"actions are {described(given)}; {needed}")
        rows = given.cpu().numpy()
        wrong = ~staying & (((rows != 0).sum(1) != 1) | (rows.max(1) != 1))
        if wrong.any():
            game = int(wrong.argmax())
            others = rows[game][rows[game] != 0].tolist()
            raise IllegalActionError(
                f"the action of game {game} is not a one-hot row: besides zeros it has {short_repr(others)}"
            )
        return rows.argmax(1)

    def _seen(self, turn: Turn | None = None) -> dict[str, Tensor]:
        """Return observations, masks and players; of games that have ended, those at their ends."""
        observations, masks = self.batch.observations.copy(), self.batch.masks.view(np.bool_).copy()
        players = self.batch.players.astype(np.int64)
        if turn is not None:
            observations[turn.ended], players[turn.ended] = turn.last_observations, turn.last_players
            masks[turn.ended] = True
        seen = {"observation": observations, "action_mask": masks, "player": players}
        tensors = {name: torch.from_numpy(array).to(self.device) for name, array in seen.items()}
        self.full_action_spec["action"].update_mask(tensors["action_mask"])
        return tensors

    def _results(self, turn: Turn) -> dict[str, Tensor]:
        results = {
            "reward": turn.rewards[:, None],
            "done": turn.terminations[:, None].copy(),
            "terminated": turn.terminations[:, None],
            "truncated": np.zeros((len(turn.terminations), 1), np.bool_),
        }
        if turn.of_players is not None:
            results["rewards"] = turn.of_players
        return {name: torch.from_numpy(array).to(self.device) for name, array in results.items()}


def _flags(tensordict: TensorDictBase | None, key: str, count: int) -> npt.NDArray[np.bool_]:
    """Return the flags ``(count,)`` of a tensordict; all True if it has none."""
    flags = None if tensordict is None else tensordict.get(key, None)
    if flags is None:
        return np.ones(count, np.bool_)
    numbers: npt.NDArray[np.bool_] = flags.reshape(count).cpu().numpy()
    return numbers


Flags = npt.NDArray[np.bool_]


class Turn(NamedTuple):
    """The results of one step of ``n`` games.

    A batch begins the next game in the step in which one ends. TorchRL wants the end first, so this has it.
    """

    rewards: npt.NDArray[np.float32]  # ``(n,)``, of the players who acted
    of_players: npt.NDArray[np.float32] | None  # ``(n, players)``; None if only the learner is rewarded
    terminations: Flags  # ``(n,)``
    ended: Games  # ``(k,)``, the games that have ended
    last_observations: Observation  # ``(k, layout.size)``, what was seen at their ends
    last_players: npt.NDArray[np.int64]  # ``(k,)``, by whom


class SelfPlayGames(SelfPlayBatch):
    """A batch in which each step is a move of the player to move."""

    rewards_all = True

    def __init__(self, rules: Rules, num_envs: int, **options: Any) -> None:
        super().__init__(rules, num_envs, **options)
        self.rules, self.num_players = rules, self.rewards.shape[1]
        self._before = self.states.copy()

    @property
    def players(self) -> npt.NDArray[np.uint8]:
        """The player to move in each game."""
        return self.current_players

    def seed(self, seed: int | None) -> None:
        """Begin all games anew."""
        self.reset(seed)

    def begin(self, games: Games) -> None:
        """Begin some games anew, with the next random numbers."""
        arrays = self._arrays
        loop(deal_listed, self.rules)(self.states, games, arrays.streams, arrays.initial_state, arrays.flags)
        part = self._arrays.part(games)
        loop(write_outputs, self.rules)(part)
        self._take_back(games, part)

    def turn(self, actions: Actions, staying: Flags) -> Turn:
        """Play ``actions``, ``(n,)``, in all games but the ``staying`` ones."""
        movers = self.current_players.astype(np.int64)
        np.copyto(self._before.view(np.uint8), self.states.view(np.uint8))
        idle = np.flatnonzero(staying)
        kept = self._arrays.part(idle)
        self.step(np.where(staying, self.masks.argmax(1), actions) if len(idle) else actions)
        self._take_back(idle, kept)
        self.rewards[idle], self.terminations[idle] = 0, False
        ended = np.flatnonzero(self.terminations)
        last = self._ends(ended, actions)
        rewards = self.rewards.copy()
        of_movers = rewards[np.arange(self.num_envs), movers]
        return Turn(of_movers, rewards, self.terminations.copy(), ended, *last)

    def _ends(self, ended: Games, actions: Actions) -> tuple[Observation, npt.NDArray[np.int64]]:
        states = self._before[ended]
        observations = np.empty((len(ended), self.rules.layout.size), np.float32)
        loop(play_listed, self.rules)(states, np.arange(len(ended)), actions[ended])
        loop(write_current_observations, self.rules)(states, observations)
        return observations, states["current_player"].astype(np.int64)

    def _take_back(self, games: Games, part: BatchArrays) -> None:
        """Replace some games by those of a part."""
        for name in set(BatchArrays._fields) - set(SHARED):
            getattr(self._arrays, name)[games] = getattr(part, name)


class OpponentGames(GameVectorEnv):
    """A batch in which each step is a decision of the learner, against others."""

    rewards_all = False

    def __init__(
        self, rules: Rules, num_envs: int, opponents: Sequence[Opponent], seed: int | None, **options: Any
    ) -> None:
        super().__init__(rules, num_envs, opponents, illegal_action="raise", copy=False, **options)
        self.rules, self.num_players = rules, self._players
        self.seed(seed)

    @property
    def states(self) -> States:
        """The records of all games."""
        return self._batch.states

    @property
    def observations(self) -> Observation:
        """The learner's observations of all games."""
        return cast(Views, self._views)[1]

    @property
    def masks(self) -> Masks:
        """The learner's legal actions."""
        return cast(Views, self._views)[0]

    @property
    def players(self) -> npt.NDArray[np.int64]:
        """The learner's player number in each game."""
        return self._batch.seats

    def seed(self, seed: int | None) -> None:
        """Begin all games anew."""
        self.reset(seed=check_seed(seed) % (2**64 - self.num_envs))

    def begin(self, games: Games) -> None:
        """Begin some games anew, with the next random numbers."""
        chosen = np.zeros(self.num_envs, np.bool_)
        chosen[games] = True
        self.reset(options={"reset_mask": chosen})

    def turn(self, actions: Actions, staying: Flags) -> Turn:
        """Play ``actions``, ``(n,)``, in all games but the ``staying`` ones."""
        learners = self._batch.seats.copy()
        _, rewards, terminations, _, infos = self._step(actions, idle=staying)
        ended = np.flatnonzero(terminations)
        observations = np.empty((len(ended), self.rules.layout.size), np.float32)
        for k, game in enumerate(ended):
            observations[k] = infos["final_obs"][game]
        return Turn(rewards.astype(np.float32), None, terminations, ended, observations, learners[ended])


Batch = SelfPlayGames | OpponentGames

"""Batches of games as an environment of TorchRL, and its action spec."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from tensordict import TensorDict, TensorDictBase
from torch import Tensor
from torchrl.data import Binary, Bounded, Categorical, Composite, Unbounded
from torchrl.data.utils import ACTION_SPACE_MAP
from torchrl.envs import EnvBase

from patchwork_env.agents import as_agents
from patchwork_env.core import batches
from patchwork_env.core.batches import SCORE, Games, loop
from patchwork_env.core.checks import check_seed
from patchwork_env.envs.learner_batch import LearnerBatch, refuse
from patchwork_env.envs.opponents import opponents_of
from patchwork_env.envs.options import check_num_envs, check_rewards, check_seeds, complete
from patchwork_env.games import PATCHWORK, rules_of

Flags = npt.NDArray[np.bool_]


class LegalActions(Categorical):
    """A ``Categorical`` that draws legal actions with one random number per game, fifty times as fast.

    Clones share the mask, so the clone in a collector's ``RandomPolicy`` draws actions that are legal now.
    ``SerialEnv`` and ``ParallelEnv`` change the shape of the spec, and need the transform ``ActionMask``.
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
        """Return random legal actions, ``(*shape, *self.shape)``, uniform by PyTorch's random numbers."""
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


ACTION_SPACE_MAP[LegalActions] = "categorical"  # value learning looks up the class of a spec here


def _draw(masks: npt.NDArray[np.bool_], uniforms: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Return a random column with True for each row, int64 ``(n,)``; ``uniforms`` are below 1."""
    count, columns = masks.shape
    places = np.flatnonzero(masks)
    bounds = np.searchsorted(places, np.arange(count + 1) * columns)
    legal = np.diff(bounds)
    if not legal.all():
        raise RuntimeError(f"game {int(legal.argmin())} has no legal action to draw from")
    drawn: npt.NDArray[np.int64] = places[bounds[:-1] + (uniforms * legal).astype(np.int64)]
    return drawn % columns


_OF_OPPONENTS = {"opponent_shares": None, "seat": "alternate"}


def make_env(
    game: str = PATCHWORK,
    num_envs: int = 64,
    *,
    opponent: Any = None,
    seed: int | None = None,
    rewards: str | None = None,
    device: Any = "cpu",
    **options: Any,
) -> GamesEnv:
    """Make an environment of TorchRL over a batch of games.

    >>> env = make_env("nmbr9", num_envs=16, players=2, seed=7)
    >>> tensordict = env.rand_step(env.reset())
    >>> tensordict["next", "player"].unique().tolist()
    [1]

    Args:
        game: ``"patchwork"`` or ``"nmbr9"``.
        num_envs: The number of games, at least 1.
        opponent: None for self-play, in which each step is a move of the current player. Otherwise the agent
            that plays for all others, or a list of agents (see :func:`patchwork_env.agents.as_agent`); each
            step is a decision of one learner in every game.
        seed: The seed of the games, ``0 ... 2**64 - 1``; None for fresh random games.
        rewards: ``"outcome"``, ``"margin"`` or ``"score"``; None for the outcome, alone the score.
        device: The device of the tensors; games are played on the CPU.
        options: Options of the game; against opponents also ``opponent_shares`` and ``seat`` of
            :class:`~patchwork_env.envs.vector.GameVectorEnv`.

    Raises:
        ValueError, UnknownOptionError, FileNotFoundError: A value, an option or an opponent is not allowed.
    """
    rules = rules_of(game)
    check_num_envs(num_envs)
    given = complete(options, {**rules.options, **({} if opponent is None else _OF_OPPONENTS)}, make_env)
    seat, shares = given.pop("seat", 0), given.pop("opponent_shares", None)
    players = rules.set_up(given, {}).players
    opponents = None
    if opponent is not None:
        opponents = opponents_of(as_agents(opponent, game=game), num_envs, players, shares)
    kind = check_rewards(rewards, players)
    batch = LearnerBatch(rules, num_envs, given, seat=seat, opponents=opponents, reward_kind=kind)
    env = GamesEnv(batch, device)
    env._set_seed(seed)
    return env


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

    A game that has ended does not change until it is reset. It has the observation of the player who would be
    next. Its ``("next", "action_mask")`` is True everywhere, because distributions need an action.

    Games are those of the game's ``SelfPlayBatch`` with the same seed, or of its vector environment against
    opponents. Random actions are drawn with PyTorch's random numbers. ``batch.states`` are the records.
    """

    def __init__(self, batch: LearnerBatch, device: Any = "cpu") -> None:
        n, rules = len(batch.states), batch.rules
        super().__init__(device=device, batch_size=(n,))
        self.batch = batch
        self._num_games, self._players = n, batch.dealer.players
        self._is_self_play = batch.opponents is None
        high = torch.from_numpy(rules.layout.upper_bounds).to(device).expand(n, -1)
        self.observation_spec = Composite(
            observation=Bounded(torch.zeros_like(high), high, dtype=torch.float32, device=device),
            action_mask=Binary(rules.num_actions, (n, rules.num_actions), dtype=torch.bool, device=device),
            player=Categorical(self._players, (n,), dtype=torch.int64, device=device),
            shape=(n,),
            device=device,
        )
        self.action_spec = LegalActions(rules.num_actions, (n,), dtype=torch.int64, device=device)
        columns = {"reward": 1, "rewards": self._players} if self._is_self_play else {"reward": 1}
        rewards = {name: Unbounded((n, count), device=device) for name, count in columns.items()}
        self.reward_spec = Composite(rewards, shape=(n,))
        ends = {
            name: Categorical(2, (n, 1), dtype=torch.bool, device=device)
            for name in ("done", "terminated", "truncated")
        }
        self.done_spec = Composite(ends, shape=(n,))

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        """Play one action in every game; an illegal one raises, and no game is changed."""
        batch = self.batch
        playing = self._flags(tensordict, "_step")
        actions, legal = batch.legality(tensordict.get("action"))
        refuse(actions, playing & ~legal)
        games = np.flatnonzero(playing)
        with batch.changing():
            batch.seats[:] = players = self._observers()
            batch.play(games, actions[games])
            batch.play_on()
        over = games[np.isin(games, batch.over())]
        rewarded = games if batch.reward_kind == SCORE else over
        terminated = np.zeros((self._num_games, 1), np.bool_)
        terminated[over] = True
        reward = self._rewards(rewarded, players)
        results = {
            "reward": reward[:, None],
            "done": terminated.copy(),
            "terminated": terminated,
            "truncated": np.zeros_like(terminated),
        }
        if self._is_self_play:
            results["rewards"] = self._rewards_of_all(rewarded, players, reward)
        return self._tensors({**self._seen(), **results})

    def _reset(self, tensordict: TensorDictBase | None = None) -> TensorDictBase:
        again = self._flags(tensordict, "_reset")
        if not again.all():
            self.batch.require_ready()
        with self.batch.changing():
            self.batch.begin(np.flatnonzero(again))
        return self._tensors(self._seen())

    def _set_seed(self, seed: int | None) -> None:
        if self._is_self_play:
            self.batch.reseed_all(check_seed(seed))
        else:
            self.batch.reseed(dict(enumerate(check_seeds(seed, self._num_games))))

    def _flags(self, tensordict: TensorDictBase | None, key: str) -> Flags:
        """Return the flags ``(n,)`` of a tensordict; all True if it has none."""
        flags = None if tensordict is None else tensordict.get(key, None)
        if flags is None:
            return np.ones(self._num_games, np.bool_)
        numbers: Flags = flags.reshape(self._num_games).cpu().numpy()
        return numbers

    def _observers(self) -> npt.NDArray[np.int64]:
        """Return the player to move in each game, or the learner."""
        if self._is_self_play:
            return self.batch.states["current_player"].astype(np.int64)
        return self.batch.seats.copy()

    def _rewards(self, games: Games, players: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        """Return the reward of one player of each listed game, float32 ``(n,)``, 0 for other games."""
        rewards = np.zeros(self._num_games)
        self.batch.seats[:] = players
        self.batch.write_rewards(games, rewards)
        return rewards.astype(np.float32)

    def _rewards_of_all(
        self, games: Games, movers: npt.NDArray[np.int64], reward: npt.NDArray[np.float32]
    ) -> npt.NDArray[np.float32]:
        """Return the rewards of all players, float32 ``(n, players)``, whose movers have a ``reward``."""
        if self.batch.reward_kind == SCORE:
            return np.where(np.arange(self._players) == movers[:, None], reward[:, None], np.float32(0))
        everyone = [np.full(self._num_games, player) for player in range(self._players)]
        return np.stack([self._rewards(games, players) for players in everyone], 1)

    def _seen(self) -> dict[str, npt.NDArray[Any]]:
        """Return observations, masks and players; of games that have ended, those at their ends."""
        batch, players = self.batch, self._observers()
        masks = np.empty((self._num_games, batch.rules.num_actions), np.int8)
        observations = np.empty((self._num_games, batch.rules.layout.size), np.float32)
        loop(batches.write_views, batch.rules)(batch.states, batch.all_games, players, masks, observations)
        masks[batch.over()] = 1
        return {"observation": observations, "action_mask": masks.view(np.bool_), "player": players}

    def _tensors(self, arrays: dict[str, npt.NDArray[Any]]) -> TensorDict:
        tensors = {name: torch.from_numpy(array).to(self.device) for name, array in arrays.items()}
        self.full_action_spec["action"].update_mask(tensors["action_mask"])
        return TensorDict(tensors, batch_size=self.batch_size, device=self.device)

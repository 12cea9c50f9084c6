"""Pgx: both games as environments for JAX, which call the compiled kernels by ``jax.pure_callback``.

>>> import jax
>>> from patchwork_env.integrations.pgx import Patchwork
>>> env = Patchwork()
>>> init, step = jax.jit(jax.vmap(env.init)), jax.jit(jax.vmap(env.step))
>>> state = init(jax.random.split(jax.random.key(0), 1024))
>>> step(state, state.legal_action_mask.argmax(-1)).observation.shape
(1024, 307)

A step of a whole batch is one callback, which runs on the host. Needs the extra ``pgx``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, cast

import numpy as np
import numpy.typing as npt

from patchwork_env import nmbr9, patchwork
from patchwork_env.core.batches import loop, write_all_rewards
from patchwork_env.core.compile import template
from patchwork_env.core.extras import from_extra
from patchwork_env.core.game import BaseGame
from patchwork_env.core.kernels import ILLEGAL, Kernels, States, rewrite_mask
from patchwork_env.core.random import Streams
from patchwork_env.core.rules import Rules
from patchwork_env.core.tensors import Observation
from patchwork_env.envs.options import ILLEGAL_REWARD, check_rewards

with from_extra("pgx", f"{__name__} needs"):
    import jax
    import jax.numpy as jnp
    from pgx import core
    from pgx._src.struct import dataclass

__all__ = ["Nmbr9", "Patchwork"]

game = cast(Kernels, None)  # each game's kernels take its place


@dataclass
class _GameState(core.State):
    """The fields of Pgx's states, and the record of our engine as bytes, uint8 ``(size of a record,)``."""

    rules: ClassVar[Rules]
    _record: Any

    @property
    def env_id(self) -> Any:
        """The name of the game."""
        return self.rules.name

    def games(self) -> list[BaseGame[Any]]:
        """Return the games of a state, or of a batch of states, as objects of the class ``Game``.

        Raises:
            ValueError: A record is not a state that a game can reach.
        """
        records = _records(self._record, self.rules)
        return [self.rules.game.from_state(records, i) for i in range(len(records))]

    def to_svg(self) -> str:
        """Return the picture of the game as SVG, or a grid of the pictures of a batch."""
        return _grid([self.rules.pictures.svg(each) for each in self.games()])

    def save_svg(self, filename: Any) -> None:
        """Write :meth:`to_svg` to a file whose name ends with ``.svg``."""
        if Path(filename).suffix != ".svg":
            raise ValueError(f"filename is {str(filename)!r}; it must end with .svg")
        Path(filename).write_text(self.to_svg(), encoding="utf-8")


@dataclass
class PatchworkState(_GameState):
    """A state of :class:`Patchwork`."""

    rules = patchwork.Game.rules


@dataclass
class Nmbr9State(_GameState):
    """A state of :class:`Nmbr9`."""

    rules = nmbr9.Game.rules


class _GameEnv(core.Env):
    """An environment of either game: one callback for ``init``, one for ``step``, one for ``observe``."""

    state_class: ClassVar[type[_GameState]]

    def __init__(self, rewards: str | None, options: Mapping[str, Any]) -> None:
        super().__init__()
        self._rules = self.state_class.rules
        self._set_up = self._rules.set_up({**self._rules.options, **options}, {})
        self._kind = check_rewards(rewards, self._set_up.players)
        self._shapes = {
            "_record": jax.ShapeDtypeStruct((self._rules.dtype.itemsize,), np.uint8),
            "current_player": jax.ShapeDtypeStruct((), np.int32),
            "legal_action_mask": jax.ShapeDtypeStruct((self._rules.num_actions,), np.bool_),
            "observation": jax.ShapeDtypeStruct((self._rules.layout.size,), np.float32),
            "rewards": jax.ShapeDtypeStruct((self.num_players,), np.float32),
            "terminated": jax.ShapeDtypeStruct((), np.bool_),
        }

    @property
    def id(self) -> Any:
        """The name of the game."""
        return self._rules.name

    @property
    def version(self) -> str:
        """The version of rules, actions, observations and rewards, as in the ids of Gymnasium."""
        return "v0"

    @property
    def num_players(self) -> int:
        """The number of players."""
        return self._set_up.players

    def init(self, key: Any) -> Any:
        """Begin a game; ``key`` seeds its random set-up."""
        bits = jax.random.bits(key, (2,), jnp.uint32)
        results = self._call(self._begin, self._shapes, bits)
        return self.state_class(truncated=jnp.bool_(False), _step_count=jnp.int32(0), **results)

    def step(self, state: Any, action: Any, key: Any = None) -> Any:
        """Play an action, with the effects of Pgx's own ``step``.

        In a game that is over, nothing changes, all rewards are 0 and the mask is true everywhere. An illegal
        action ends the game with the rewards that Pgx gives for it.

        Args:
            state: The state of one game.
            action: Any integer.
            key: The key that draws the next tile of NMBR 9. Patchwork ignores it.
        """
        bits = jnp.zeros(2, jnp.uint32) if key is None else jax.random.bits(key, (2,), jnp.uint32)
        action = jnp.asarray(action).astype(jnp.int32)
        results = self._call(
            self._play, self._shapes, state._record, action, state.terminated, state.truncated, bits
        )
        count = state._step_count + ~(state.terminated | state.truncated)
        return state.replace(_step_count=count, **results)

    def _init(self, key: Any) -> Any:
        return self.init(key)

    def _step(self, state: Any, action: Any, key: Any) -> Any:
        return self.step(state, action, key)

    def _observe(self, state: Any, player_id: Any) -> Any:
        player = jnp.asarray(player_id).astype(jnp.int32)
        return self._call(self._observe_all, ("observation",), state._record, player)["observation"]

    def _call(self, callback: Any, names: Iterable[str], *arguments: Any) -> dict[str, Any]:
        """Return the named results of a callback for one game; ``vmap`` passes it all games at once."""

        def on_batch(*given: Any) -> dict[str, Any]:
            """Merge the batch dimensions of arrays ``(*batch, length)`` and split those of the results."""
            arrays = [np.asarray(each) for each in given]
            results = callback(*(array.reshape(-1, array.shape[-1]) for array in arrays))
            batch = arrays[0].shape[:-1]
            return {name: results[name].reshape(batch + self._shapes[name].shape) for name in shapes}

        shapes = {name: self._shapes[name] for name in names}
        given = map(jnp.atleast_1d, arguments)
        return cast(dict[str, Any], jax.pure_callback(on_batch, shapes, *given, vmap_method="broadcast_all"))

    # --- callbacks, which get NumPy arrays ``(n, …)`` and must not call JAX, or they can hang ---------------

    def _new(self, name: str, n: int) -> npt.NDArray[Any]:
        return np.zeros((n, *self._shapes[name].shape), self._shapes[name].dtype)

    def _begin(self, bits: npt.NDArray[np.uint32]) -> dict[str, Any]:
        states = self._rules.empty_states(len(bits))
        masks, observations = self._new("legal_action_mask", len(bits)), self._new("observation", len(bits))
        begin, set_up = loop(_deal, self._rules), self._set_up
        begin(states, _streams(bits), set_up.initial_state, set_up.flags, masks.view(np.int8), observations)
        rewards, over = self._new("rewards", len(bits)), self._new("terminated", len(bits))
        return _results(states, masks, observations, rewards, over)

    def _play(
        self,
        record: npt.NDArray[np.uint8],
        action: npt.NDArray[np.int32],
        terminated: npt.NDArray[np.bool_],
        truncated: npt.NDArray[np.bool_],
        bits: npt.NDArray[np.uint32],
    ) -> dict[str, Any]:
        states, over = _records(record, self._rules), terminated[:, 0].copy()
        names = ("legal_action_mask", "observation", "rewards")
        masks, observations, rewards = (self._new(name, len(bits)) for name in names)
        results = over, rewards, masks.view(np.int8), observations
        loop(_step, self._rules)(states, _streams(bits), action[:, 0], truncated[:, 0], self._kind, *results)
        return _results(states, masks, observations, rewards, over)

    def _observe_all(self, record: npt.NDArray[np.uint8], player: npt.NDArray[np.int32]) -> dict[str, Any]:
        observations = self._new("observation", len(record))
        states, players = _records(record, self._rules), player[:, 0] % self.num_players
        loop(_observe, self._rules)(states, players, observations)
        return {"observation": observations}


class Patchwork(_GameEnv):
    """Patchwork for Pgx, with the actions and observations of ``Patchwork-v0``.

    Args:
        special_patches: The time track, ``"revised"`` or ``"2014"``.
        first_player: 0, 1, or ``"random"``.
        rewards: ``"outcome"``, ``"margin"`` or ``"score"``.

    Raises:
        ValueError: A value is not allowed.
    """

    state_class = PatchworkState

    def __init__(
        self, *, special_patches: str = "revised", first_player: int | str = 0, rewards: str = "outcome"
    ) -> None:
        super().__init__(rewards, {"special_patches": special_patches, "first_player": first_player})


class Nmbr9(_GameEnv):
    """NMBR 9 for Pgx, with the actions and observations of ``Nmbr9-v0``.

    Unless the order is known, each step draws the next tile with its ``key``, as Pgx's backgammon rolls dice:
    states hold no order of tiles to come, so a search cannot look ahead.

    Args:
        players: 1 to 4.
        order: ``"unknown"``, ``"known"`` or ``"free"``.
        max_digit, copies: The deck has ``copies`` tiles of each digit up to ``max_digit``.
        deck_size: The number of tiles that each player places; None for the whole deck.
        rewards: ``"outcome"``, ``"margin"`` or ``"score"``; None for the outcome, alone the score.

    Raises:
        ValueError: A value is not allowed.
    """

    state_class = Nmbr9State

    def __init__(
        self,
        *,
        players: int = 1,
        order: str = "unknown",
        max_digit: int = 9,
        copies: int = 2,
        deck_size: int | None = None,
        rewards: str | None = None,
    ) -> None:
        deck = {"max_digit": max_digit, "copies": copies, "deck_size": deck_size}
        super().__init__(rewards, {"players": players, "order": order, **deck})
        self._draws = order == "unknown"

    def step(self, state: Any, action: Any, key: Any = None) -> Any:
        """Play an action; see :meth:`Patchwork.step`. ValueError without a ``key``, which draws tiles."""
        if key is None and self._draws:
            raise ValueError("key is None; step(state, action, key) draws the next tile with it")
        return super().step(state, action, key)


# --- batches ------------------------------------------------------------------------------------------------


def _results(states: States, *arrays: npt.NDArray[Any]) -> dict[str, Any]:
    names = ("legal_action_mask", "observation", "rewards", "terminated")
    position: dict[str, Any] = {
        "_record": states.view(np.uint8),
        "current_player": states["current_player"].astype(np.int32),
    }
    return position | dict(zip(names, arrays, strict=True))


def _records(record: Any, rules: Rules) -> States:
    """Return a copy of the bytes ``(…, size of a record)`` as records ``(n,)``."""
    size = rules.dtype.itemsize
    return np.array(record, np.uint8).reshape(-1, size).view(rules.dtype).reshape(-1)


def _streams(bits: npt.NDArray[np.uint32]) -> Streams:
    """Return a random stream for each pair of words ``(n, 2)``."""
    return np.array(bits, np.uint32).view(np.uint64).reshape(-1)


@template(allocates=True)
def _deal(
    states: States,
    streams: Streams,
    initial_state: States,
    flags: int,
    masks: npt.NDArray[np.int8],
    observations: Observation,
) -> None:
    """Begin all games, and write the masks and observations of their first players."""
    legal_set, used = np.empty(game.legal_shape, np.uint64), np.empty(game.mask_words, np.uint64)
    for i in range(len(states)):
        game.deal(states, i, streams, initial_state, flags)
        game.draw(states, i, streams)
        rewrite_mask(states, i, masks[i], legal_set, used)
        game.write_observation(states, i, states[i]["current_player"], observations[i])


@template(allocates=True)
def _step(
    states: States,
    streams: Streams,
    actions: npt.NDArray[np.int32],
    truncated: npt.NDArray[np.bool_],
    kind: int,
    over: npt.NDArray[np.bool_],
    rewards: npt.NDArray[np.float32],
    masks: npt.NDArray[np.int8],
    observations: Observation,
) -> None:
    """Play one action, any integer, in each game that goes on, and write all results of a step."""
    legal_set, used = np.empty(game.legal_shape, np.uint64), np.empty(game.mask_words, np.uint64)
    for i in range(len(states)):
        if not (over[i] or truncated[i]):
            over[i] = _play(states, i, streams, actions[i], kind, rewards[i])
        if over[i]:
            masks[i, :] = 1
        else:
            rewrite_mask(states, i, masks[i], legal_set, used)
        game.write_observation(states, i, states[i]["current_player"], observations[i])


@template
def _play(
    states: States, i: int, streams: Streams, action: int, kind: int, rewards: npt.NDArray[np.float32]
) -> bool:
    """Play one action, write the rewards of all players, and return whether the game is over."""
    mover = states[i]["current_player"]
    before = game.score(states, i, mover)
    following = game.play(states, i, action)
    if following == ILLEGAL:
        rewards[:] = -ILLEGAL_REWARD * (len(rewards) - 1)
        rewards[mover] = ILLEGAL_REWARD
        return True
    game.draw(states, i, streams)
    write_all_rewards(states, i, mover, kind, before, rewards)
    return game.is_over(states, i)


@template
def _observe(states: States, players: npt.NDArray[np.int32], observations: Observation) -> None:
    """Write the observation of one player of each game."""
    for i in range(len(states)):
        game.write_observation(states, i, players[i], observations[i])


def _grid(pictures: list[str]) -> str:
    """Return one SVG document with all pictures, which have one size, side by side in a square."""
    columns = math.ceil(math.sqrt(len(pictures)))
    width, height = map(float, re.findall(r'(?:width|height)="([\d.]+)"', pictures[0])[:2])
    parts = [
        picture.replace("<svg ", f'<svg x="{i % columns * width}" y="{i // columns * height}" ', 1)
        for i, picture in enumerate(pictures)
    ]
    size = f'width="{columns * width}" height="{math.ceil(len(pictures) / columns) * height}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{"".join(parts)}</svg>'

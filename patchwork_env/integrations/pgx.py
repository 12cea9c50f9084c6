"""Pgx: both games as environments for JAX, played by the compiled kernels through ``jax.pure_callback``.

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
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal, cast

import numpy as np
import numpy.typing as npt

from patchwork_env import nmbr9, patchwork
from patchwork_env.core.batches import SCORE, final_reward, loop
from patchwork_env.core.compile import template
from patchwork_env.core.extras import from_extra
from patchwork_env.core.game import BaseGame, Rules
from patchwork_env.core.kernels import ILLEGAL, Kernels, States, write_whole_mask
from patchwork_env.core.random import Streams
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

    def to_svg(self, *, color_theme: Literal["light"] | None = None, scale: float | None = None) -> str:
        """Return our picture of the game as SVG, or a grid of the pictures of a batch.

        Args:
            color_theme: None or ``"light"``, the only one there is.
            scale: A factor for width and height.

        Raises:
            ValueError: ``color_theme`` is another one.
        """
        if color_theme not in (None, "light"):
            raise ValueError(f"color_theme is {color_theme!r}; pictures have the theme 'light' only")
        return _grid([self.rules.pictures.svg(each) for each in self.games()], scale or 1.0)

    def save_svg(self, filename: Any, **options: Any) -> None:
        """Write :meth:`to_svg` to a file whose name ends with ``.svg``."""
        if Path(filename).suffix != ".svg":
            raise ValueError(f"filename is {str(filename)!r}; it must end with .svg")
        Path(filename).write_text(self.to_svg(**options), encoding="utf-8")


@dataclass
class PatchworkState(_GameState):
    """A state of :class:`Patchwork`."""

    rules = patchwork.Game.rules


@dataclass
class Nmbr9State(_GameState):
    """A state of :class:`Nmbr9`."""

    rules = nmbr9.Game.rules


class _GameEnv(core.Env):
    """What both games share: one callback for ``init``, one for ``step``, one for ``observe``."""

    state_class: ClassVar[type[_GameState]]

    def __init__(self, rewards: str | None, options: Mapping[str, Any]) -> None:
        super().__init__()
        self._rules = self.state_class.rules
        self._set_up = self._rules.set_up({**self._rules.options, **options}, {})
        self._kind = check_rewards(rewards, self._set_up.players)

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

    @property
    def num_actions(self) -> int:
        """The number of actions."""
        return self._rules.num_actions

    @property
    def observation_shape(self) -> tuple[int, ...]:
        """The shape of an observation."""
        return (self._rules.layout.size,)

    def init(self, key: Any) -> Any:
        """Begin a game that ``key`` decides."""
        results = self._call(self._begin, jax.random.bits(key, (2,), jnp.uint32))
        no, none = jnp.bool_(False), jnp.int32(0)
        return self.state_class(terminated=no, truncated=no, _step_count=none, **results)

    def step(self, state: Any, action: Any, key: Any = None) -> Any:
        """Play an action, with the effects of Pgx's own ``step``.

        In a game that is over, nothing changes and all rewards are 0. An illegal action ends the game with
        the rewards that Pgx gives for it; the record stays as it was. The mask of a game that is over is true
        everywhere.

        Args:
            state: The state of one game.
            action: Any integer.
            key: Decides what chance decides; Patchwork, where nothing is left to chance, ignores it.
        """
        done = state.terminated | state.truncated
        bits = jnp.zeros(2, jnp.uint32) if key is None else jax.random.bits(key, (2,), jnp.uint32)
        action = jnp.asarray(action).astype(jnp.int32)
        results = self._call(self._play, state._record, action, done, bits)
        count = state._step_count + ~done
        over = results.pop("over")
        return state.replace(terminated=state.terminated | over, _step_count=count, **results)

    def _init(self, key: Any) -> Any:
        return self.init(key)

    def _step(self, state: Any, action: Any, key: Any) -> Any:
        return self.step(state, action, key)

    def _observe(self, state: Any, player_id: Any) -> Any:
        return self._call(self._look, state._record, jnp.asarray(player_id).astype(jnp.int32))["observation"]

    # --- callbacks, which get NumPy arrays ``(n, …)`` and must not call JAX, or they can hang ---------------

    def _call(self, callback: Any, *arguments: Any) -> dict[str, Any]:
        """The results of a callback for one game, by name; under ``vmap`` it gets all games at once."""
        shapes = {
            name: jax.ShapeDtypeStruct(shape, kind) for name, (shape, kind) in self._results(callback).items()
        }
        results: dict[str, Any] = jax.pure_callback(
            partial(_on_batch, callback), shapes, *map(jnp.atleast_1d, arguments), vmap_method="broadcast_all"
        )
        return results

    def _results(self, callback: Any) -> dict[str, tuple[tuple[int, ...], Any]]:
        rules = self._rules
        observation = {"observation": (self.observation_shape, np.float32)}
        if callback == self._look:
            return observation
        position = observation | {
            "_record": ((rules.dtype.itemsize,), np.uint8),
            "current_player": ((), np.int32),
            "legal_action_mask": ((rules.num_actions,), np.bool_),
            "rewards": ((self.num_players,), np.float32),
        }
        return position | ({"over": ((), np.bool_)} if callback == self._play else {})

    def _arrays(self, states: States, **further: Any) -> dict[str, Any]:
        """Fresh arrays for the results of a callback, of which ``_record`` is the memory of ``states``."""
        n, rules = len(states), self._rules
        return {
            "_record": states.view(np.uint8).reshape(n, -1),
            "legal_action_mask": np.empty((n, rules.num_actions), np.bool_),
            "observation": np.empty((n, rules.layout.size), np.float32),
            "rewards": np.zeros((n, self.num_players), np.float32),
            **further,
        }

    def _begin(self, bits: npt.NDArray[np.uint32]) -> dict[str, Any]:
        states = self._rules.empty_states(len(bits))
        results = self._arrays(states)
        loop(_deal, self._rules)(
            states,
            _streams(bits),
            self._set_up.initial_state,
            self._set_up.flags,
            results["legal_action_mask"].view(np.int8),
            results["observation"],
        )
        return results | {"current_player": states["current_player"].astype(np.int32)}

    def _play(
        self,
        record: npt.NDArray[np.uint8],
        action: npt.NDArray[np.int32],
        done: npt.NDArray[np.bool_],
        bits: npt.NDArray[np.uint32],
    ) -> dict[str, Any]:
        states = _records(record, self._rules)
        results = self._arrays(states, over=done[:, 0].copy())
        loop(_step, self._rules)(
            states,
            _streams(bits),
            action[:, 0],
            self._kind,
            results["over"],
            results["rewards"],
            results["legal_action_mask"].view(np.int8),
            results["observation"],
        )
        return results | {"current_player": states["current_player"].astype(np.int32)}

    def _look(self, record: npt.NDArray[np.uint8], player: npt.NDArray[np.int32]) -> dict[str, Any]:
        states = _records(record, self._rules)
        observation = np.empty((len(states), self._rules.layout.size), np.float32)
        loop(_observe, self._rules)(states, player[:, 0] % self.num_players, observation)
        return {"observation": observation}


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


def _on_batch(callback: Any, *arguments: Any) -> dict[str, Any]:
    """Call a callback, whose arrays have the shape ``(n, …)``, with arrays ``(*batch, length)``."""
    arrays = [np.asarray(argument) for argument in arguments]
    batch = arrays[0].shape[:-1]
    results = callback(*(array.reshape(-1, array.shape[-1]) for array in arrays))
    return {name: result.reshape((*batch, *result.shape[1:])) for name, result in results.items()}


def _records(record: Any, rules: Rules) -> States:
    """A copy of the bytes ``(…, size of a record)`` as records ``(n,)``."""
    size = rules.dtype.itemsize
    return np.array(record, np.uint8).reshape(-1, size).view(rules.dtype).reshape(-1)


def _streams(bits: npt.NDArray[np.uint32]) -> Streams:
    """A random stream for each pair of words ``(n, 2)``."""
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
    """Begin all games, and write what their first players see and may do."""
    legal_set, used = np.empty(game.legal_shape, np.uint64), np.empty(game.mask_words, np.uint64)
    for i in range(len(states)):
        game.deal(states, i, streams, initial_state, flags)
        game.draw(states, i, streams)
        write_whole_mask(states, i, masks[i], legal_set, used)
        game.write_observation(states, i, states[i]["current_player"], observations[i])


@template(allocates=True)
def _step(
    states: States,
    streams: Streams,
    actions: npt.NDArray[np.int32],
    kind: int,
    over: npt.NDArray[np.bool_],
    rewards: npt.NDArray[np.float32],
    masks: npt.NDArray[np.int8],
    observations: Observation,
) -> None:
    """Play one action, any integer, in each game that is not ``over``, and write all results of a step."""
    legal_set, used = np.empty(game.legal_shape, np.uint64), np.empty(game.mask_words, np.uint64)
    for i in range(len(states)):
        if not over[i]:
            over[i] = _play(states, i, streams, actions[i], kind, rewards[i])
        if over[i]:
            masks[i, :] = 1
        else:
            write_whole_mask(states, i, masks[i], legal_set, used)
        game.write_observation(states, i, states[i]["current_player"], observations[i])


@template
def _play(
    states: States, i: int, streams: Streams, action: int, kind: int, rewards: npt.NDArray[np.float32]
) -> bool:
    """Plays one action, writes the rewards of all players, and returns whether the game is over."""
    mover = states[i]["current_player"]
    before = game.score(states, i, mover)
    following = game.play(states, i, action)
    if following == ILLEGAL:
        rewards[:] = -ILLEGAL_REWARD * (len(rewards) - 1)
        rewards[mover] = ILLEGAL_REWARD
        return True
    game.draw(states, i, streams)
    is_over = game.is_over(states, i)
    if kind == SCORE:
        rewards[mover] = game.score(states, i, mover) - before
    elif is_over:
        for player in range(len(rewards)):
            rewards[player] = final_reward(states, i, player, kind)
    return is_over


@template
def _observe(states: States, players: npt.NDArray[np.int32], observations: Observation) -> None:
    """Writes what one player of each game sees."""
    for i in range(len(states)):
        game.write_observation(states, i, players[i], observations[i])


# --- pictures -----------------------------------------------------------------------------------------------


def _grid(pictures: list[str], scale: float) -> str:
    """One SVG document with all pictures, which have one size, side by side in a square."""
    columns = math.ceil(math.sqrt(len(pictures)))
    width, height = map(float, re.findall(r'(?:width|height)="([\d.]+)"', pictures[0])[:2])
    parts = [
        picture.replace("<svg ", f'<svg x="{i % columns * width}" y="{i // columns * height}" ', 1)
        for i, picture in enumerate(pictures)
    ]
    whole = columns * width, math.ceil(len(pictures) / columns) * height
    size = f'width="{whole[0] * scale}" height="{whole[1] * scale}" viewBox="0 0 {whole[0]} {whole[1]}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{"".join(parts)}</svg>'

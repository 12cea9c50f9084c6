"""The environments of NMBR 9 for PettingZoo, Gymnasium and batched self-play.

``env()`` makes a :class:`Nmbr9AECEnv` that enforces the order of calls, ``raw_env()`` one that does not, and
``parallel_env()`` a :class:`Nmbr9ParallelEnv`. Gymnasium makes :class:`Nmbr9Env` and :class:`Nmbr9VectorEnv`
by the name ``Nmbr9-v0``.

**Actions**: ``Discrete(16394)``, see :mod:`~patchwork_env.nmbr9.actions`. In free order every round has two
turns of every player: first all choose a tile, then all place it.

**Observations**, masks, unknown options and copies are as in :mod:`~patchwork_env.patchwork_v0`; see
:mod:`~patchwork_env.nmbr9.observation` for their sizes.

**Rewards**: ``"score"``, the default for one player, gives the points of each placement, digit times level,
to the player who makes it. The other kinds are 0 until the game ends. ``"outcome"``, the default for several
players, is then 1 for a sole winner and ``-1 / (n - 1)`` for each of the others. Winners with equal scores
share the gain, so that all rewards add up to 0. ``"margin"`` is the own score minus the best score of the
others, divided by 100.

**Options** are keyword arguments. Those of NMBR 9 are ``players``, ``order``, ``max_digit``, ``copies``,
``deck_size`` and ``deck``, as in :class:`~patchwork_env.nmbr9.Game`; ``reset`` takes a ``deck`` for one game.
The others are those of all games, see :class:`~patchwork_env.envs.single.GameEnv`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict, Unpack

from patchwork_env.agents import as_agent, as_agents
from patchwork_env.core.checks import check_between
from patchwork_env.envs import self_play
from patchwork_env.envs.options import AECOptions, BatchOptions, SingleOptions, VectorOptions, list_options
from patchwork_env.envs.pettingzoo import GameAECEnv, GameParallelEnv, WrappedAECEnv
from patchwork_env.envs.single import GameEnv
from patchwork_env.envs.vector import GameVectorEnv
from patchwork_env.nmbr9.components import MAX_PLAYERS
from patchwork_env.nmbr9.rules import RULES

__all__ = [
    "Nmbr9AECEnv",
    "Nmbr9Env",
    "Nmbr9ParallelEnv",
    "Nmbr9VectorEnv",
    "SelfPlayBatch",
    "env",
    "parallel_env",
    "raw_env",
]


class Nmbr9Options(TypedDict, total=False):
    """The options of NMBR 9."""

    players: int
    order: Literal["unknown", "known", "free"]
    max_digit: int
    copies: int
    deck_size: int | None
    deck: Sequence[int] | None


class _AEC(Nmbr9Options, AECOptions, total=False):
    """The options of :class:`Nmbr9AECEnv`."""


class _Single(Nmbr9Options, SingleOptions, total=False):
    """The options of :class:`Nmbr9Env`."""


class _Vector(Nmbr9Options, VectorOptions, total=False):
    """The options of :class:`Nmbr9VectorEnv`."""


class _Batch(Nmbr9Options, BatchOptions, total=False):
    """The options of :class:`SelfPlayBatch`."""


class Nmbr9AECEnv(GameAECEnv):
    """NMBR 9 for 1-4 players: an illegal action raises an error and changes nothing.

    >>> from patchwork_env import nmbr9_v0
    >>> env = nmbr9_v0.raw_env(players=2)
    >>> env.reset(seed=7)
    >>> for agent in env.agent_iter():
    ...     observation, reward, terminated, truncated, info = env.last()
    ...     over = terminated or truncated
    ...     env.step(None if over else env.action_space(agent).sample(observation["action_mask"]))

    All players get the same cards, and placements become visible when all have placed the tile. An
    observation is ``{"observation": …, "action_mask": …}``. :meth:`state` is the view of ``player_0`` as
    one vector, whatever the current player.
    """

    @list_options(GameAECEnv, RULES)
    def __init__(self, render_mode: str | None = None, **options: Unpack[_AEC]) -> None:
        super().__init__(RULES, render_mode, **options)


raw_env = Nmbr9AECEnv


@list_options(GameAECEnv, RULES, illegal_action="terminate")
def env(render_mode: str | None = None, **options: Unpack[_AEC]) -> WrappedAECEnv:
    """Make an environment that enforces the order of calls; an illegal action ends its game by default."""
    return raw_env.wrapped(render_mode, **options)


class Nmbr9ParallelEnv(GameParallelEnv):
    """NMBR 9 for 1-4 players who act at the same time, as they do at a real table.

    >>> from patchwork_env import nmbr9_v0
    >>> env = nmbr9_v0.parallel_env(players=3)
    >>> observations, infos = env.reset(seed=7)
    >>> while env.agents:
    ...     masks = {agent: seen["action_mask"] for agent, seen in observations.items()}
    ...     actions = {agent: env.action_space(agent).sample(masks[agent]) for agent in env.agents}
    ...     observations, rewards, terminations, truncations, infos = env.step(actions)

    The game is that of :class:`Nmbr9AECEnv`. Every agent's mask holds its legal actions in every step.
    """

    @list_options(GameAECEnv, RULES)
    def __init__(self, render_mode: str | None = None, **options: Unpack[_AEC]) -> None:
        super().__init__(RULES, render_mode, **options)


parallel_env = Nmbr9ParallelEnv


def _or_random(opponent: Any, options: Mapping[str, Any]) -> Any:
    """Return the opponent, by default ``"random"`` in games for several players."""
    players = check_between(options.get("players", 1), 1, MAX_PLAYERS, "players")
    return "random" if opponent is None and players > 1 else opponent


class Nmbr9Env(GameEnv):
    """One player places tiles for a high score, or plays NMBR 9 against opponents.

    >>> import gymnasium
    >>> env = gymnasium.make("patchwork_env:Nmbr9-v0")
    >>> observation, info = env.reset(seed=7)
    >>> terminated = truncated = False
    >>> while not (terminated or truncated):
    ...     action = env.action_space.sample(info["action_mask"])
    ...     observation, reward, terminated, truncated, info = env.step(action)

    The opponent, by default ``"random"``, plays for all other players; a game for one player has none. Specs,
    illegal actions and ``info`` are as in :class:`~patchwork_env.patchwork_v0.PatchworkEnv`.
    """

    @list_options(GameEnv, RULES)
    def __init__(self, opponent: Any = None, **options: Unpack[_Single]) -> None:
        given = _or_random(opponent, options)
        super().__init__(RULES, None if given is None else as_agent(given, game=RULES.name), **options)

    def set_opponent(self, opponent: Any) -> None:
        """Change the opponent, a spec or an agent, of games that begin from now on."""
        super().set_opponent(as_agent(opponent, game=RULES.name))


class Nmbr9VectorEnv(GameVectorEnv):
    """``num_envs`` games of NMBR 9; all rules run compiled, over the whole batch.

    >>> import gymnasium
    >>> import numpy as np
    >>> envs = gymnasium.make_vec("patchwork_env:Nmbr9-v0", num_envs=64)
    >>> observations, infos = envs.reset(seed=7)
    >>> actions = [np.flatnonzero(mask)[-1] for mask in infos["action_mask"]]
    >>> observations, rewards, terminations, truncations, infos = envs.step(actions)

    Each game is that of a :class:`Nmbr9Env`; see :class:`~patchwork_env.envs.vector.GameVectorEnv`.
    """

    @list_options(GameVectorEnv, RULES)
    def __init__(self, num_envs: int = 1, opponent: Any = None, **options: Unpack[_Vector]) -> None:
        given = _or_random(opponent, options)
        agents = None if given is None else as_agents(given, game=RULES.name)
        super().__init__(RULES, num_envs, agents, **options)

    def set_opponents(
        self, opponents: Any, shares: Sequence[float] | None = None, *, at_once: bool = False
    ) -> None:
        """Change the opponents, specs or agents; see :meth:`~patchwork_env.envs.vector.GameVectorEnv`."""
        super().set_opponents(as_agents(opponents, game=RULES.name), shares, at_once=at_once)


class SelfPlayBatch(self_play.SelfPlayBatch):
    """Plays ``num_envs`` games of NMBR 9 at once, each step with one action of every current player.

    >>> from patchwork_env.nmbr9_v0 import SelfPlayBatch
    >>> env = SelfPlayBatch(4, seed=1)
    >>> for _ in range(100):
    ...     env.step(env.random_actions)
    >>> env.masks.shape
    (4, 16394)

    See :class:`~patchwork_env.envs.self_play.SelfPlayBatch` for its arrays and its further options.
    """

    @list_options(self_play.SelfPlayBatch, RULES)
    def __init__(self, num_envs: int, **options: Unpack[_Batch]) -> None:
        super().__init__(RULES, num_envs, **options)

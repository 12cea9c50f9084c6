"""The environments of Patchwork for PettingZoo, Gymnasium and batched self-play.

``env()`` makes a :class:`PatchworkAECEnv` that enforces the order of calls, ``raw_env()`` one that does not.
Gymnasium makes :class:`PatchworkEnv` and :class:`PatchworkVectorEnv` by the name ``Patchwork-v0``.

**Actions**: ``Discrete(2026)``, see :mod:`~patchwork_env.patchwork.actions`.

**Observations**, from the view of the agent that gets them, are one float32 vector or named float32 tensors
of the same content, see :mod:`~patchwork_env.patchwork.observation`. The action mask is int8 ``(2026,)``: 1
for legal actions, all zeros out of turn.

**Rewards** are 0 until the game ends. Then ``"outcome"`` is 1 for the winner and -1 for the loser, and
``"margin"`` is the own score minus the other player's, divided by 100. ``"score"`` instead rewards every move
at once by the change of the own score. Episodes are never truncated.

**Options** are keyword arguments. ``special_patches`` is the print of the time track, ``"revised"`` (default)
or ``"2014"``. ``first_player`` is the player who starts: 0 (default), 1 or ``"random"``. The others are those
of all games, see :class:`~patchwork_env.envs.single.GameEnv`. An unknown option is a TypeError, a wrong value
a ValueError; both messages list what is allowed.

**Options of** ``reset``: ``circle``, all 33 patch indices clockwise from the neutral token with the 1x2 patch
(0) last; ``first_player``.

Copies (``copy.deepcopy``) continue exactly like the original, as do pickles if the opponent can be pickled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypedDict, Unpack

from patchwork_env.agents import as_agent, as_agents
from patchwork_env.envs import self_play
from patchwork_env.envs.options import AECOptions, BatchOptions, SingleOptions, VectorOptions, list_options
from patchwork_env.envs.pettingzoo import GameAECEnv, WrappedAECEnv
from patchwork_env.envs.single import GameEnv
from patchwork_env.envs.vector import GameVectorEnv
from patchwork_env.patchwork.rules import RULES

__all__ = ["PatchworkAECEnv", "PatchworkEnv", "PatchworkVectorEnv", "SelfPlayBatch", "env", "raw_env"]


class PatchworkOptions(TypedDict, total=False):
    """The options of Patchwork."""

    special_patches: Literal["revised", "2014"]
    first_player: int | Literal["random"]


class _AEC(PatchworkOptions, AECOptions, total=False):
    """The options of :class:`PatchworkAECEnv`."""


class _Single(PatchworkOptions, SingleOptions, total=False):
    """The options of :class:`PatchworkEnv`."""


class _Vector(PatchworkOptions, VectorOptions, total=False):
    """The options of :class:`PatchworkVectorEnv`."""


class _Batch(PatchworkOptions, BatchOptions, total=False):
    """The options of :class:`SelfPlayBatch`."""


class PatchworkAECEnv(GameAECEnv):
    """Two-player Patchwork: an illegal action raises an error and changes nothing.

    >>> from patchwork_env import patchwork_v0
    >>> env = patchwork_v0.raw_env()
    >>> env.reset(seed=7)
    >>> for number, agent in enumerate(env.possible_agents):
    ...     _ = env.action_space(agent).seed(number)  # the random actions below
    >>> for agent in env.agent_iter():
    ...     observation, reward, terminated, truncated, info = env.last()
    ...     over = terminated or truncated
    ...     env.step(None if over else env.action_space(agent).sample(observation["action_mask"]))

    The player further back on the time track moves, so ``agent_selection`` may stay the same for several
    moves. An observation is ``{"observation": …, "action_mask": …}``. :meth:`state` is the view of
    ``player_0`` as one vector, whatever the current player; it holds the complete state.
    """

    @list_options(GameAECEnv, RULES)
    def __init__(self, render_mode: str | None = None, **options: Unpack[_AEC]) -> None:
        super().__init__(RULES, render_mode, **options)


raw_env = PatchworkAECEnv


@list_options(GameAECEnv, RULES, illegal_action="terminate")
def env(render_mode: str | None = None, **options: Unpack[_AEC]) -> WrappedAECEnv:
    """Make an environment that enforces the order of calls; an illegal action ends its game by default."""
    return raw_env.wrapped(render_mode, **options)


class PatchworkEnv(GameEnv):
    """A learner plays Patchwork against an opponent, whose moves are part of each ``reset`` and ``step``.

    >>> import gymnasium
    >>> env = gymnasium.make("patchwork_env:Patchwork-v0", opponent="greedy", seat="alternate")
    >>> observation, info = env.reset(seed=7)
    >>> terminated = False
    >>> while not terminated:
    ...     action = env.action_space.sample(info["action_mask"])
    ...     observation, reward, terminated, truncated, info = env.step(action)

    An illegal action ends the episode with a reward of -1. ``info`` always holds ``action_mask``, ``seat``,
    ``scores`` and ``illegal_action``: see :class:`~patchwork_env.envs.single.GameEnv`.

    Args:
        opponent: The opponent: ``"random"``, ``"greedy"`` or another spec, the path of a checkpoint, an
            agent, or a function that takes a ``Game`` and returns a legal action.
        options: Those of the game and of :class:`~patchwork_env.envs.single.GameEnv`. With the default
            ``seat="alternate"``, the learner starts with seat 1 after an odd seed and 0 after an even one.

    FileNotFoundError if the opponent is the path of a checkpoint that does not exist.
    """

    @list_options(GameEnv, RULES)
    def __init__(self, opponent: Any = "random", **options: Unpack[_Single]) -> None:
        super().__init__(RULES, as_agent(opponent, game=RULES.name), **options)

    def set_opponent(self, opponent: Any) -> None:
        """Change the opponent, a spec or an agent, of games that begin from now on."""
        super().set_opponent(as_agent(opponent, game=RULES.name))


class PatchworkVectorEnv(GameVectorEnv):
    """``num_envs`` games of Patchwork, each a learner against an opponent, in compiled calls.

    >>> import gymnasium
    >>> envs = gymnasium.make_vec("patchwork_env:Patchwork-v0", num_envs=64, opponent="greedy")
    >>> observations, infos = envs.reset(seed=7)
    >>> actions = infos["action_mask"].argmax(axis=1)
    >>> observations, rewards, terminations, truncations, infos = envs.step(actions)

    Each game is that of a :class:`PatchworkEnv`; ``opponent`` may also be a list.
    :class:`~patchwork_env.envs.vector.GameVectorEnv` describes seeds, ``opponent_shares`` and
    ``autoreset_mode``.
    """

    @list_options(GameVectorEnv, RULES)
    def __init__(self, num_envs: int = 1, opponent: Any = "random", **options: Unpack[_Vector]) -> None:
        super().__init__(RULES, num_envs, as_agents(opponent, game=RULES.name), **options)

    def set_opponents(
        self, opponents: Any, shares: Sequence[float] | None = None, *, at_once: bool = False
    ) -> None:
        """Change the opponents, specs or agents; see :meth:`~patchwork_env.envs.vector.GameVectorEnv`."""
        super().set_opponents(as_agents(opponents, game=RULES.name), shares, at_once=at_once)


class SelfPlayBatch(self_play.SelfPlayBatch):
    """Plays ``num_envs`` games of Patchwork at once, each step with one action of every current player.

    >>> from patchwork_env.patchwork_v0 import SelfPlayBatch
    >>> env = SelfPlayBatch(4, seed=1)
    >>> for _ in range(100):
    ...     env.step(env.random_actions)
    >>> env.masks.shape
    (4, 2026)

    See :class:`~patchwork_env.envs.self_play.SelfPlayBatch` for its arrays and its further options.
    """

    @list_options(self_play.SelfPlayBatch, RULES)
    def __init__(self, num_envs: int, **options: Unpack[_Batch]) -> None:
        super().__init__(RULES, num_envs, **options)

"""The environments of NMBR 9.

``env()``, ``raw_env()`` and ``parallel_env()`` are its PettingZoo environments: with the order of calls
enforced, without, and with all players acting at once; all take the options of :class:`Nmbr9AECEnv`.
:class:`Nmbr9Env` and :class:`Nmbr9VectorEnv` are its Gymnasium environments, which Gymnasium makes by the
name ``Nmbr9-v0``. :class:`SelfPlayVectorEnv` plays many games at once.
"""

from __future__ import annotations

from typing import Any

from patchwork_env.envs.aec import GameAECEnv
from patchwork_env.envs.parallel import GameParallelEnv
from patchwork_env.envs.self_play import SelfPlayBatch
from patchwork_env.envs.single import GameEnv
from patchwork_env.envs.vector import GameVectorEnv
from patchwork_env.nmbr9.rules import RULES

__all__ = [
    "Nmbr9AECEnv",
    "Nmbr9Env",
    "Nmbr9ParallelEnv",
    "Nmbr9VectorEnv",
    "SelfPlayVectorEnv",
    "env",
    "parallel_env",
    "raw_env",
]


class Nmbr9AECEnv(GameAECEnv):
    """NMBR 9 for 1-4 players: an illegal action raises an error and changes nothing.

    >>> from patchwork_env import nmbr9_v0
    >>> env = nmbr9_v0.raw_env(players=2)
    >>> env.reset(seed=7)
    >>> for agent in env.agent_iter():
    ...     observation, reward, terminated, truncated, info = env.last()
    ...     over = terminated or truncated
    ...     env.step(None if over else env.action_space(agent).sample(observation["action_mask"]))

    **Agents**: ``player_0`` ... ``player_3``, who move one after the other. All get the same cards, and
    nobody sees where the others put a tile before all have put theirs.

    **Actions**: ``Discrete(16394)``, see :mod:`~patchwork_env.nmbr9.actions`. In free order every round has
    two turns of every player: first all choose a tile, then all place it.

    **Observations**: ``{"observation": …, "action_mask": …}`` from the view of the agent that gets them. The
    mask is int8 ``(16394,)``, 1 for the legal actions, all zeros for an agent that is not to move. See
    :mod:`~patchwork_env.nmbr9.observation` for the rest.

    **Rewards**: with ``"score"`` the points that a placement is worth, at once and for its player alone. With
    ``"outcome"`` nothing until the game ends; then 1 for a sole winner and ``-1 / (n - 1)`` for each of the
    others; winners with equal scores share their gain, so that all rewards add up to 0. With ``"margin"``, at
    the end, the own score less the best of the others, divided by 100.

    **Options of** :meth:`reset`: ``deck``, the digits in the order in which they come.

    **State**: :meth:`state` is what ``player_0`` sees, as one vector, whoever is to move.

    Copies (``copy.deepcopy``) and pickles go on exactly like the original.

    Args:
        render_mode: How to show games: ``"human"``, ``"ansi"``, ``"rgb_array"`` or None.
        options: ``players``: 1-4 (default 2); ``observation``: ``"flat"`` (default), one float32 vector, or
            ``"dict"``, named float32 tensors of the same content; ``rewards``: by default ``"score"`` with
            one player and ``"outcome"`` with several; and those of :class:`~patchwork_env.nmbr9.game.Game`:
            ``order``, ``max_digit``, ``copies``, ``deck_size``, and ``deck`` for all games.

    Raises:
        ValueError: An option is unknown or its value not allowed, such as ``"outcome"`` with one player.
    """

    def __init__(self, render_mode: str | None = None, **options: Any) -> None:
        super().__init__(RULES, render_mode, **options)


env = Nmbr9AECEnv.wrapped
raw_env = Nmbr9AECEnv


class Nmbr9ParallelEnv(GameParallelEnv):
    """NMBR 9 for 1-4 players who act at the same time, as they do at a real table.

    >>> from patchwork_env import nmbr9_v0
    >>> env = nmbr9_v0.parallel_env(players=3)
    >>> observations, infos = env.reset(seed=7)
    >>> while env.agents:
    ...     masks = {agent: seen["action_mask"] for agent, seen in observations.items()}
    ...     actions = {agent: env.action_space(agent).sample(masks[agent]) for agent in env.agents}
    ...     observations, rewards, terminations, truncations, infos = env.step(actions)

    Spaces, rewards and options are those of :class:`Nmbr9AECEnv`, and so is the game. Every agent's mask
    holds its legal actions in every step, until the game is over.

    Args:
        render_mode: How to show games: ``"human"``, ``"ansi"``, ``"rgb_array"`` or None.
        options: The other options of :class:`Nmbr9AECEnv`.

    Raises:
        ValueError: An option is unknown or its value not allowed.
    """

    def __init__(self, render_mode: str | None = None, **options: Any) -> None:
        super().__init__(RULES, render_mode, **options)


parallel_env = Nmbr9ParallelEnv


class Nmbr9Env(GameEnv):
    """One player places tiles for a high score, or plays NMBR 9 against opponents.

    >>> import gymnasium
    >>> env = gymnasium.make("patchwork_env:Nmbr9-v0")
    >>> observation, info = env.reset(seed=7)
    >>> terminated = truncated = False
    >>> while not (terminated or truncated):
    ...     action = env.action_space.sample(info["action_mask"])
    ...     observation, reward, terminated, truncated, info = env.step(action)

    **Actions**: ``Discrete(16394)``, see :mod:`~patchwork_env.nmbr9.actions`. An illegal action ends the
    episode with a reward of -1.

    **Observations**: one float32 vector or named tensors, see :mod:`~patchwork_env.nmbr9.observation`.

    **Rewards**: with one player the points of every placement, digit times level, so that the return is the
    score (``"score"``). Against others 0 until the game ends, and then the reward of :class:`Nmbr9AECEnv`
    (``"outcome"`` or ``"margin"``), unless ``"score"`` is asked for.

    **Info**: ``action_mask``, ``seat``, ``scores`` and ``illegal_action``, always: see
    :class:`~patchwork_env.envs.single.GameEnv`.

    **Options of** :meth:`reset`: ``deck``, the digits in the order in which they come.

    Copies (``copy.deepcopy``) and pickles go on exactly like the original.

    Args:
        opponent: The opponent, which plays for all other players: a spec, an agent or a function, as for
            :class:`~patchwork_env.patchwork_v0.PatchworkEnv`.
        options: ``players``: 1-4 (default 1); ``seat``: a player number, ``"alternate"`` (default) or
            ``"random"``; ``illegal_action``: ``"terminate"`` (default) the episode, or ``"raise"`` an error
            and change nothing; ``rewards``; ``observation``: ``"flat"`` (default) or ``"dict"``; ``order``,
            ``max_digit``, ``copies``, ``deck_size``, ``deck``: see :class:`Nmbr9AECEnv`; ``render_mode``:
            ``"human"``, ``"ansi"``, ``"rgb_array"`` or None (default).

    Raises:
        ValueError: An option is unknown or its value not allowed.
    """

    def __init__(self, opponent: Any = "random", **options: Any) -> None:
        from patchwork_env.agents import as_agent

        super().__init__(RULES, as_agent(opponent, game=RULES.name), **options)


class Nmbr9VectorEnv(GameVectorEnv):
    """``num_envs`` games of NMBR 9; all rules run compiled, over the whole batch.

    >>> import gymnasium
    >>> import numpy as np
    >>> envs = gymnasium.make_vec("patchwork_env:Nmbr9-v0", num_envs=64)
    >>> observations, infos = envs.reset(seed=7)
    >>> actions = [np.flatnonzero(mask)[-1] for mask in infos["action_mask"]]
    >>> observations, rewards, terminations, truncations, infos = envs.step(actions)

    Each game is that of a :class:`Nmbr9Env`, with the same spaces, rewards, infos and options, and all is
    laid out as in Gymnasium's own vector environments. See
    :class:`~patchwork_env.envs.vector.GameVectorEnv` for seeds, and for how a game follows the one before.

    Args:
        num_envs: The number of games, at least 1.
        opponent: The opponent, see :class:`Nmbr9Env`, or several in a list.
        options: The options of :class:`Nmbr9Env`, and ``copy``: whether observations and
            ``action_mask`` are fresh arrays (True, the default), or are overwritten by the next call;
            ``opponent_shares``, the relative share of the games for each of several opponents;
            ``autoreset_mode``: ``"SameStep"`` (default), ``"NextStep"``, ``"Disabled"`` or an
            ``AutoresetMode``. ``render_mode`` is ``"ansi"``, ``"rgb_array"`` or None.

    Raises:
        ValueError: An option is unknown or its value not allowed.
    """

    def __init__(self, num_envs: int = 1, opponent: Any = "random", **options: Any) -> None:
        from patchwork_env.agents import as_agents

        super().__init__(RULES, num_envs, as_agents(opponent, game=RULES.name), **options)


class SelfPlayVectorEnv(SelfPlayBatch):
    """Plays ``num_envs`` games of NMBR 9 at once, each step with one action of every current player.

    >>> from patchwork_env.nmbr9_v0 import SelfPlayVectorEnv
    >>> env = SelfPlayVectorEnv(4, seed=1)
    >>> for _ in range(100):
    ...     env.step(env.random_actions)
    >>> env.masks.shape
    (4, 16394)

    See :class:`~patchwork_env.envs.self_play.SelfPlayBatch` for its arrays: ``states``, ``observations``,
    ``masks``, ``counts``, ``random_actions``, ``rewards``, ``terminations``, ``truncations`` and
    ``final_scores``.

    Args:
        num_envs: The number of games, at least 1.
        options: ``seed``, ``rewards``, ``masks``, ``observations``, ``threads``: see
            :class:`~patchwork_env.envs.self_play.SelfPlayBatch`; ``players``: 1-4 (default 1); ``order``,
            ``max_digit``, ``copies``, ``deck_size``: see :class:`~patchwork_env.nmbr9.game.Game`; ``deck``:
            that of every game, instead of random ones.

    Raises:
        ValueError: An option is unknown or its value not allowed.
    """

    def __init__(self, num_envs: int, **options: Any) -> None:
        super().__init__(RULES, num_envs, **options)

"""Options of environments: their types, signatures and validation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, signature
from typing import Any, Literal, TypedDict, TypeVar, get_args, get_type_hints

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode

from patchwork_env.core.batches import OUTCOME, REWARDS, SCORE
from patchwork_env.core.checks import NUM_SEEDS, check_between, check_one_of, check_seed
from patchwork_env.core.names import short_repr, unknown_option
from patchwork_env.core.rules import Rules

ILLEGAL_ACTION = ("terminate", "raise")
"""The effects of an illegal action: end the episode, or raise an error and change nothing."""
ILLEGAL_REWARD = -1.0  # the learner's reward for an illegal action that ends the episode
NO_ACTION = -1  # the value of ``illegal_action`` in infos if no illegal action ended the game
MOST_DEALS = 100  # games in a row that may end before the learner's first turn
NO_TURN = f"{MOST_DEALS} games in a row were over before the learner's first turn"

_Function = TypeVar("_Function", bound=Callable[..., Any])


class AECOptions(TypedDict, total=False):
    """The options of :class:`~patchwork_env.envs.pettingzoo.GameAECEnv`, besides those of the game."""

    observation: Literal["flat", "dict"]
    rewards: Literal["outcome", "margin", "score"] | None
    illegal_action: Literal["terminate", "raise"]


class SingleOptions(AECOptions, total=False):
    """The options of :class:`~patchwork_env.envs.single.GameEnv`, besides those of the game."""

    seat: int | Literal["alternate", "random"]
    render_mode: Literal["human", "ansi", "rgb_array"] | None


class VectorOptions(AECOptions, total=False):
    """The options of :class:`~patchwork_env.envs.vector.GameVectorEnv`, besides those of the game."""

    seat: int | Literal["alternate", "random"]
    opponent_shares: Sequence[float] | None
    autoreset_mode: AutoresetMode | Literal["NextStep", "SameStep", "Disabled"]
    render_mode: Literal["ansi", "rgb_array"] | None


class BatchOptions(TypedDict, total=False):
    """The options of :class:`~patchwork_env.envs.self_play.SelfPlayBatch`, besides those of the game."""

    seed: int | None
    rewards: Literal["outcome", "margin", "score"] | None
    masks: bool
    observations: bool


def list_options(base: Callable[..., Any], rules: Rules, **changed: Any) -> Callable[[_Function], _Function]:
    """Decorate a function with ``**options: Unpack[…]``, so that its signature lists each option.

    Names and types come from the ``TypedDict``. Defaults come from ``changed``, the rules, or ``base``, to
    which the function passes the options.
    """
    defaults = {name: parameter.default for name, parameter in signature(base).parameters.items()}
    defaults |= {**rules.options, **changed}

    def decorate(function: _Function) -> _Function:
        own = signature(function)
        *named, options = own.parameters.values()
        types = get_type_hints(get_args(get_type_hints(function)[options.name])[0])
        listed = [
            Parameter(name, Parameter.KEYWORD_ONLY, default=defaults[name], annotation=kind)
            for name, kind in types.items()
        ]
        function.__signature__ = own.replace(parameters=[*named, *listed])  # type: ignore[attr-defined]
        return function

    return decorate


# --- validation ---------------------------------------------------------------------------------------------


def complete(
    given: Mapping[str, Any], defaults: Mapping[str, Any], owner: Callable[..., Any]
) -> dict[str, Any]:
    """Return all options: the given ones, and the others at their defaults.

    UnknownOptionError names the ``owner``, the class or function that the user called, and the nearest of
    its parameters and ``defaults``.
    """
    for name in given:
        if name not in defaults:
            own = [
                each.name for each in signature(owner).parameters.values() if each.kind != each.VAR_KEYWORD
            ]
            raise unknown_option(owner.__name__, name, dict.fromkeys([*own, *defaults]))
    return {**defaults, **given}


def check_rewards(rewards: Any, players: int) -> int:
    """Return the index in ``REWARDS`` of a kind; None is the default, outcome, or score for one player."""
    if rewards is None:
        return OUTCOME if players > 1 else SCORE
    kind = REWARDS.index(check_one_of(rewards, REWARDS, "rewards"))
    if kind != SCORE and players == 1:
        raise ValueError(f"rewards is {rewards!r}, which needs 2 players or more; one player has 'score'")
    return kind


def check_num_envs(num_envs: Any) -> int:
    """Return the number of games of a batch, an integer of 1 ... 2**31 - 1."""
    return check_between(num_envs, 1, 2**31 - 1, "num_envs")


def check_layout(observation: Any) -> bool:
    """Whether observations are laid out as named tensors."""
    return bool(check_one_of(observation, ("flat", "dict"), "observation") == "dict")


def check_autoreset_mode(mode: Any) -> AutoresetMode:
    """Return an ``AutoresetMode``, given as such or by its value."""
    value = mode.value if isinstance(mode, AutoresetMode) else mode
    return AutoresetMode(check_one_of(value, [each.value for each in AutoresetMode], "autoreset_mode"))


def check_seeds(seed: int | Sequence[int | None] | None, num_envs: int) -> list[int | None]:
    """Return the seed of every game, ``seed + i`` or ``seed[i]``; None for a game without one."""
    if seed is None:
        return [None] * num_envs
    if not isinstance(seed, Sequence | np.ndarray) or np.ndim(seed) == 0:  # type: ignore[arg-type]
        first = check_seed(seed)
        if first + num_envs > NUM_SEEDS:
            most = f"2**64 - {num_envs}, because game i uses seed + i"
            raise ValueError(f"seed is {first}; of {num_envs} games it may be 0 to {most}")
        return [first + i for i in range(num_envs)]
    if len(seed) != num_envs:
        raise ValueError(f"there are {len(seed)} seeds for {num_envs} games")
    return [None if value is None else check_seed(value) for value in seed]


def take_reset_mask(
    options: Mapping[str, Any] | None, num_envs: int
) -> tuple[Mapping[str, Any] | None, npt.NDArray[np.bool_] | None]:
    """Return the options of a reset without ``reset_mask``, and a copy of the mask; None for all games."""
    if not isinstance(options, Mapping) or "reset_mask" not in options:
        return options, None
    mask, others = options["reset_mask"], {key: options[key] for key in options if key != "reset_mask"}
    if mask is None:
        return others, None
    is_array = isinstance(mask, np.ndarray) and mask.dtype == np.bool_ and mask.shape == (num_envs,)
    if not (is_array and mask.any()):
        raise ValueError(
            f"reset_mask is {short_repr(mask)}; it must be an array ({num_envs},) of bools, one of them True"
        )
    return others, mask.copy()


def check_saved(
    saved: Any, like: Mapping[str, npt.NDArray[Any]], rules: Rules, players: int
) -> dict[str, npt.NDArray[Any]]:
    """Return copies of saved arrays, whose names, shapes and types must be those of ``like``.

    ``states`` are returned as records, which must be of games that ``players`` can reach.
    """
    arrays = dict(saved) if isinstance(saved, Mapping) else {}
    given, expected = (
        {name: (np.shape(array), getattr(array, "dtype", type(array))) for name, array in each.items()}
        for each in (arrays, like)
    )
    if given != expected:
        raise ValueError(
            f"the saved games have the arrays {short_repr(given)}; this environment needs {expected}"
        )
    copies = {name: np.array(array, order="C") for name, array in arrays.items()}
    states = copies["states"] = rules.check_states(copies["states"].view(rules.dtype))
    numbers = {rules.kernels.num_players(states, i) for i in range(len(states))}
    if numbers != {players}:
        raise ValueError(f"the saved games have {sorted(numbers)} players, not {players}")
    return copies

"""The options of environments, as type checkers and completion know them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import Parameter, signature
from typing import Any, Literal, TypedDict, TypeVar, get_args, get_type_hints

from gymnasium.vector import AutoresetMode

from patchwork_env.core.rules import Rules

_Function = TypeVar("_Function", bound=Callable[..., Any])


class AECOptions(TypedDict, total=False):
    """The options of :class:`~patchwork_env.envs.aec.GameAECEnv`, besides those of the game."""

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
    copy: bool
    autoreset_mode: AutoresetMode | Literal["NextStep", "SameStep", "Disabled"]
    render_mode: Literal["ansi", "rgb_array"] | None


class BatchOptions(TypedDict, total=False):
    """The options of :class:`~patchwork_env.envs.self_play.SelfPlayBatch`, besides those of the game."""

    seed: int | None
    rewards: Literal["outcome", "margin", "score"] | None
    masks: bool
    observations: bool


def list_options(base: Callable[..., Any], rules: Rules, **changed: Any) -> Callable[[_Function], _Function]:
    """Decorate a function of ``**options: Unpack[…]``, so that its signature lists each option.

    Names and types are those of the ``TypedDict``. Defaults are those of the rules and of ``base``, to which
    the function passes its options, except the ``changed`` ones.
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

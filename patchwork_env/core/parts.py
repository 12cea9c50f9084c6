"""The parts of a game besides its rules, such as agents, networks and figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy.typing as npt

    from patchwork_env.core.kernels import States


@dataclass(frozen=True, kw_only=True)
class GameParts:
    """References to the parts of one game, ``"module"`` or ``"module:name"``, each imported on first use.

    The registered module has them as ``PARTS``. It must import little, since configurations read it. Every
    part is optional: code that needs a missing one raises a ValueError that names it.

    Attributes:
        greedy: ``choose_actions(states, actions)``, which writes the greedy action of each state.
        levels: ``new_player(level)``, which returns the :data:`~patchwork_env.agents.partner.Player` of a
            difficulty level.
        champion: The spec of the strongest agent; not a reference.
        network: The :class:`~patchwork_env.agents.networks.PolicyNetwork`, with its features.
        value: The game of the algorithms that learn a value, made from a configuration.
        matches: The :class:`MatchPart`, with the figures of a match.
        view: The :class:`~patchwork_env.integrations.text.view.View`, which describes positions in words.
        page: The :class:`~patchwork_env.service.positions.PagePart`: options, positions and components.
        figures: The module with ``GameStats`` and ``statistics_of_games``, the statistics of training.
        is_learned_alone: Whether PPO learns the game for one player, for points; not a reference.
        network_settings: The settings among ``channels``, ``offers`` and ``lookahead`` that ``network``
            uses; not references.
    """

    greedy: str | None = None
    levels: str | None = None
    champion: str | None = None
    network: str | None = None
    value: str | None = None
    matches: str | None = None
    figures: str | None = None
    view: str | None = None
    page: str | None = None
    is_learned_alone: bool = False
    network_settings: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class MatchPart:
    """The matches of a game between two players, and their figures.

    Attributes:
        set_up: The word for the set-up that both sides share, such as ``"circle"``.
        variant, variants: The name of the option for the variant, empty without variants, and its values,
            the default first.
        is_noninteractive: Whether the players do not interact. Then every set-up is played once, otherwise
            twice, with swapped seats.
        figures: The names of the figures of each side in results; every game has ``"score"`` and
            ``"turns"``.
        shares: The figures whose means are shares of the games.
        in_rankings: The figures in tables of many agents.
        figures_of: Computes figures of both players from the last ``(n,)`` records of games: arrays
            ``(n, 2)`` by name. None for the score alone.
        counted: The figures that are counted during games.
        count: The kernel ``count(states, games, actions, counts)``, which plays actions in the listed games
            and adds to ``counts``, int64 ``(n, len(counted))``.
    """

    set_up: str = "set-up"
    variant: str = ""
    variants: tuple[str, ...] = ("",)
    is_noninteractive: bool = False
    figures: tuple[str, ...] = ("score", "turns")
    shares: tuple[str, ...] = ()
    in_rankings: tuple[str, ...] = ("score",)
    figures_of: Callable[[States], Mapping[str, npt.NDArray[Any]]] | None = None
    counted: tuple[str, ...] = ()
    count: Callable[..., None] | None = None

    @property
    def games_per_set_up(self) -> int:
        """The number of games with each circle or deck."""
        return 1 if self.is_noninteractive else 2

    @property
    def metric(self) -> str:
        """The figure by which agents are compared."""
        return "score" if self.is_noninteractive else "win_rate"

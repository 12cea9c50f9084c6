"""The parts of a game besides its rules, which other folders hold: agents, learning, words."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class GameParts:
    """References to the parts of one game, ``"module"`` or ``"module:name"``, each imported on its first use.

    The module that is registered for the parts of a game has them as ``PARTS``; it must import little, since
    configurations read it. Every part is optional: code that needs a missing one raises a ValueError that
    names it.

    Attributes:
        greedy: ``choose_actions(states, actions)``, which writes the action that looks best in each state.
        levels: ``new_player(level)``, which returns the :data:`~patchwork_env.agents.partner.Player` of a
            level for people.
        champion: The name of the strongest agent in specs; no reference.
        network: The :class:`~patchwork_env.agents.networks.PolicyNetwork`, which has the features too.
        value: The game of the algorithms that learn a value, made from a configuration.
        runner: The :class:`~patchwork_env.learning.evaluation.runners.MatchRunner`, with the figures of a
            match.
        view: The :class:`~patchwork_env.integrations.text.view.View`, which puts positions in words.
        report: The ``GameWords`` of the pages about runs, in ``learning/reports/run_page.py``.
        page: The :class:`~patchwork_env.service.positions.PagePart`: options, positions and components.
        figures: The module with ``GameStats`` and ``statistics_of_games``, the statistics of training.
        is_learned_alone: Whether PPO learns the game alone, for points; no reference.
        network_settings: The settings of networks that ``network`` has and those of other games may lack, out
            of ``channels``, ``offers`` and ``lookahead``; no reference.
    """

    greedy: str | None = None
    levels: str | None = None
    champion: str | None = None
    network: str | None = None
    value: str | None = None
    runner: str | None = None
    figures: str | None = None
    view: str | None = None
    report: str | None = None
    page: str | None = None
    is_learned_alone: bool = False
    network_settings: tuple[str, ...] = ()

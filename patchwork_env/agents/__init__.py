"""Agents: one interface, and one string, the spec, that names an agent.

A spec such as ``"greedy"``, ``"mcts:seconds=1"``, ``"champion:fast"`` or ``"runs/quick/final"`` is the same
string in :func:`load`, on the command line, in a configuration file and as a Gymnasium opponent.
:attr:`Agent.games` names the games that an agent plays. :func:`register` adds a spec for your own agent.

Every folder in ``shipped/`` is a checkpoint that comes with the package and has the folder's name.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from patchwork_env.agents.checkpoints import NETWORK, VALUE
from patchwork_env.agents.options import (
    AIMS,
    FEWEST_SIMULATIONS,
    MOST_THREADS,
    VALUE_OPTIONS,
    boolean,
    integer,
    one_of,
    seconds,
)
from patchwork_env.agents.specs import load, names, path_of, register, register_checkpoint
from patchwork_env.core import lazy_names
from patchwork_env.core.names import short_repr
from patchwork_env.games import NMBR9, PATCHWORK, games_with

if TYPE_CHECKING:
    from patchwork_env.agents.analysis import Analysis
    from patchwork_env.agents.base import (
        Agent,
        BatchAgent,
        CallableAgent,
        GreedyAgent,
        ObservingAgent,
        RandomAgent,
    )

__all__ = [
    "ANALYST",
    "Agent",
    "BatchAgent",
    "CallableAgent",
    "GreedyAgent",
    "ObservingAgent",
    "RandomAgent",
    "analyse",
    "as_agent",
    "as_agents",
    "load",
    "names",
    "path_of",
    "register",
    "register_checkpoint",
]

ANALYST = "champion:seconds=1"
"""The default spec of the agent that analyses."""

ONNX_SUFFIX = ".onnx"  # the ending of files that hold an exported policy
_AGENTS = "patchwork_env.agents"
_SAMPLE, _SIMULATIONS = {"sample": boolean}, integer(FEWEST_SIMULATIONS)
_SEARCH = {"simulations": _SIMULATIONS, "seconds": seconds}

_CLASSES = ("Agent", "BatchAgent", "CallableAgent", "GreedyAgent", "ObservingAgent", "RandomAgent")
__getattr__, __dir__ = lazy_names(__name__, dict.fromkeys(_CLASSES, "base"))


register("random", f"{_AGENTS}.base:RandomAgent")
register("greedy", f"{_AGENTS}.base:GreedyAgent", games=games_with("greedy"))
register(
    "partner",
    f"{_AGENTS}.partner:PartnerAgent",
    games=games_with("levels"),
    options={"level": integer(1, 5)},
)
register("uct", f"{_AGENTS}.uct:UctAgent", options=_SEARCH)
register(
    "program:",
    f"{_AGENTS}.program:ProgramAgent",
    options={"seconds": seconds, "start_seconds": seconds},
    needs_trust=True,
)
register(".zip", f"{_AGENTS}.sb3_models:load", options=_SAMPLE, extra="train")
register("mcts", f"{_AGENTS}.patchwork.mcts:MctsAgent", games=(PATCHWORK,), options=_SEARCH)
register(ONNX_SUFFIX, f"{_AGENTS}.patchwork.policy.onnx_agent:load", options=_SAMPLE, extra="onnx")
_CHAMPION = {**VALUE_OPTIONS, "aim": one_of(*AIMS), "threads": integer(1, MOST_THREADS)}
register(
    "beam",
    f"{_AGENTS}.nmbr9.beam:load",
    games=(NMBR9,),
    options={"width": integer(1, 999_999), "seconds": seconds},
    listed=False,
)
for _game, _kind, _load, _options, _extra in (
    (PATCHWORK, NETWORK, "patchwork.policy.agent:load", {**_SAMPLE, "simulations": _SIMULATIONS}, "train"),
    (PATCHWORK, VALUE, "patchwork.champion.agent:load", _CHAMPION, ""),
    (NMBR9, NETWORK, "networks:load", _SAMPLE, "train"),
    (NMBR9, VALUE, "nmbr9.champion:load", VALUE_OPTIONS, ""),
):
    register_checkpoint(_game, _kind, f"{_AGENTS}.{_load}", options=_options, extra=_extra)


def as_agent(
    agent: str | os.PathLike[str] | Agent | Callable[..., Any],
    seed: int | None = None,
    game: str | None = None,
) -> Agent:
    """Return the agent of a spec or of a function ``game -> action``; an agent is returned unchanged.

    For the seed of a spec see :func:`load`. ValueError if ``agent`` is something else, or does not play
    ``game``, such as ``"patchwork"``; None allows any game.
    """
    from patchwork_env.agents.base import Agent, CallableAgent

    if isinstance(agent, str | os.PathLike):
        agent = load(agent, seed)
    elif callable(agent) and not isinstance(agent, Agent | type) and not hasattr(agent, "state_dict"):
        agent = CallableAgent(agent)
    if not isinstance(agent, Agent):
        allowed = "a spec, an object of a class of agents, or a function from a game to an action"
        networks = "ObservingAgent makes an agent of a network, integrations.sb3.as_agent one of a model"
        raise ValueError(f"{short_repr(agent)} is not an agent; allowed are {allowed}; {networks}")
    if game is not None:
        agent.check_game(game)
    return agent


def as_agents(agents: Any, seed: int | None = None, game: str | None = None) -> list[Agent]:
    """Return a list of agents, each made by :func:`as_agent`, from a list, a tuple or a single item."""
    listed = agents if isinstance(agents, list | tuple) else [agents]
    return [as_agent(agent, seed, game) for agent in listed]


def analyse(game: Any, agent: str | os.PathLike[str] | Agent = ANALYST, k: int | None = None) -> Analysis:
    """Analyse a game by an agent that searches: margin, probability to win and line of play of each move.

    The game is not changed. The agent searches with a learned value, within its own budget. The analysis has
    the ``k`` best moves, or all for None; its ``str`` is a table. ValueError if the game is over, the agent
    cannot analyse, or ``k`` is below 1.
    """
    from patchwork_env.agents import analysis

    return analysis.analyse(game, as_agent(agent), k)

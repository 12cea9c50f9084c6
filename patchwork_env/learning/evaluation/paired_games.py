"""The games of two agents, from the set-ups to the figures."""

from __future__ import annotations

from time import perf_counter
from typing import NamedTuple

import numpy as np

from patchwork_env.agents import Agent
from patchwork_env.core.game import BaseGame
from patchwork_env.errors import IllegalActionError, TableEdgeError
from patchwork_env.games import rules_of
from patchwork_env.learning.evaluation.contests import contest_of
from patchwork_env.learning.evaluation.contests.base import Block, Contest, Integers
from patchwork_env.learning.evaluation.results import AGENT, BaseGames

Sides = tuple[Agent, Agent]
"""The agent that is measured and its opponent."""


class Played(NamedTuple):
    """What was played.

    Attributes:
        games: Figures of the games.
        seconds: What each side took to choose its actions.
        kept: The games that are kept, move by move.
    """

    games: BaseGames
    seconds: tuple[float, float]
    kept: tuple[BaseGame, ...] = ()


def play_block(sides: Sides, block: Block) -> Played:
    """Plays a block of set-ups.

    Both agents are reseeded first, so that the games depend on the agents and the block alone.

    Raises:
        IllegalActionError: An agent chose an action that is not legal.
        TableEdgeError: An agent's tiles would spread further than the numbering of actions reaches.
        ValueError: An agent did not give one action per game, or does not play the game.
    """
    for side, agent in enumerate(sides):
        agent.reseed(_seed_of_agent(block, side))
    contest = contest_of(block.game)(block)
    seconds = _play_to_the_end(sides, contest)
    return Played(contest.figures(), seconds, contest.kept)


def _seed_of_agent(block: Block, side: int) -> int:
    return int(np.random.SeedSequence([block.seed, block.begin, side]).generate_state(1, np.uint64)[0])


def _play_to_the_end(sides: Sides, contest: Contest) -> tuple[float, float]:
    """Plays all games; returns the seconds that each side took."""
    states, seconds = contest.states, [0.0, 0.0]
    running = np.arange(len(states))
    while len(running):
        agent_moves = states["current_player"][running] == contest.seats[running]
        for side, agent in enumerate(sides):
            games = running[agent_moves == (side == AGENT)]
            if len(games):
                shown = contest.shown(games)
                began = perf_counter()
                actions = agent.act_batch(shown)
                seconds[side] += perf_counter() - began
                contest.play(games, _checked(actions, agent, contest, games), side)
        running = running[~contest.over(running)]
    return seconds[0], seconds[1]


def _checked(given: Integers, agent: Agent, contest: Contest, games: Integers) -> Integers:
    """The agent's actions in the listed games, which can be played."""
    actions, states = np.ascontiguousarray(given, np.int64), contest.states[games]
    if actions.shape != states.shape:
        raise ValueError(
            f"agent {agent.name!r} gave actions of shape {actions.shape} for {len(states)} games"
        )
    refused = contest.first_refused(states, actions)
    if refused >= 0:
        game = rules_of(contest.kind.game).game.from_state(states, refused)
        _raise_refusal(game, int(actions[refused]), agent)
    return actions


def _raise_refusal(game: BaseGame, action: int, agent: Agent) -> None:
    before = repr(game)
    try:
        game.play(action)
    except (IllegalActionError, TableEdgeError) as error:
        raise type(error)(
            f"agent {agent.name!r} chose action {action}, not legal in {before}: {error}"
        ) from None

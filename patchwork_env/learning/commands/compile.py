"""Compile games, agents and analyses now, not at their first use.

patchwork-env compile
patchwork-env compile --game nmbr9
"""

from __future__ import annotations

import argparse
from contextlib import suppress
from time import perf_counter
from typing import Any, cast

from patchwork_env import agents
from patchwork_env.agents.analysis import IncrementalAnalyst
from patchwork_env.core.commands import CommandParser, run_command
from patchwork_env.core.progress import StatusLine, listen
from patchwork_env.envs.self_play import SelfPlayBatch
from patchwork_env.envs.single import GameEnv
from patchwork_env.envs.vector import GameVectorEnv
from patchwork_env.games import GAMES, rules_of
from patchwork_env.learning.evaluation.matches import play_matches


def main(arguments: list[str] | None = None, program: str = "patchwork-env compile") -> int:
    """Run the command; return the exit code."""
    parser = CommandParser(__doc__)
    parser.add_argument("--game", choices=GAMES, help="one game alone")
    return run_command(parser, _run, arguments, program)


def _run(options: argparse.Namespace) -> int:
    line, count, began = StatusLine(), 0, perf_counter()

    def note(message: str) -> None:
        nonlocal count
        count += 1
        line.show(f"{count}: {message}")

    with listen(note):
        for game in [options.game] if options.game else GAMES:
            _use(game)
    line.clear()
    seconds = perf_counter() - began
    print(f"{count:,} kernels compiled in {seconds:.0f} seconds; the others were ready")
    return 0


def _use(name: str) -> None:
    rules = rules_of(name)
    batch = SelfPlayBatch(rules, 2)
    batch.step(batch.random_actions)
    opponent = agents.load("random") if batch.rewards.shape[1] > 1 else None  # one player has none
    new_game = cast(Any, rules.game)
    for env in (GameEnv(rules, opponent), GameVectorEnv(rules, 2, opponent)):
        _, info = env.reset(seed=0)
        env.step(info["action_mask"].argmax(-1))
    for spec in agents.names(name):
        with suppress(ModuleNotFoundError):  # of an agent whose library is not installed
            play_matches(spec, "random", 2, game=name)
            game, agent = new_game(seed=0), agents.load(spec)
            if isinstance(agent, IncrementalAnalyst):
                next(iter(agent.deepen(game)))

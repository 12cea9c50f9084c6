"""Measures how many steps per second each interface makes.

    python benchmarks/interfaces.py [NAME …] [--rounds N] [--seconds S] [--write]

Steps are random legal moves of Patchwork, including their choice, per second of processor time, or of the
clock where another process takes part. Interfaces without their library are skipped; with ``--write`` their
old figures stay. So run it once in each of the environments that ``make`` creates: ``.venv``,
``.venv-libraries`` and ``.venv-older``. The best of several rounds counts: other work on the machine only
makes rounds slower.
"""

from __future__ import annotations

import argparse
import random
import re
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from importlib.util import find_spec
from typing import Any, NamedTuple

import gymnasium
import numpy as np

from benchmarks.environments import (
    NAME,
    Counts,
    batches,
    choose,
    choose_many,
    episodes,
    positive,
    self_play,
    turns,
)
from benchmarks.keeping import add_write_option, keep, of_unit
from patchwork_env import patchwork_v0
from patchwork_env.patchwork import Game
from patchwork_env.patchwork_v0 import SelfPlayBatch

MANY, FEW = 1024, 64
"""Games of a batch."""
WORDS = re.compile(r"such as (\S+?)[;.,]?(?:\s|$)")
"""An example of a legal move in a text for language models."""


# --- one loop for each interface --------------------------------------------------------------------------


def game_object() -> Counts:
    """The game object: lists the legal actions and plays one of them."""
    while True:
        game, count = Game(), 0
        while not game.is_over:
            legal = game.legal_actions()
            game.play(int(legal[int(random.random() * len(legal))]))
            count += 1
        yield count


def vector_env() -> Counts:
    """The compiled batch of ``gymnasium.make_vec``."""
    return batches(gymnasium.make_vec(NAME, MANY, vectorization_mode="vector_entry_point", opponent="random"))


def stable_baselines() -> Counts:
    """The batch for Stable-Baselines3."""
    from patchwork_env.integrations.sb3 import SelfPlayVecEnv

    env = SelfPlayVecEnv(FEW, "random", seed=0)
    env.reset()
    while True:
        env.step(choose_many(np.asarray(env.action_masks()).view(np.int8)))
        yield env.num_envs


def tianshou() -> Counts:
    """Tianshou's wrapper of the PettingZoo environment."""
    from tianshou.env import PettingZooEnv

    env: Any = PettingZooEnv(patchwork_v0.env())
    while True:
        observation, _ = env.reset()
        count, over = 0, False
        while not over:
            observation, _, terminated, truncated, _ = env.step(choose(np.asarray(observation["mask"])))
            count, over = count + 1, terminated or truncated
        yield count


def rllib() -> Counts:
    """The environment of RLlib."""
    from patchwork_env.integrations.rllib.env import GameMultiAgentEnv

    env = GameMultiAgentEnv()
    while True:
        observations, _ = env.reset()
        count, over = 0, False
        while not over:
            ((player, seen),) = observations.items()
            observations, _, terminated, _, _ = env.step({player: choose(seen["action_mask"])})
            count, over = count + 1, terminated["__all__"]
        yield count


def open_spiel() -> Counts:
    """A state of OpenSpiel."""
    import pyspiel

    import patchwork_env.integrations.open_spiel  # noqa: F401  # registers the game

    game = pyspiel.load_game("python_patchwork(seed=7)")
    while True:
        state, count = game.new_initial_state(), 0
        while not state.is_terminal():
            legal = state.legal_actions()
            state.apply_action(legal[int(random.random() * len(legal))])
            count += 1
        yield count


def torchrl() -> Counts:
    """Rollouts of TorchRL."""
    from patchwork_env.integrations.torchrl import make_env

    env = make_env("patchwork", num_envs=MANY)
    while True:
        env.rollout(10, break_when_any_done=False)
        yield 10 * MANY


def engine() -> Counts:
    """The engine: a move of the agent ``random`` for every line."""
    from patchwork_env.protocol.client import Client

    with Client([sys.executable, "-m", "patchwork_env.cli", "engine", "--agent", "random"]) as client:
        while True:
            game = Game()
            while not game.is_over:
                answer = client.ask("choose", 60, notation=game.notation())
                game.play(answer["action"])
                yield 1


def word_of(text: str) -> str:
    """One of the legal moves that a text gives as examples."""
    words: list[str] = WORDS.findall(text) or ["+"]
    return random.choice(words)


def openenv() -> Counts:
    """The client of OpenEnv, over a WebSocket to a server on this machine, against ``random``."""
    from patchwork_env.integrations.openenv import PatchworkEnv

    with _served() as url, PatchworkEnv(url).sync() as env:
        while True:
            result = env.reset(opponent="random")
            while not result.done:
                result = env.step(f"Move: {word_of(result.observation.text)}")
                yield 1


@contextmanager
def _served() -> Iterator[str]:
    """The address of a server of OpenEnv in a thread of this process."""
    import uvicorn

    from patchwork_env.integrations.openenv import create_app

    app = create_app("patchwork", opponents=["random"])
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


def mcp() -> Counts:
    """Calls of tools of the MCP server over stdin and stdout, against ``random``."""
    from anyio.from_thread import start_blocking_portal
    from mcp import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    server = StdioServerParameters(command=sys.executable, args=["-m", "patchwork_env.cli", "mcp"])
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(Client(stdio_client(server))) as client,
    ):

        def ask(tool: str, **arguments: Any) -> str:
            return str(portal.call(client.call_tool, tool, arguments).content[0].text)

        with suppress(GeneratorExit):  # the client takes an error for one of its own
            while True:
                begun = re.search(r"patchwork-\d+", ask("new_game", game="patchwork", opponent="random"))
                game_id = begun[0] if begun else ""
                told = ask("show", game_id=game_id)
                while "The game is over" not in told:
                    told = ask("play", game_id=game_id, move=word_of(told))
                    yield 1
                ask("end_game", game_id=game_id)


# --- what is measured ------------------------------------------------------------------------------------


class Interface(NamedTuple):
    """An interface that is measured.

    Attributes:
        make: Makes the loop that is measured.
        library: The module that it needs; empty for none.
        clock: The clock of its seconds.
    """

    make: Callable[[], Counts]
    library: str = ""
    clock: Callable[[], float] = time.process_time


INTERFACES = {
    "game": Interface(game_object),
    "self_play": Interface(lambda: self_play(SelfPlayBatch(MANY))),
    "aec_raw": Interface(lambda: turns(patchwork_v0.raw_env())),
    "aec": Interface(lambda: turns(patchwork_v0.env())),
    "gymnasium": Interface(lambda: episodes(gymnasium.make(NAME, opponent="random"))),
    "make_vec": Interface(vector_env),
    "sb3": Interface(stable_baselines, "stable_baselines3"),
    "torchrl": Interface(torchrl, "torchrl"),
    "open_spiel": Interface(open_spiel, "pyspiel"),
    "tianshou": Interface(tianshou, "tianshou"),
    "rllib": Interface(rllib, "ray"),
    "engine": Interface(engine, clock=time.perf_counter),
    "openenv": Interface(openenv, "openenv"),
    "mcp": Interface(mcp, "mcp_types", clock=time.perf_counter),
}
"""The interfaces to measure, by name."""


def measure(interface: Interface, rounds: int, seconds: float) -> float:
    """Steps per second in the best of several rounds."""
    with closing(interface.make()) as loop:  # type: ignore[type-var]
        for _ in range(3):  # compile, and warm up
            next(loop)
        return max(_rate(loop, seconds, interface.clock) for _ in range(rounds))


def _rate(loop: Counts, seconds: float, clock: Callable[[], float]) -> float:
    """Steps per second of whole passes in at least ``seconds``."""
    steps, start = 0, clock()
    while (elapsed := clock() - start) < seconds:
        steps += next(loop)
    return steps / elapsed


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", choices=[[], *INTERFACES], metavar="NAME", help="(default: all)")
    parser.add_argument("--rounds", type=positive(int), default=5, help="rounds (default: 5)")
    parser.add_argument("--seconds", type=positive(float), default=0.5, help="per round (default: 0.5)")
    add_write_option(parser)
    options = parser.parse_args()
    rates = {}
    for name in options.names or INTERFACES:
        interface = INTERFACES[name]
        if interface.library and find_spec(interface.library) is None:
            print(f"{name:12} needs {interface.library}", flush=True)
            continue
        rates[name] = measure(interface, int(options.rounds), options.seconds)
        print(f"{name:12} {rates[name]:12,.0f} steps per second", flush=True)
    if options.write:
        keep("interfaces", of_unit("steps/s", rates), options.write)


if __name__ == "__main__":
    main()

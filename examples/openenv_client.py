"""Plays Patchwork or NMBR 9 on a server of OpenEnv with texts, as a language model would.

A few lines of Python stand in for the model. Replace ``choose`` with your model: ``observation.text`` is its
prompt, and ``result.reward`` its reward.

    python examples/openenv_client.py --seed 7
    python examples/openenv_client.py --game nmbr9
    patchwork-env openenv --port 8100 & python examples/openenv_client.py --url http://127.0.0.1:8100
"""

from __future__ import annotations

import argparse
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

import uvicorn

from patchwork_env.integrations.openenv import PatchworkEnv, TextAction, TextObservation, create_app

Ask = Callable[[str], str]
"""Sends a request, which takes no turn, and returns the answer."""

PATCH = re.compile(
    r"patch \d+: \d+ placements?, such as (\S+); .*"
    r"\((\d+) buttons?, (\d+) time, (\d+) income, (\d+) cells?\)"
)
SPECIAL = re.compile(r"special patch: \d+ placements?, such as (\S+);")
SPACE = re.compile(r"You: space (\d+) of 53")
HIGHEST_LEVEL = re.compile(r"on level (\d+)")
PLACEMENT = re.compile(r"\d/[0-3]@(-?\d+),(-?\d+)")


def main() -> None:
    parser = argparse.ArgumentParser(description="Plays a game in words against a server of OpenEnv.")
    parser.add_argument(
        "--game", choices=("patchwork", "nmbr9"), default="patchwork", help="(default: patchwork)"
    )
    parser.add_argument("--url", help="of the server (default: one of its own is started)")
    parser.add_argument("--opponent", default="greedy", help="in Patchwork (default: greedy)")
    parser.add_argument("--seed", type=int, default=7, help="of the game (default: 7)")
    arguments = parser.parse_args()
    with nullcontext(arguments.url) if arguments.url else served(arguments.game, arguments.opponent) as url:
        play(url, arguments.seed, arguments.opponent)


def play(url: str, seed: int, opponent: str) -> None:
    """Play one episode and print it."""
    with PatchworkEnv(url).sync() as env:

        def ask(request: str) -> str:
            return str(env.step(TextAction(text=request)).observation.text)

        result, total = env.reset(seed=seed, opponent=opponent), 0.0
        while not result.done:
            answer = choose(result.observation, ask)
            result = env.step(TextAction(text=f"Move: {answer}"))
            total += result.reward or 0.0
            print(result.observation.text.splitlines()[0])
        print(f"\n{result.observation.text}\n\nrewards {total:g}")


def choose(observation: TextObservation, ask: Ask) -> str:
    """Return a move; a language model would read ``observation.text`` here."""
    return choose_tile(ask) if observation.game == "nmbr9" else choose_patch(observation.text)


def choose_patch(text: str) -> str:
    """Return the patch with the best value for its time, if it is better than advancing."""
    if special := SPECIAL.search(text):
        return special[1]
    position = SPACE.search(text)
    incomes_ahead = (53 - int(position[1])) // 6 + 1 if position else 0
    worth = {
        word: (2 * int(cells) + int(income) * incomes_ahead - int(buttons)) / int(time)
        for word, buttons, time, income, cells in PATCH.findall(text)
    }
    best = max(worth, key=worth.__getitem__, default="")
    return best if best and worth[best] > 1 else "+"


def choose_tile(ask: Ask) -> str:
    """Return the placement closest to the first tile, of the first page on the highest level."""
    highest = max(map(int, HIGHEST_LEVEL.findall(ask("moves"))))
    found = PLACEMENT.finditer(ask(f"placements on level {highest}"))
    return min(found, key=lambda match: abs(int(match[1])) + abs(int(match[2])))[0]


@contextmanager
def served(game: str, opponent: str) -> Iterator[str]:
    """Yield the address of a server in a thread."""
    app = create_app(game, opponents=[opponent])
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


if __name__ == "__main__":
    main()

"""A language model plays paired games in words.

The model here is a script without knowledge of the games. Like a language model it reads only the prompt: it
rates patches by their figures there, asks for placements of the best one, and takes the placement with the
smallest numbers.

    python examples/language_model.py
    python examples/language_model.py --games 40 --against random ppo-quick greedy
    python examples/language_model.py --game nmbr9

Commands take it, too, like any agent of yours. This one rates it:

    patchwork-env gauntlet examples.language_model:player --games 10 --skip mcts:seconds=1
"""

from __future__ import annotations

import argparse
import re

from patchwork_env.integrations.language_models import TextAgent
from patchwork_env.learning.evaluation import play_matches

WORD = re.compile(r"\d+/\d@[-\w,]*\w")
PATCH = re.compile(
    r"(patch \d+): \d+ placements?, .*\((\d+) buttons?, (\d+) time, (\d+) income, (\d+) cells\)"
)
TILE = re.compile(r"(tile \d): .*?\(\d+ on level (\d)")
EXAMPLE = re.compile('such as "answer: ([^"]+)"')


def complete(prompt: str) -> str:
    """Answer a prompt. For a real model, ask its client here and return its text."""
    told, asked, reply = prompt.partition("Your answer:")
    places = WORD.findall(reply.partition("Think first")[0]) if asked else []
    if places:
        return f"Close to the others is best.\nanswer: {min(places, key=_distance)}"
    wish = None if asked else _wish(told)
    if wish:
        return f"That looks good. Where does it fit?\nanswer: placements of {wish}"
    return f"answer: {EXAMPLE.findall(told)[0]}"


def _wish(told: str) -> str | None:
    """Return the piece to ask about: the tile with its highest level, or the most valuable patch."""
    if tile := TILE.search(told):
        return f"{tile[1]} level {tile[2]}"
    patches = {name: _worth(*map(int, figures)) for name, *figures in PATCH.findall(told)}
    best = max(patches, key=patches.__getitem__, default=None)
    return best if best and patches[best] > 0 else None


def _worth(buttons: int, time: int, income: int, cells: int) -> int:
    return 2 * cells + 4 * income - buttons - time


def _distance(place: str) -> int:
    """Return the sum of the absolute numbers in a place such as a3 or -2,5."""
    return sum(map(int, re.findall(r"\d+", place.partition("@")[2])))


player = TextAgent(complete, "scripted")
"""The player, for commands that take module:name."""


def main() -> None:
    arguments = _arguments()
    model = TextAgent(complete, "scripted", threads=arguments.threads)
    for opponent in arguments.against:
        result = play_matches(model, opponent, arguments.games, game=arguments.game)
        print(f"{result.table()}\n{result.usage[0]}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="A language model plays, here a scripted one.")
    parser.add_argument(
        "--game", choices=("patchwork", "nmbr9"), default="patchwork", help="(default: patchwork)"
    )
    parser.add_argument("--games", type=int, default=10, help="against each opponent (default: 10)")
    parser.add_argument(
        "--against", nargs="+", default=["random", "greedy"], metavar="SPEC", help="opponents"
    )
    parser.add_argument("--threads", type=int, default=1, help="games at the same time (default: 1)")
    return parser.parse_args()


if __name__ == "__main__":
    main()

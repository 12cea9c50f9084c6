"""Analyse a position: the best moves, their expected results, and lines of play.

patchwork-env analyse game.txt --seconds 10
patchwork-env analyse "nmbr9/1 players=1 deck=0,5,3,9,1,2,4,6,8,7,0,5,3,9,1,2,4,6,8,7" --json -
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from patchwork_env.core.commands import CommandParser, add_overwrite, check_place, run_command
from patchwork_env.core.files import write_text

if TYPE_CHECKING:
    from patchwork_env.core.game import BaseGame

_STDOUT = Path("-")
_MOST_WORDS = 6  # of a line of play in the table


def main(arguments: list[str] | None = None, program: str = "patchwork-env analyse") -> int:
    """Run the command; return the exit code."""
    parser = CommandParser(__doc__)
    option = parser.add_argument
    option(
        "game",
        nargs="?",
        metavar="GAME",
        help="a file with a game or position in notation, or the notation itself (default: standard input)",
    )
    option("--moves", type=int, metavar="N", help="the most moves to list, 1 to 50 (5)")
    option("--seconds", type=float, default=3.0, metavar="S", help="the time to search (%(default)s)")
    option("--threads", type=int, metavar="N", help="the threads that search, in Patchwork (1)")
    option("--json", type=Path, metavar="PATH", help="write the analysis to this file, or print it with -")
    add_overwrite(parser)
    return run_command(parser, _run, arguments, program, "play")


def _run(options: argparse.Namespace) -> int:
    from patchwork_env import agents
    from patchwork_env.agents.options import spec_of
    from patchwork_env.games import part_of, rules_of
    from patchwork_env.service import fields
    from patchwork_env.service.agents import analyses_of

    file = None if options.json == _STDOUT else options.json
    check_place(options, file, "--json", is_file=True)
    most = fields.lines(fields.DEFAULT_LINES if options.moves is None else options.moves, "--moves")
    game = _read(options.game)
    if game.is_over:
        raise ValueError("the game is over; there is no move to analyse")
    champion = part_of(rules_of(game.state).name, "champion")
    spec = spec_of(champion, seconds=options.seconds, threads=options.threads)
    *_, analysis = analyses_of(game, agents.load(spec), most)
    del analysis["done"]
    contents = {"agent": spec, "notation": game.notation(), **analysis}
    if options.json == _STDOUT:
        print(json.dumps(contents, indent=2))
        return 0
    print(_table(analysis))
    if file:
        write_text(file, json.dumps(contents, indent=2) + "\n")
    return 0


def _read(given: str | None) -> BaseGame:
    """Read a game from standard input (None), a str in notation, or a file."""
    from patchwork_env.service.positions import GAMES, read_game, read_game_file

    if given is None:
        return read_game(sys.stdin.read())
    if given.startswith(tuple(f"{game}/" for game in GAMES)):
        return read_game(given)
    path = Path(given)
    if not path.exists():
        begins = " or ".join(f"{game}/1" for game in GAMES)
        raise FileNotFoundError(f"there is no file {given}; a game in notation begins with {begins}")
    return read_game_file(path)


def _table(analysis: dict[str, Any]) -> str:
    """Return a row of figures for each move, from the view of the player to move."""
    from patchwork_env.agents.analysis import win_text
    from patchwork_env.core.names import aligned

    player = analysis["player"]
    by_points = analysis["scores"] is not None
    rows = [("move", "score" if by_points else "win", "margin", "visits", "line")]
    for line in analysis["lines"]:
        win, margin = line["win"], line["margin"]
        if by_points:
            chance = f"{line['scores'][player]:.1f}"
        else:
            chance = "-" if win is None else win_text(win if player == 0 else 1 - win, line["exact"])
        ahead = "-" if margin is None else f"{margin if player == 0 else -margin:+.1f}"
        words = line["line"][:_MOST_WORDS]
        more = " ..." if len(line["line"]) > _MOST_WORDS else ""
        visits = "exact" if line["exact"] else f"{line['visits']:,}"
        rows.append((line["word"], chance, ahead, visits, " ".join(words) + more))
    return "\n".join([f"player {player} to move", "", *aligned(rows, left=(0, 4))])

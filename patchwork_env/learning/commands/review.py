"""Reviews a game of Patchwork: who was ahead when, and which moves cost most, as text, page and picture.

patchwork-env review examples/game.txt
patchwork-env review game.txt --agent champion:strong --out review
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from patchwork_env.core.commands import CommandParser, run_command
from patchwork_env.core.files import storing_in, write_text
from patchwork_env.core.progress import Bar
from patchwork_env.learning.evaluation.players import load_player
from patchwork_env.learning.reports.review import Review, read_game, review
from patchwork_env.learning.reports.review_page import render_page, text, write_picture

_AGENT = "champion:fast"
PAGE, PICTURE, FIGURES = "review.html", "evaluation.png", "review.json"


def main(arguments: list[str] | None = None, program: str = "training.review") -> int:
    """The command; returns the exit code."""
    return run_command(_parser(), _run, arguments, program)


def _run(options: argparse.Namespace) -> int:
    out = options.out or options.game.with_name(options.game.stem + "-review")
    game, agent = read_game(options.game), load_player(options.agent)
    if out.exists() and not out.is_dir():
        raise NotADirectoryError(f"{out} is a file; --out takes the path of a folder")
    with Bar(len(game.history), "moves") as bar:
        reviewed = review(game, agent, bar.update)
    print(text(reviewed))
    _write(reviewed, out, options.game.name)
    print(f"\n{out}: {PAGE}, {PICTURE}, {FIGURES}")
    return 0


def _write(reviewed: Review, out: Path, title: str) -> None:
    with storing_in(out):
        out.mkdir(parents=True, exist_ok=True)
        write_text(out / PAGE, render_page(reviewed, title))
        write_picture(reviewed, out / PICTURE)
        write_text(out / FIGURES, json.dumps(reviewed.as_dict(), indent=2) + "\n")


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        description="Reviews a game: who was ahead when, and which moves cost most.",
    )
    parser.add_argument("game", type=Path, metavar="FILE", help="a game in notation, finished or not")
    parser.add_argument(
        "--agent",
        default=_AGENT,
        metavar="SPEC",
        help="a search with a learned value, with its budget per position, as champion:strong or "
        f"PATH:seconds=1 (default: {_AGENT})",
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="the folder of the results (default: NAME-review, beside the file)",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())

"""Review a game of Patchwork: the odds after every move, and the costliest mistakes, as text and as a page.

patchwork-env review examples/game.txt
patchwork-env review game.txt --agent champion:strong --out review
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from patchwork_env.core.commands import CommandParser, add_overwrite, check_place, run_command
from patchwork_env.core.files import check_writable, storing_in, write_text
from patchwork_env.core.progress import Bar

PAGE, FIGURES = "review.html", "review.json"
_AGENT_HELP = (
    "a search with a learned value and its budget per position: champion:strong, PATH:seconds=1 (%(default)s)"
)


def main(arguments: list[str] | None = None, program: str = "patchwork-env review") -> int:
    """Run the command; return the exit code."""
    parser = CommandParser(__doc__)
    option = parser.add_argument
    option("game", type=Path, metavar="FILE", help="a game in notation, finished or not")
    option("--agent", default="champion:fast", metavar="SPEC", help=_AGENT_HELP)
    option(
        "--out",
        type=Path,
        metavar="DIR",
        help="the folder of the results (default: NAME-review next to FILE)",
    )
    add_overwrite(parser)
    return run_command(parser, _run, arguments, program, "train")


def _run(options: argparse.Namespace) -> int:
    from patchwork_env.learning.evaluation.matches import load_player
    from patchwork_env.learning.reports.review import read_game, render_page, review, text

    out = options.out or options.game.with_name(options.game.stem + "-review")
    game, agent = read_game(options.game), load_player(options.agent)
    if out.exists() and not out.is_dir():
        raise NotADirectoryError(f"{out} is a file; --out takes the path of a folder")
    check_place(options, options.out, "--out")
    check_writable(out)
    with Bar(len(game.history), "moves") as bar:
        reviewed = review(game, agent, bar.update)
    with storing_in(out):
        out.mkdir(parents=True, exist_ok=True)
        write_text(out / PAGE, render_page(reviewed, options.game.name))
        write_text(out / FIGURES, json.dumps(reviewed.as_dict(), indent=2) + "\n")
    print(f"{text(reviewed)}\n\n{out}: {PAGE}, {FIGURES}")
    return 0

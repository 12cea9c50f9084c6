"""Options that several commands with matches share: games, workers and formats."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from patchwork_env import agents
from patchwork_env.core.commands import add_overwrite
from patchwork_env.core.files import write_text
from patchwork_env.games import GAMES
from patchwork_env.learning.distributed import Workers
from patchwork_env.learning.evaluation.tables import FORMATS, TEXT
from patchwork_env.learning.system import Interruption, signals_interrupt

GAMES_OF_A_MATCH = 400  # the default number of games of a match


def help_on_agents() -> str:
    """Return the help of commands about the agents that they take, with those of installed packages."""
    return (
        f"An agent is one of {', '.join(agents.names())}, the path of a checkpoint folder, with options "
        "after a colon, module:name for an Agent or for a function from a game to an action, or "
        "program:COMMAND for a program that answers lines of JSON."
    )


def add_games(parser: argparse.ArgumentParser, games_help: str, default: int = GAMES_OF_A_MATCH) -> None:
    """Add ``--games``, ``--seed``, ``--game`` and the options of the games."""
    option = parser.add_argument
    option("--games", type=int, default=default, help=f"{games_help} (default: {default})")
    option("--seed", type=int, default=0, help="of circles or decks, and of agents (default: 0)")
    option("--game", choices=GAMES, help="default: the only one that all agents play, or else patchwork")
    track, cards = "for patchwork: the print of the time track", "for nmbr9: the knowledge of later cards"
    option("--special-patches", metavar="EDITION", help=f"{track}, revised or 2014 (default: revised)")
    option("--order", metavar="ORDER", help=f"{cards}, unknown, known or free (default: unknown)")


def variant_of(options: argparse.Namespace) -> dict[str, Any]:
    """Return the options of the games by name; see ``runners.check_variant``."""
    return {"special_patches": options.special_patches, "order": options.order}


def add_worker_options(parser: argparse.ArgumentParser, default: int) -> None:
    """Add ``--workers``: a number of processes, or a Ray cluster."""
    text = (
        "number of processes, or a Ray cluster: local (a new one), auto (the one of this machine) or "
        f"host:port; the results do not depend on it (default: {default})"
    )
    parser.add_argument("--workers", type=_as_workers, default=default, metavar="N", help=text)


def _as_workers(text: str) -> Workers:
    return int(text) if text.lstrip("-").isdecimal() else text


@contextmanager
def stoppable(note: Callable[[], str]) -> Iterator[None]:
    """Within the block, SIGINT, SIGTERM and SIGHUP stop the games and then the command.

    The message ends with the ``note``; the exit code is 128 + the number of the signal.
    """
    try:
        with signals_interrupt():
            yield
    except Interruption as interruption:
        print(f"stopped by {interruption}{note()}")
        raise SystemExit(128 + interruption.signal) from None


def add_format(parser: argparse.ArgumentParser) -> None:
    """Add ``--format``."""
    text = "the format of the output (default: %(default)s)"
    parser.add_argument("--format", choices=FORMATS, default=TEXT, help=text)


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add ``--json`` and ``--overwrite``; see :func:`write_json`."""
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the figures to this file")
    add_overwrite(parser)


def write_json(options: argparse.Namespace, contents: Mapping[str, Any]) -> None:
    """Write the file of ``--json`` if the option is given."""
    if options.json:
        write_text(options.json, json.dumps(contents, indent=2) + "\n")

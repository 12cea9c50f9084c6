"""Options that commands share in which agents meet: the game, what of it is played, how results are shown."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from patchwork_env.core.files import check_file_path, write_text
from patchwork_env.games import GAMES
from patchwork_env.learning.evaluation.tables import FORMATS, TEXT
from patchwork_env.nmbr9.components import ORDERS
from patchwork_env.patchwork.components import VARIANTS


def add_games(parser: argparse.ArgumentParser, per: str) -> None:
    """Adds ``--games`` and what :func:`add_set_up` adds.

    Args:
        parser: The parser of the command.
        per: What has so many games: an opponent or a pairing.
    """
    parser.add_argument(
        "--games", type=int, default=400, help=f"games per {per}, even in patchwork (default: 400)"
    )
    add_set_up(parser)


def add_set_up(parser: argparse.ArgumentParser) -> None:
    """Adds ``--seed``, ``--game`` and the options of the games."""
    parser.add_argument(
        "--seed", type=int, default=0, help="the seed of circles or decks, and of agents (default: 0)"
    )
    parser.add_argument(
        "--game", choices=GAMES, help="default: the only one that all agents play, or else patchwork"
    )
    parser.add_argument(
        "--special-patches",
        choices=VARIANTS,
        help=f"for patchwork: the print of the time track (default: {VARIANTS[0]})",
    )
    parser.add_argument(
        "--order",
        choices=ORDERS,
        help=f"for nmbr9: what is known of the cards to come (default: {ORDERS[0]})",
    )


def add_format(parser: argparse.ArgumentParser) -> None:
    """Adds ``--format``."""
    parser.add_argument(
        "--format", choices=FORMATS, default=TEXT, help=f"the format of what is printed (default: {TEXT})"
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    """Adds ``--json``; see :func:`check_json` and :func:`write_json`."""
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the figures to this file")


def check_json(options: argparse.Namespace) -> None:
    """Finds out before anything is played that the file of ``--json`` cannot be written."""
    if options.json:
        check_file_path(options.json, "--json")


def write_json(options: argparse.Namespace, contents: Mapping[str, Any]) -> None:
    """Writes the file of ``--json``, if it was asked for."""
    if options.json:
        write_text(options.json, json.dumps(contents, indent=2) + "\n")


def variant_of(options: argparse.Namespace) -> dict[str, Any]:
    """The options of the games by name; see ``runners.check_variant``."""
    return {"special_patches": options.special_patches, "order": options.order}

"""What commands have in common that let agents meet: which game, what of it, and how results are shown."""

from __future__ import annotations

import argparse
from typing import Any

from patchwork_env.games import GAMES
from patchwork_env.learning.evaluation.tables import FORMATS, TEXT
from patchwork_env.nmbr9.components import ORDERS
from patchwork_env.patchwork.components import VARIANTS


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds ``--game`` and the options of the games."""
    parser.add_argument(
        "--game", choices=GAMES, help="default: the only one that all agents play, or else patchwork"
    )
    parser.add_argument(
        "--special-patches", choices=VARIANTS, help=f"of patchwork: print of the time track ({VARIANTS[0]})"
    )
    parser.add_argument(
        "--order", choices=ORDERS, help=f"of nmbr9: what is known of the cards to come ({ORDERS[0]})"
    )


def add_format(parser: argparse.ArgumentParser) -> None:
    """Adds ``--format``."""
    parser.add_argument("--format", choices=FORMATS, default=TEXT, help=f"of what is printed ({TEXT})")


def variant_of(options: argparse.Namespace) -> dict[str, Any]:
    """The options of the games, as ``check_variant`` takes them."""
    return {"special_patches": options.special_patches, "order": options.order}

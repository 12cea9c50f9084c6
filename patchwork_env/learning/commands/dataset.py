"""Records games of agents as a dataset of Minari, for offline reinforcement learning and for cloning.

patchwork-env dataset champion:instant champion:fast --games 1000 --id patchwork/self-play/champion-v0
patchwork-env dataset nmbr9_champion:instant --players 2 --games 1000 --id nmbr9/self-play/champion-v0

Several agents take seats by turns; a single one plays against itself, or alone where the game has one player.
`minari.load_dataset` loads the dataset by its id.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from patchwork_env.agents.specs import is_import
from patchwork_env.core.batches import REWARDS
from patchwork_env.core.commands import CommandParser, run_command
from patchwork_env.core.progress import Bar
from patchwork_env.errors import UnknownOptionError
from patchwork_env.learning.commands.match_options import add_set_up, variant_of
from patchwork_env.learning.distributed.jobs import add_worker_options, workers_of
from patchwork_env.learning.evaluation.players import HELP, load_player
from patchwork_env.learning.system.signals import Interruption, signals_interrupt


def main(arguments: list[str] | None = None, program: str = "patchwork-env dataset") -> int:
    """The command; returns the exit code."""
    return run_command(_parser(), _run, arguments, program)


def _run(options: argparse.Namespace) -> int:
    from patchwork_env.integrations.minari import record

    # What a name imports is an agent without a spec; a spec goes into the dataset, with its weights.
    agents = [load_player(text) if is_import(text) else text for text in options.agents]
    options_of_game = {**variant_of(options), "players": options.players}
    bar = Bar(options.games, "games", label=options.id)
    try:
        with signals_interrupt(), bar:
            dataset = record(
                agents,
                options.games,
                options.id,
                game=options.game,
                seed=options.seed,
                rewards=options.rewards,
                workers=workers_of(options),
                progress=bar.update,
                root=options.minari_path,
                author=options.author,
                code_permalink=options.code_permalink,
                **{name: value for name, value in options_of_game.items() if value is not None},
            )
    except UnknownOptionError as error:
        raise ValueError(str(error)) from None
    except Interruption as interruption:
        print(f"stopped by {interruption}: there is no dataset {options.id}", flush=True)
        return 128 + interruption.signal
    size = dataset.storage.metadata["dataset_size"]
    print(f"{options.id}: {dataset.total_episodes:,} episodes with {dataset.total_steps:,} decisions")
    print(f"{size} MB in {dataset.storage.data_path}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        description="Records games of agents as a dataset of Minari. An episode is what one player sees and "
        "does in one game.",
        epilog=HELP,
    )
    parser.add_argument("agents", metavar="AGENT", nargs="+", help="who plays; a single one against itself")
    parser.add_argument(
        "--id", required=True, metavar="ID", help="of the dataset, such as patchwork/self-play/champion-v0"
    )
    parser.add_argument("--games", type=int, default=1000, help="how many are played (default: 1000)")
    add_set_up(parser)
    parser.add_argument(
        "--players", type=int, help="for nmbr9: of a game, 1 to 4 (default: as many as there are agents)"
    )
    parser.add_argument(
        "--rewards",
        choices=REWARDS,
        help="for the end of a game, or the points of every move (default: outcome; of one player: score)",
    )
    parser.add_argument("--author", help="who makes the dataset, for its metadata")
    parser.add_argument("--code-permalink", metavar="URL", help="the code that makes it, for its metadata")
    parser.add_argument(
        "--minari-path",
        type=Path,
        metavar="PATH",
        help="the folder of all datasets (default: $MINARI_DATASETS_PATH, or else ~/.minari/datasets)",
    )
    add_worker_options(parser, 1)
    return parser


if __name__ == "__main__":
    sys.exit(main())

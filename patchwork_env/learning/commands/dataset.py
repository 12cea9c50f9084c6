"""Record games of agents as a dataset of Minari, for offline reinforcement learning and cloning.

patchwork-env dataset champion:instant champion:fast --games 1000 --id patchwork/self-play/champion-v0
patchwork-env dataset nmbr9_champion:instant --players 2 --games 1000 --id nmbr9/self-play/champion-v0

Several agents change seats from game to game; a single one plays against itself, or alone with one player.
An episode has the observations and actions of one player in one game. minari.load_dataset takes the id.
$MINARI_DATASETS_PATH is the folder of all datasets (default: ~/.minari/datasets).
"""

from __future__ import annotations

import argparse

from patchwork_env.agents.specs import is_import
from patchwork_env.core.batches import REWARDS
from patchwork_env.core.commands import CommandParser, run_command
from patchwork_env.core.progress import Bar
from patchwork_env.learning.commands.match_options import (
    add_games,
    add_worker_options,
    help_on_agents,
    stoppable,
    variant_of,
)
from patchwork_env.learning.evaluation.matches import load_player

_REWARDS_HELP = "for the end of a game, or the points of every move (default: outcome; of one player: score)"


def main(arguments: list[str] | None = None, program: str = "patchwork-env dataset") -> int:
    """Run the command; return the exit code."""
    parser = CommandParser(__doc__, help_on_agents())
    option = parser.add_argument
    option("agents", metavar="AGENT", nargs="+", help="the agents that play; a single one plays itself")
    option("--id", required=True, help="of the dataset, such as patchwork/self-play/champion-v0")
    add_games(parser, "how many are played", 1000)
    option("--players", type=int, help="for nmbr9: of a game, 1 to 4 (default: as many as there are agents)")
    option("--rewards", choices=REWARDS, help=_REWARDS_HELP)
    add_worker_options(parser, 1)
    return run_command(parser, _run, arguments, program, "minari")


def _run(options: argparse.Namespace) -> int:
    from patchwork_env.integrations.minari import record

    # Agents from module:name have no spec; the dataset records specs, with the hashes of weights.
    agents = [load_player(text) if is_import(text) else text for text in options.agents]
    options_of_game = {**variant_of(options), "players": options.players}
    bar = Bar(options.games, "games", label=options.id)
    with stoppable(lambda: f": there is no dataset {options.id}"), bar:
        dataset = record(
            agents,
            options.games,
            options.id,
            game=options.game,
            seed=options.seed,
            rewards=options.rewards,
            workers=options.workers,
            progress=bar.update,
            **{name: value for name, value in options_of_game.items() if value is not None},
        )
    size = dataset.storage.metadata["dataset_size"]
    print(f"{options.id}: {dataset.total_episodes:,} episodes with {dataset.total_steps:,} decisions")
    print(f"{size} MB in {dataset.storage.data_path}")
    return 0

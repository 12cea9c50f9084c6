"""A round robin among agents: all pairings with the same circles or decks, and the ratings they give.

python -m training.tournament random greedy ppo-quick ppo --games 400 --out runs/tournament
python -m training.tournament random greedy --game nmbr9 --out runs/nmbr9
python -m training.tournament --ladder runs/ppo --count 8 greedy
python -m training.tournament --resume --out runs/tournament

DIR holds tournament.json and blocks/, the games played so far, and in the end results.json, games.csv and the
plots. A tournament that was stopped goes on where it was: with the same command, or with --resume.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tqdm import tqdm

from patchwork_env.agents import Agent
from patchwork_env.core.checks import check_seed
from patchwork_env.errors import TableEdgeError
from patchwork_env.learning.commands.match_options import add_options, variant_of
from patchwork_env.learning.distributed.worker_options import add_options as add_worker_options
from patchwork_env.learning.distributed.worker_options import workers_of
from patchwork_env.learning.distributed.workers import WorkerError, Workers, check_workers
from patchwork_env.learning.evaluation.contests import check_variant, common_game, contest_of
from patchwork_env.learning.evaluation.matches import Task, check_games, join, play_tasks, split
from patchwork_env.learning.evaluation.players import HELP, fingerprint, labels, load_player
from patchwork_env.learning.evaluation.ratings import Anchor
from patchwork_env.learning.evaluation.results import Result
from patchwork_env.learning.evaluation.standings import Standings
from patchwork_env.learning.evaluation.store import (
    FORMAT,
    VERSION,
    BlockStore,
    Settings,
    open_store,
    read_settings,
)
from patchwork_env.learning.runs.ladder import Rung, rungs
from patchwork_env.learning.system.files import write_text
from patchwork_env.learning.system.machine import made_with, usable_cores
from patchwork_env.learning.system.signals import Interruption, signals_interrupt

DEFAULT_ANCHOR = "random"
_RESULTS, _GAMES = "results.json", "games.csv"


class Entry(NamedTuple):
    """A tournament that is about to be played."""

    settings: Settings
    players: list[Agent]
    anchor: Anchor


def enter(
    agents: Sequence[str],
    games: int,
    seed: int = 0,
    variant: Mapping[str, Any] | None = None,
    anchor: str | None = None,
    anchor_rating: float = 0.0,
    rungs: Sequence[Rung] = (),
    game: str | None = None,
) -> Entry:
    """Loads everybody and checks everything, before anything is written or played.

    Args:
        agents: Two or more different ones; see ``load_player``.
        games: Of every pairing, at least 1; for Patchwork even.
        seed: Of the circles or decks, and of the agents' random numbers.
        variant: What is played; see :func:`~patchwork_env.learning.evaluation.contests.check_variant`.
        anchor: Whose rating is fixed; by default that of ``"random"``, or else the mean of all.
        anchor_rating: At what it is fixed.
        rungs: The first agents, if they are the rungs of a ladder.
        game: Its name; None for the only one that all play, or else Patchwork.

    Raises:
        ValueError: An argument is not of these.
        FileNotFoundError: There is no such checkpoint.
        ImportError: There is no such module.
    """
    agents = tuple(agents)
    if len(agents) < 2:
        raise ValueError(f"a tournament needs at least two agents; given: {', '.join(agents) or 'none'}")
    repeated = sorted({agent for agent in agents if agents.count(agent) > 1})
    if repeated:
        raise ValueError(f"agents take part once; given more than once: {', '.join(repeated)}")
    if anchor is not None and anchor not in agents:
        raise ValueError(f"the anchor {anchor!r} does not take part; allowed are {', '.join(agents)}")
    if anchor is None and DEFAULT_ANCHOR in agents:
        anchor = DEFAULT_ANCHOR
    players = [load_player(agent) for agent in agents]
    game = common_game(players, game)
    what, games, seed = check_variant(game, variant or {}), check_games(games, game), check_seed(seed)
    weights = tuple(fingerprint(agent) for agent in agents)
    settings = Settings(agents, weights, games, seed, what, tuple(rungs), game)
    return Entry(settings, players, Anchor(None if anchor is None else agents.index(anchor), anchor_rating))


def play(
    entry: Entry, folder: Path, workers: Workers = 1, progress: Callable[[int], object] | None = None
) -> Standings:
    """Plays what has not been played yet of a tournament, and counts up.

    Args:
        entry: From :func:`enter`.
        folder: Where the games are kept, block by block.
        workers: Processes that share the games, or a cluster; with more than one, the agents must allow
            pickling.
        progress: Called with numbers of games, at first of those that had been played before.

    Raises:
        OtherSettingsError: The folder holds a tournament of other settings.
        ValueError: A file in the folder is damaged.
        InUseError: Another process plays this tournament.
        StorageError: The folder cannot be written.
        IllegalActionError: An agent chose an action that is not legal.
        WorkerError: A process was killed.
    """
    check_workers(workers)
    with open_store(folder, entry.settings) as store:
        tasks, report = _tasks(entry.settings), progress or (lambda games: None)
        left = [task for task in tasks if not store.has(task)]
        report(sum(map(_games_of, tasks)) - sum(map(_games_of, left)))
        for number, played in play_tasks(entry.players, left, workers):
            store.write(left[number], played)
            report(len(played.games))
        return _standings(entry, tasks, store)


def _tasks(settings: Settings) -> list[Task]:
    """All blocks of all pairings, those of the first circles or decks first."""
    pairs = _pairings(len(settings.agents))
    blocks = split(settings.game, settings.variant, settings.games, settings.seed)
    return [Task(i, j, block) for block in blocks for i, j in pairs]


def _pairings(n: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(n) for j in range(i + 1, n)]


def _games_of(task: Task) -> int:
    return contest_of(task.block.game).kind.games_per_set_up * (task.block.end - task.block.begin)


def _standings(entry: Entry, tasks: list[Task], store: BlockStore) -> Standings:
    names, settings = labels(entry.settings.agents), entry.settings
    results = {}
    for i, j in _pairings(len(names)):
        whole = join([store.read(task) for task in tasks if (task.agent, task.opponent) == (i, j)])
        about = names[i], names[j], settings.seed, settings.variant
        results[i, j] = Result(*about, whole.games, seconds=whole.seconds)
    return Standings(tuple(names), results, entry.anchor)


# --- results ----------------------------------------------------------------------------------------------


def write_results(folder: Path, entry: Entry, standings: Standings) -> None:
    """Writes results.json, games.csv and the plots into the folder of a tournament."""
    from patchwork_env.learning.reports import plots  # needs matplotlib

    write_text(folder / _RESULTS, json.dumps(as_json(entry, standings), indent=1) + "\n")
    write_text(folder / _GAMES, standings.csv())
    plots.ratings(standings, folder / "ratings.png")
    plots.win_matrix(standings, folder / "win_matrix.png")
    plots.distributions(standings, folder / "distributions.png")
    if entry.settings.rungs:
        plots.ladder(standings, entry.settings.rungs, folder / "ladder.png")


def as_json(entry: Entry, standings: Standings) -> dict[str, Any]:
    """The contents of results.json; docs/evaluation.md describes them."""
    settings = entry.settings
    listed = zip(standings.names, settings.agents, settings.weights, strict=True)
    return {
        "format": f"{FORMAT} results",
        "version": VERSION,
        "game": settings.game,
        "agents": [{"name": name, "spec": spec, "weights": weights} for name, spec, weights in listed],
        "games": settings.games,
        "seed": settings.seed,
        standings.kind.variant: settings.variant,
        **standings.as_dict(),
        "ladder": _rungs_as_dicts(settings.rungs, standings),
        "seconds_per_move": {name: standings.seconds_per_move(i) for i, name in enumerate(standings.names)},
        "made_with": made_with(),
    }


def _rungs_as_dicts(ladder: Sequence[Rung], standings: Standings) -> list[dict[str, Any]]:
    ratings = standings.ratings
    return [
        {
            "agent": standings.names[k],
            "steps": rung.steps,
            "minutes": rung.minutes,
            "rating": float(ratings.values[k]),
            "interval": list(ratings.intervals[k]),
        }
        for k, rung in enumerate(ladder)
    ]


# --- the command ------------------------------------------------------------------------------------------


def main(arguments: list[str] | None = None) -> int:
    """The command; returns the exit code: 0, 2 for an error, 128 + the number of a signal that stopped it."""
    options = _parse(arguments)
    try:
        entry = _entry(options)
        workers = workers_of(options)
        _need_matplotlib()
        return _run(options, entry, workers)
    except (ValueError, OSError, ImportError, TableEdgeError, WorkerError) as error:
        print(f"training.tournament: {error}", file=sys.stderr)
        return 2


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m training.tournament",
        description="A round robin: everybody against everybody with the same circles or decks.",
        epilog=HELP,
    )
    parser.add_argument("agents", metavar="AGENT", nargs="*", help="who takes part; also beside a ladder")
    parser.add_argument("--ladder", type=Path, metavar="RUN_DIR", help="checkpoints of this run take part")
    parser.add_argument("--count", type=int, default=8, help="how many of them (default: 8)")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where all is kept; default RUN_DIR/ladder")
    parser.add_argument("--resume", action="store_true", help="go on with the tournament in DIR as it is")
    parser.add_argument(
        "--games", type=int, default=400, help="per pairing, even in patchwork (default: 400)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of circles or decks, and agents (default: 0)")
    add_options(parser)
    parser.add_argument(
        "--anchor", metavar="AGENT", help="whose rating is fixed; default random, or the mean"
    )
    parser.add_argument("--anchor-rating", type=float, default=0.0, help="at what (default: 0)")
    add_worker_options(parser, usable_cores())
    options = parser.parse_args(arguments)
    if options.out is None and options.ladder is None:
        parser.error("--out is required, for the games that have been played are kept there")
    if options.resume and options.agents:
        parser.error("--resume takes the agents from DIR; give none")
    options.out = options.out or options.ladder / "ladder"
    return options


def _entry(options: argparse.Namespace) -> Entry:
    anchor = options.anchor, options.anchor_rating
    if options.resume:
        there = read_settings(options.out)
        variant: dict[str, Any] = {contest_of(there.game).kind.variant: there.variant}
        return enter(there.agents, there.games, there.seed, variant, *anchor, there.rungs, there.game)
    ladder = [] if options.ladder is None else rungs(options.ladder, options.count)
    agents = [*(rung.spec for rung in ladder), *options.agents]
    variant = variant_of(options)
    return enter(agents, options.games, options.seed, variant, *anchor, ladder, options.game)


def _need_matplotlib() -> None:
    try:
        import matplotlib  # noqa: F401
    except ModuleNotFoundError:
        raise ModuleNotFoundError("plots need matplotlib: pip install 'patchwork-env[train]'") from None


def _run(options: argparse.Namespace, entry: Entry, workers: Workers) -> int:
    settings = entry.settings
    total = settings.games * len(_pairings(len(settings.agents)))
    with signals_interrupt(), tqdm(total=total, unit=" games", disable=None) as bar:
        try:
            standings = play(entry, options.out, workers, bar.update)
        except Interruption as interruption:
            bar.close()
            print(
                f"stopped by {interruption}: {bar.n:,} of {total:,} games are in {options.out}; go on with "
                f"--resume --out {options.out}",
                flush=True,
            )
            return 128 + interruption.signal
    print(standings.table(), flush=True)
    write_results(options.out, entry, standings)
    print(f"\nresults and plots: {options.out}")
    return 0


__all__ = ["Entry", "OtherSettingsError", "enter", "main", "play", "write_results"]

if __name__ == "__main__":
    sys.exit(main())

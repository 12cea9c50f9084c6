"""Measures the scores of an agent alone at NMBR 9 with the decks of nmbr9_decks.txt.

    python benchmarks/nmbr9_decks.py AGENT [--decks N] [--first K] [--known] [--workers N]
                                     [--keep DIR] [--json FILE]
    python benchmarks/nmbr9_decks.py --write

The file holds 1000 decks of the published game, shuffled with seed 9, a line of digits each, the first card
first. They are unknown to the agent unless --known is given. With --keep every game is stored when it ends,
and the same command resumes after a stop. Needs the package without extras and the libraries of the agent.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from time import monotonic, perf_counter
from typing import Any, NamedTuple
from weakref import WeakSet

import numpy as np
import numpy.typing as npt

from patchwork_env import __version__
from patchwork_env.agents import Agent
from patchwork_env.core.batches import begin_games
from patchwork_env.core.checks import as_number, seed_streams
from patchwork_env.core.documents import read_text
from patchwork_env.core.files import check_file_path, write_text
from patchwork_env.core.names import counted, short_repr
from patchwork_env.errors import WorkerError
from patchwork_env.games import NMBR9
from patchwork_env.learning.commands.match_options import add_worker_options, help_on_agents
from patchwork_env.learning.distributed import Workers, do_jobs
from patchwork_env.learning.evaluation.matches import Participant
from patchwork_env.learning.evaluation.playing import attribute_errors
from patchwork_env.learning.evaluation.store import GameStore, open_store
from patchwork_env.learning.system import describe_setup, made_with
from patchwork_env.nmbr9 import Game
from patchwork_env.nmbr9.rules import RULES, check_deck

FILE = Path(__file__).with_name("nmbr9_decks.txt")
NUMBER, SEED = 1000, 9
FORMAT, VERSION = "patchwork-env decks", 1
STORE_VERSION = 2
QUANTILES = (5, 25, 50, 75, 95)
PAUSE = 10.0
"""The seconds between two progress reports."""
BIN = 10
"""The range of scores, in points, that a row of the histogram covers."""
LONGEST_BAR = 50

Deck = tuple[int, ...]
"""The digits of the cards, the first card first."""


def main() -> int:
    options = parse()
    try:
        if options.write:
            write_text(FILE, decks_text(shuffled_decks(NUMBER, SEED)))
            return 0
        if options.json:
            check_file_path(options.json, "--json")
        run(options)
    except (ValueError, OSError, ImportError, WorkerError) as error:
        print(f"nmbr9_decks.py: {error}", file=sys.stderr)
        return 2
    return 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0], epilog=help_on_agents())
    parser.add_argument("agent", metavar="AGENT", nargs="?", help="the agent that is measured")
    parser.add_argument(
        "--decks", type=int, metavar="N", help="the number of decks (default: all of the file)"
    )
    parser.add_argument("--first", type=int, metavar="K", default=0, help="number of the first (default: 0)")
    parser.add_argument("--file", type=Path, default=FILE, help="the decks (default: nmbr9_decks.txt)")
    parser.add_argument("--known", action="store_true", help="show the agent the whole deck")
    parser.add_argument("--seed", type=int, default=0, help="seed of the agent (default: 0)")
    add_worker_options(parser, 1)
    parser.add_argument("--keep", type=Path, metavar="DIR", help="store all games, to resume after a stop")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to this file")
    parser.add_argument("--write", action="store_true", help="write nmbr9_decks.txt anew")
    options = parser.parse_args()
    if options.write == bool(options.agent):
        parser.error("give an AGENT, or --write alone")
    return options


def run(options: argparse.Namespace) -> None:
    """Plays the decks that are not stored, and shows and writes the result."""
    decks = dict(enumerate(read_decks(options.file)))
    end = len(decks) if options.decks is None else options.first + options.decks
    if not 0 <= options.first < end <= len(decks):
        raise ValueError(f"decks {options.first} to {end - 1} are asked for; there are 0 to {len(decks) - 1}")
    player, order = Participant.load(options.agent), "known" if options.known else "unknown"
    wanted = {number: decks[number] for number in range(options.first, end)}
    with ExitStack() as stack:
        store = None
        if options.keep:
            settings = {
                "game": NMBR9,
                "agent": player.name,
                "weights": player.weights,
                "order": order,
            }
            settings |= {"seed": options.seed, "file": options.file.name, "package": __version__}
            store = stack.enter_context(open_store(options.keep, "decks", STORE_VERSION, settings))
        done, workers = reporter(len(wanted)), options.workers
        result = play_decks(player.agent, wanted, order, options.seed, workers, done, store)
    print(describe_setup())
    print(result.table())
    if options.json:
        write_text(options.json, json.dumps(result.as_dict(), indent=1) + "\n")


class DeckGame(NamedTuple):
    """A game that an agent played with a deck.

    Attributes:
        deck: The number of the deck.
        score: The points that the agent scored.
        tiles: The number of tiles on each level, the table itself first.
        seconds: The time that the agent took for all of its moves, in seconds.
        longest: The time that the agent took for its slowest move, in seconds.
        notation: The game in notation, which ``Game.from_notation`` replays.
    """

    deck: int
    score: int
    tiles: tuple[int, ...]
    seconds: float
    longest: float
    notation: str


def reporter(number: int) -> Callable[[DeckGame], None]:
    """Return a function that reports the progress every :data:`PAUSE` seconds."""
    said, scores = monotonic(), []

    def report(game: DeckGame) -> None:
        nonlocal said
        scores.append(game.score)
        if monotonic() - said > PAUSE:
            said = monotonic()
            mean = sum(scores) / len(scores)
            print(f"{len(scores)} of {number} decks, mean {mean:.2f}", file=sys.stderr, flush=True)

    return report


@dataclass(frozen=True)
class DecksResult:
    """The games that an agent played with several decks, in the order of their numbers."""

    agent: str
    order: str
    games: tuple[DeckGame, ...]

    @property
    def scores(self) -> npt.NDArray[np.int64]:
        """The score of each deck, int64 ``(n,)``."""
        return np.array([game.score for game in self.games], np.int64)

    @property
    def standard_error(self) -> float | None:
        """The standard error of the mean score; None for a single deck."""
        number = len(self.games)
        return None if number < 2 else float(self.scores.std(ddof=1)) / sqrt(number)

    @property
    def seconds_per_move(self) -> float:
        """The mean time that the agent took for a move, in seconds."""
        return sum(game.seconds for game in self.games) / sum(sum(game.tiles) for game in self.games)

    @property
    def longest_move(self) -> float:
        """The time that the agent took for its slowest move, in seconds."""
        return max(game.longest for game in self.games)

    @property
    def levels(self) -> float:
        """The mean number of levels with tiles on them, the table itself included."""
        return float(np.mean([len(game.tiles) for game in self.games]))

    def tiles_per_level(self) -> list[float]:
        """The mean number of tiles on each level, the table itself first."""
        height = max(len(game.tiles) for game in self.games)
        padded = [game.tiles + (0,) * (height - len(game.tiles)) for game in self.games]
        return [float(mean) for mean in np.mean(padded, axis=0)]

    def as_dict(self) -> dict[str, Any]:
        """The result as plain data, for JSON; docs/reference/formats.md describes it."""
        scores = self.scores
        return {
            "format": FORMAT,
            "version": VERSION,
            "game": NMBR9,
            "agent": self.agent,
            "order": self.order,
            "decks": len(self.games),
            "mean": float(scores.mean()),
            "standard_error": self.standard_error,
            "lowest": int(scores.min()),
            "highest": int(scores.max()),
            "quantiles": {str(q): float(np.percentile(scores, q)) for q in QUANTILES},
            "levels": self.levels,
            "tiles_per_level": self.tiles_per_level(),
            "seconds_per_move": self.seconds_per_move,
            "longest_move": self.longest_move,
            "scores": {str(game.deck): game.score for game in self.games},
            "made_with": made_with(),
        }

    def table(self) -> str:
        """The result as lines of text."""
        scores, error = self.scores, self.standard_error
        spread = "" if error is None else f" ± {error:.2f} (standard error)"
        quantiles = ", ".join(f"{q}%: {np.percentile(scores, q):.0f}" for q in QUANTILES)
        tiles = ", ".join(f"{mean:.2f}" for mean in self.tiles_per_level())
        return "\n".join(
            [
                f"{self.agent}: {counted(len(self.games), 'deck')}, order {self.order}",
                f"  mean score {scores.mean():.2f}{spread}, {scores.min()} to {scores.max()}",
                f"  quantiles {quantiles}",
                f"  {self.levels:.2f} levels, with {tiles} tiles",
                f"  {self.seconds_per_move:.3g} s per move, at most {self.longest_move:.3g} s",
                *histogram(scores),
            ]
        )


def histogram(scores: npt.NDArray[np.int64]) -> list[str]:
    counts = Counter((scores // BIN).tolist())
    scale = LONGEST_BAR / max(counts.values())
    return [
        f"  {BIN * k:>4}-{BIN * k + BIN - 1:<3} {counts[k]:>5} {'#' * round(scale * counts[k])}".rstrip()
        for k in range(min(counts), max(counts) + 1)
    ]


# --- playing ------------------------------------------------------------------------------------------------


class Job(NamedTuple):
    """A deck that is to be played, by its number."""

    number: int
    deck: Deck
    order: str
    seed: int

    @property
    def part(self) -> str:
        """The name under which a store keeps the game."""
        return f"{self.number:06d}"


def play_decks(
    agent: Agent,
    decks: Mapping[int, Deck],
    order: str = "unknown",
    seed: int = 0,
    workers: Workers = 1,
    done: Callable[[DeckGame], object] | None = None,
    store: GameStore | None = None,
) -> DecksResult:
    """Plays decks of NMBR 9 with an agent alone.

    If the order is unknown, later cards have another, random order in the games that the agent gets. The
    agent is reseeded for each deck, from ``seed`` and the number of the deck. So equal seeds give equal
    results for any number of processes, unless the agent uses the clock.

    Args:
        agent: The agent, which must play NMBR 9.
        decks: The decks by their numbers, at least one.
        order: ``"unknown"``, or ``"known"`` to show the agent the whole deck.
        seed: The seed of random numbers.
        workers: The number of processes, or a cluster.
        done: Called with every game as it ends.
        store: The store of games; stored games are not played again.
    """
    agent.check_game(NMBR9)
    jobs = [Job(number, tuple(check_deck(deck)), order, seed) for number, deck in decks.items()]
    games = [] if store is None else [kept_game(store, job) for job in jobs if store.has(job.part)]
    played = {game.deck for game in games}
    jobs = [job for job in jobs if job.number not in played]
    for index, game in do_jobs(play_deck, agent, jobs, workers):
        games.append(game)
        if store is not None:
            store.write(jobs[index].part, game._asdict())
        if done is not None:
            done(game)
    return DecksResult(agent.name, order, tuple(sorted(games)))


def kept_game(store: GameStore, job: Job) -> DeckGame:
    """The stored game of a job; ValueError if it is damaged or of another job."""

    def parse(kept: Any) -> DeckGame:
        game, times = Game.from_notation(kept["notation"]), (kept["seconds"], kept["longest"])
        if game.root() != Game(deck=job.deck, order=job.order) or not game.is_over:
            raise ValueError(f"it holds no whole game with deck {job.number}")
        played = deck_game(job, game, *(as_number(time, "a time", least=0) for time in times))
        if played != DeckGame(**kept | {"tiles": tuple(kept["tiles"])}):
            raise ValueError("deck, score or tiles are not those of its notation")
        return played

    return store.read(job.part, parse)


warm: WeakSet[Agent] = WeakSet()
"""The agents that have played in this process, so that their compiled functions are ready."""


def play_deck(agent: Agent, job: Job) -> DeckGame:
    """Plays one deck; see :func:`play_decks`."""
    game = Game(deck=job.deck, order=job.order)
    if agent not in warm:
        with attribute_errors(agent):
            agent.act(game.clone())
        warm.add(agent)
    source = np.random.SeedSequence([job.seed, job.number])
    seeds = source.generate_state(len(job.deck) + 1, np.uint64).tolist()
    agent.reseed(seeds[-1])
    times = []
    while not game.is_over:
        shown = game.determinize(seeds[game.round])
        with attribute_errors(agent):
            began = perf_counter()
            action = agent.act(shown)
            times.append(perf_counter() - began)
        game.play(action)
    return deck_game(job, game, sum(times), max(times))


def deck_game(job: Job, game: Game, seconds: float, longest: float) -> DeckGame:
    """The figures of a game that is over."""
    tiles = Counter(move.level or 0 for move in game.placements(0))
    counts = tuple(tiles[level] for level in range(max(tiles) + 1))
    return DeckGame(job.number, game.scores()[0], counts, seconds, longest, game.notation())


# --- decks in files -----------------------------------------------------------------------------------------


def shuffled_decks(number: int, seed: int) -> list[Deck]:
    """Random decks of the published game: deck ``k`` is that of game ``k`` of every batch of this seed."""
    states = begin_games(RULES, seed_streams(seed, number))
    return [tuple(deck) for deck in states["deck"][:, : states[0]["num_cards"]].tolist()]


def decks_text(decks: list[Deck]) -> str:
    """The contents of a file that holds these decks."""
    return "".join("".join(map(str, deck)) + "\n" for deck in decks)


def read_decks(path: Path) -> list[Deck]:
    """The decks of a file.

    Raises:
        ValueError: The file holds no deck, or something else in a line that the message names.
    """
    decks = []
    for number, line in enumerate(read_text(path).splitlines(), 1):
        try:
            if not (line.isascii() and line.isdigit()):
                raise ValueError(f"{short_repr(line)} is no deck; it must be a line of digits")
            decks.append(tuple(check_deck(map(int, line))))
        except ValueError as error:
            raise ValueError(f"{path}, line {number}: {error}") from None
    if not decks:
        raise ValueError(f"{path} holds no deck")
    return decks


if __name__ == "__main__":
    sys.exit(main())

"""Measures the levels for people: each against the level below, and against fixed agents.

    python benchmarks/partners.py [--game GAME] [--games N] [--anchor-games N] [--anchors SPEC ...] [--seed S]

In Patchwork every circle is played from both seats; in NMBR 9 both sides have the same deck.
"""

import argparse
import itertools
from collections.abc import Iterator, Sequence

from patchwork_env.agents.partner import BEGINNER, CHAMPION
from patchwork_env.games import GAMES, NMBR9, PATCHWORK
from patchwork_env.learning.evaluation import play_matches
from patchwork_env.learning.evaluation.results import MATCH_COLUMNS, MatchResult
from patchwork_env.learning.evaluation.runners import AGENT
from patchwork_env.learning.evaluation.tables import Column, Table
from patchwork_env.learning.system import describe_setup

ANCHORS = {PATCHWORK: ("random", "greedy", "champion:instant"), NMBR9: ("random", "greedy")}
"""The agents that every level plays."""
FIGURES = {PATCHWORK: ("score", "empty_cells"), NMBR9: ("score",)}
"""The figures of the level's own games."""


def pairings(game: str, anchors: Sequence[str]) -> Iterator[tuple[str, str, bool]]:
    """Yield the pairs of players, and whether both are neighboring levels."""
    levels = [f"partner:level={level}" for level in range(BEGINNER, CHAMPION + 1)]
    for lower, higher in itertools.pairwise(levels):
        yield higher, lower, True
    for anchor in anchors:
        for level in levels:
            yield level, anchor, False


def row(result: MatchResult) -> list[object]:
    """The row of a match."""
    means = result.means(AGENT)
    figures = [means[name] for name in FIGURES[result.games.game]]
    return [result.agent, result.opponent, *result.figures.cells, *figures]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--game", choices=GAMES, default=PATCHWORK, help="default: %(default)s")
    parser.add_argument("--games", type=int, default=400, help="between two levels (default: %(default)s)")
    parser.add_argument(
        "--anchor-games", type=int, default=200, help="against every other agent (default: %(default)s)"
    )
    parser.add_argument("--anchors", metavar="SPEC", nargs="*", help="the other agents")
    parser.add_argument("--seed", type=int, default=1, help="default: %(default)s")
    options = parser.parse_args()
    anchors: Sequence[str] = ANCHORS[options.game] if options.anchors is None else options.anchors
    figures = [Column(name.replace("_", " "), "{:.1f}".format) for name in FIGURES[options.game]]
    print(describe_setup(), f"seed {options.seed}", sep="\n", flush=True)
    rows = []
    for level, other, is_ladder in pairings(options.game, anchors):
        games = options.games if is_ladder else options.anchor_games
        try:
            result = play_matches(level, other, games, options.seed, game=options.game)
        except (ValueError, OSError) as error:
            parser.error(str(error))
        rows.append(row(result))
        print(*result.table().splitlines()[:2], sep="\n", flush=True)
    columns = [Column("agent"), Column("against"), *MATCH_COLUMNS, *figures]
    print(*Table(columns, rows).lines(), sep="\n")


if __name__ == "__main__":
    main()

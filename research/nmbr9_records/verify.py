"""Replays a stack of NMBR 9 by the rules, and shows its score and its levels.

    python -m research.nmbr9_records.verify [FILE] [--picture FILE]

FILE (default: best.json) lists the tiles in an order in which they can be placed. Each is an object
with its digit, its orientation (clockwise quarter turns), its level, and the row and column of the top-left
corner of its bounding box, counted from that of the first tile. Every placement is played with the engine in
a game in free order, which refuses what the rules do not allow; level by level and the score are compared.
"""

import argparse
import json
import sys
from pathlib import Path

from patchwork_env.agents.nmbr9.beam import Plan
from patchwork_env.agents.nmbr9.features import Tile
from patchwork_env.nmbr9.actions import NUM_TURNS
from patchwork_env.nmbr9.components import NUM_DIGITS
from patchwork_env.nmbr9.game import Game
from patchwork_env.nmbr9.render import MissingExtraError, rgb_array, save_png
from research.nmbr9_records.stacks import build, in_order

FILE = Path(__file__).with_name("best.json")
_KEYS = ("digit", "orientation", "level", "row", "column")


def stack_text(plan: Plan) -> str:
    """The contents of the file of a stack."""
    tiles, rows = in_order(plan.stack), []
    for tile in tiles:
        corner = tile.row - tiles[0].row, tile.column - tiles[0].column
        rows.append(dict(zip(_KEYS, (*divmod(tile.piece, NUM_TURNS), tile.level, *corner), strict=True)))
    lines = ",\n".join(f"  {json.dumps(row)}" for row in rows)
    return f'{{\n "score": {plan.score},\n "tiles": [\n{lines}\n ]\n}}\n'


def read_stack(path: Path) -> Plan:
    """The stack of a file; what it says is checked by :func:`replay`.

    Raises:
        FileNotFoundError: There is no file.
        ValueError: It is not of this form.
    """
    try:
        contents = json.loads(path.read_text())
        tiles = [tuple(int(row[key]) for key in _KEYS) for row in contents["tiles"]]
        score = int(contents["score"])
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} holds no stack: {error!r}") from None
    for digit, orientation, *_ in tiles:
        if digit not in range(NUM_DIGITS) or orientation not in range(NUM_TURNS):
            raise ValueError(f"{path}: there is no tile {digit} in orientation {orientation}")
    return Plan(
        score, tuple(Tile(NUM_TURNS * d + o, level, row, column) for d, o, level, row, column in tiles)
    )


def replay(plan: Plan) -> Game:
    """The game in free order that a stack makes.

    Raises:
        ValueError: A placement is not allowed by the rules, or a level or the score is not as stated.
    """
    game = Game(order="free")
    build(game, plan.stack)
    if game.scores() != (plan.score,):
        raise ValueError(f"the score is {game.scores()[0]}, not {plan.score}")
    return game


def drawing(plan: Plan, level: int) -> str:
    """The tiles of a level as text: a digit for each cell, a dot for cells of lower levels."""
    cells = {cell: str(tile.digit) for tile in plan.stack if tile.level == level for cell in tile.cells}
    everything = [cell for tile in plan.stack for cell in tile.cells]
    rows, columns = zip(*everything, strict=True)
    return "\n".join(
        " ".join(
            cells.get((row, column), "." if (row, column) in everything else " ")
            for column in range(min(columns), max(columns) + 1)
        ).rstrip()
        for row in range(min(rows), max(rows) + 1)
    )


def show(plan: Plan, game: Game) -> None:
    levels = sorted({tile.level for tile in plan.stack}, reverse=True)
    print(f"{plan.score} points with {len(plan.stack)} tiles on {len(levels)} levels, by the rules\n")
    for level in levels:
        digits = sorted(tile.digit for tile in plan.stack if tile.level == level)
        print(f"level {level}: {digits}, {level * sum(digits)} points\n{drawing(plan, level)}\n")
    print("the game is over: all 20 tiles are placed" if game.is_over else "the game is not over")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("file", metavar="FILE", type=Path, nargs="?", default=FILE)
    parser.add_argument("--picture", metavar="FILE", type=Path, help="a PNG to draw; needs Pillow")
    options = parser.parse_args()
    try:
        plan = read_stack(options.file)
        game = replay(plan)
        show(plan, game)
        if options.picture:
            save_png(rgb_array(game, 640, ("free order",)), options.picture)
    except (ValueError, OSError, MissingExtraError) as error:
        print(f"verify: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

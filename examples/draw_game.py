"""Plays a game of Patchwork or NMBR 9 and draws it.

Writes into a folder: ``table.png`` and ``table.svg``, a position late in the game,
``final.png`` and ``final.svg``, the last one, and ``game.gif``, the whole game as an animation.

    python examples/draw_game.py --seed 7 --players greedy random --out pictures
    python examples/draw_game.py --game nmbr9 --players greedy --out pictures
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from patchwork_env import agents, nmbr9, patchwork
from patchwork_env.nmbr9 import render as nmbr9_render
from patchwork_env.patchwork import render as patchwork_render
from patchwork_env.patchwork.render import MissingExtraError, save_gif, save_png

Game = patchwork.Game | nmbr9.Game

NUM_PLAYERS = {"patchwork": (2,), "nmbr9": (1, 2, 3, 4)}
"""The possible numbers of players of each game; the first is the usual one."""


def main() -> None:
    parser = argparse.ArgumentParser(description="Plays a game and draws it.")
    parser.add_argument("--game", choices=NUM_PLAYERS, default="patchwork", help="(default: patchwork)")
    parser.add_argument("--seed", type=_seed, default=7, help="of the game and the players (default: 7)")
    parser.add_argument("--players", nargs="+", metavar="SPEC", help="the players (default: greedy)")
    parser.add_argument("--out", type=Path, default=Path("pictures"), help="folder (default: pictures)")
    parser.add_argument("--width", type=int, default=960, help="of the pictures in pixels (default: 960)")
    parser.add_argument("--gif-width", type=int, default=720, help="of the animation (default: 720)")
    arguments = parser.parse_args()
    numbers = NUM_PLAYERS[arguments.game]
    specs = tuple(arguments.players or numbers[0] * ["greedy"])
    if len(specs) not in numbers:
        parser.error(f"argument --players: expected {' or '.join(map(str, numbers))} arguments")
    try:
        positions = play(arguments.game, arguments.seed, specs)
        draw(positions, specs, arguments.out, arguments.width, arguments.gif_width)
    except (ValueError, OSError, MissingExtraError) as error:
        parser.error(str(error))
    print(positions[-1])
    print(f"\npictures in {arguments.out}")


def play(name: str, seed: int, specs: tuple[str, ...]) -> list[Game]:
    """Return all positions of a game between agents; with the game's seed one could repeat its cards."""
    players = [agents.load(spec, seed=seed + number) for number, spec in enumerate(specs, 1)]
    game: Game = patchwork.Game(seed=seed)
    if name == "nmbr9":
        game = nmbr9.Game(seed=seed, players=len(specs))
    positions = [game.clone()]
    while not game.is_over:
        game.play(players[game.current_player].act(game))
        positions.append(game.clone())
    return positions


def draw(positions: list[Game], specs: tuple[str, ...], out: Path, width: int, gif_width: int) -> None:
    """Write the pictures of a game into the folder ``out``."""
    render: Any = nmbr9_render if isinstance(positions[0], nmbr9.Game) else patchwork_render
    is_told_apart = len(set(specs)) == len(specs)
    names = specs if is_told_apart else tuple(f"{spec} {seat}" for seat, spec in enumerate(specs))
    out.mkdir(parents=True, exist_ok=True)
    for name, game in (("table", positions[len(positions) * 2 // 3]), ("final", positions[-1])):
        save_png(render.rgb_array(game, width, names), out / f"{name}.png")
        (out / f"{name}.svg").write_text(render.svg(game, names), encoding="utf-8")
    save_gif([render.rgb_array(game, gif_width, names) for game in positions], out / "game.gif")


def _seed(text: str) -> int:
    """Parse a seed of the command line, a nonnegative integer."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"a seed is a whole number, 0 or more, not {text!r}")
    return int(text)


if __name__ == "__main__":
    main()

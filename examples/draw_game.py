"""Plays a game of Patchwork and draws it.

Writes into a folder: ``table.png`` and ``table.svg``, a position late in the game,
``final.png`` and ``final.svg``, the last one, and ``game.gif``, the whole game as an animation.

    python examples/draw_game.py --seed 7 --players greedy random --out pictures
"""

from __future__ import annotations

import argparse
from pathlib import Path

from patchwork_env import agents
from patchwork_env.patchwork import Game
from patchwork_env.patchwork.render import MissingExtraError, rgb_array, save_gif, save_png, svg


def main() -> None:
    parser = argparse.ArgumentParser(description="Plays a game of Patchwork and draws it.")
    parser.add_argument("--seed", type=_seed, default=7, help="of the circle and the players (default: 7)")
    parser.add_argument("--players", nargs=2, metavar="SPEC", default=("greedy", "greedy"), help="who plays")
    parser.add_argument("--out", type=Path, default=Path("pictures"), help="folder (default: pictures)")
    parser.add_argument("--width", type=int, default=960, help="of the pictures in pixels (default: 960)")
    parser.add_argument("--gif-width", type=int, default=720, help="of the animation (default: 720)")
    arguments = parser.parse_args()
    try:
        positions = play(arguments.seed, tuple(arguments.players))
        draw(positions, tuple(arguments.players), arguments.out, arguments.width, arguments.gif_width)
    except (ValueError, OSError, MissingExtraError) as error:
        parser.error(str(error))
    print(positions[-1])
    print(f"\npictures in {arguments.out}")


def play(seed: int, specs: tuple[str, str]) -> list[Game]:
    """All positions of a game between two agents, from the start to the end."""
    players = [agents.load(spec, seed=seed + seat) for seat, spec in enumerate(specs)]
    game = Game(seed=seed)
    positions = [game.clone()]
    while not game.is_over:
        game.play(players[game.current_player].act(game))
        positions.append(game.clone())
    return positions


def draw(positions: list[Game], specs: tuple[str, str], out: Path, width: int, gif_width: int) -> None:
    """Writes the pictures of a game into the folder ``out``."""
    names = (f"{specs[0]} 0", f"{specs[1]} 1") if specs[0] == specs[1] else specs
    out.mkdir(parents=True, exist_ok=True)
    for name, game in (("table", positions[len(positions) * 2 // 3]), ("final", positions[-1])):
        save_png(rgb_array(game, width, names), out / f"{name}.png")
        (out / f"{name}.svg").write_text(svg(game, names), encoding="utf-8")
    save_gif([rgb_array(game, gif_width, names) for game in positions], out / "game.gif")


def _seed(text: str) -> int:
    """A seed on the command line: a whole number that is not negative."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"a seed is a whole number, 0 or more, not {text!r}")
    return int(text)


if __name__ == "__main__":
    main()

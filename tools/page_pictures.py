"""Takes pictures of the page for the documents, in a browser without a window.

python -m tools.page_pictures --out docs/images

Needs the extra ``play``, Playwright, Chromium, and Pillow, which makes the files small.
"""

import argparse
import io
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from patchwork_env import agents, nmbr9, patchwork
from patchwork_env.learning.reports.review import read_game

COLORS = 256
SETTLING_MILLISECONDS = 8000
"""The time until the page shows the evaluation."""
_REVIEW_MILLISECONDS = 300_000
"""The most time until a button appears, which may be a whole review on a busy machine."""
_EXAMPLE = read_game(Path(__file__).parents[1] / "examples" / "game.txt")
_REVIEW = '[data-role="review"]'
_SECOND_MISTAKE = '[data-done="true"] [data-role="worst"] li:nth-child(2) .review-show'


class View(NamedTuple):
    """A picture: its file, the query and the game, the window, the color scheme, and selectors to click."""

    file: str
    query: str
    game: Any
    width: int
    height: int
    scheme: str
    clicks: tuple[str, ...] = ()


def played(game: Any, plies: int) -> Any:
    """A game after at least so many moves of the greedy agent, with player 0 to buy or to place."""
    agent = agents.load("greedy", seed=0)
    while game.num_moves < plies or game.current_player != 0 or getattr(game, "pending_special", False):
        game.play(int(agent.act(game)))
    return game


def views() -> list[View]:
    """The pictures that the documents show."""
    middle = played(patchwork.Game(seed=18), 24)
    against = "?opponent=partner:level=3&seat=0"
    return [
        View("play.png", against, middle, 1440, 860, "light"),
        View("play_phone.png", f"{against}&lang=fa", middle, 390, 844, "dark"),
        View("play_review.png", against, _EXAMPLE, 1440, 1000, "light", (_REVIEW, _SECOND_MISTAKE)),
        View("play_nmbr9.png", "?game=nmbr9", played(nmbr9.Game(seed=3), 12), 1440, 860, "light"),
    ]


def take(browser: Any, address: str, view: View) -> bytes:
    """The picture as PNG."""
    size = {"width": view.width, "height": view.height}
    page = browser.new_page(viewport=size, color_scheme=view.scheme, reduced_motion="reduce")
    page.goto(f"{address}{view.query}#{quote(view.game.notation())}")
    page.wait_for_selector("[data-ready]", state="attached")
    for selector in view.clicks:
        page.click(selector, timeout=_REVIEW_MILLISECONDS)
    page.wait_for_timeout(SETTLING_MILLISECONDS)
    picture: bytes = page.screenshot()
    page.close()
    return picture


def made_small(picture: bytes) -> bytes:
    """The picture with a palette."""
    from PIL import Image

    file = io.BytesIO()
    Image.open(io.BytesIO(picture)).convert("RGB").quantize(COLORS).save(file, "PNG", optimize=True)
    return file.getvalue()


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description="Takes pictures of the page for the documents.")
    parser.add_argument(
        "--out", type=Path, required=True, metavar="FOLDER", help="the folder of the pictures"
    )
    options = parser.parse_args()
    browser_path = shutil.which("chromium")
    if browser_path is None:
        print("page_pictures.py: there is no Chromium: apt-get install chromium", file=sys.stderr)
        return 2
    from playwright.sync_api import sync_playwright

    command = [sys.executable, "-m", "patchwork_env.cli", "play", "--no-browser", "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        address = next(line.strip() for line in server.stdout if line.startswith("http://"))
        with sync_playwright() as driver:
            browser = driver.chromium.launch(
                executable_path=browser_path, args=["--no-sandbox", "--disable-gpu"]
            )
            for view in views():
                path = options.out / view.file
                path.write_bytes(made_small(take(browser, address, view)))
                print(f"wrote {path}, {path.stat().st_size / 1e3:.0f} kB")
    finally:
        server.kill()
        server.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())

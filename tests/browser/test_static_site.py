"""The page without a server: rules and agents as WebAssembly, below any path, and without a network."""

from __future__ import annotations

import functools
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from patchwork_env.nmbr9 import Game as Nmbr9
from patchwork_env.patchwork import Game as Patchwork
from tests.browser.playing import role, wait_for_move, wait_for_turn

pytestmark = pytest.mark.browser

SITE = Path(__file__).parents[2] / "site"


class StaticSite:
    """The folder that ``make site`` writes, on a port of its own and below a path."""

    def __init__(self, folder: Path) -> None:
        (folder / "some").mkdir()
        (folder / "some" / "where").symlink_to(SITE)
        handler = functools.partial(_Quiet, directory=str(folder))
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}/some/where/"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        """Ends it; nobody answers there any more."""
        self._server.shutdown()
        self._server.server_close()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *words: Any) -> None:
        pass


@pytest.fixture
def site(tmp_path: Path) -> Iterator[StaticSite]:
    if not (SITE / "index.html").exists():
        pytest.fail("there is no site to open: make site")
    running = StaticSite(tmp_path)
    yield running
    running.stop()


@pytest.mark.parametrize(
    ("query", "start"),
    [
        ("?game=patchwork&opponent=champion:instant&seat=0&seed=7", Patchwork(7)),
        ("?game=nmbr9&seed=3", Nmbr9(3)),
    ],
    ids=["patchwork", "nmbr9"],
)
def test_a_whole_game(open_page: Any, site: StaticSite, query: str, start: Any) -> None:
    game = type(start)
    page = open_page(query, at=site)
    assert game.from_notation(page.evaluate("window.game.notation()")) == start
    draw = np.random.default_rng(5)
    while wait_for_turn(page, 0):
        played = game.from_notation(page.evaluate("window.game.notation()"))
        legal = page.evaluate("window.game.page.session.position.legal")
        assert legal == [int(action) for action in played.legal_actions()]
        page.evaluate("word => window.game.play(word)", played.move_text(int(draw.choice(legal))))
        wait_for_move(page, played.num_moves)
    over = game.from_notation(page.evaluate("window.game.notation()"))
    assert over.is_over
    for player, score in enumerate(over.scores()):
        assert role(page, "score", player=player).get_attribute("data-value") == str(score)


@pytest.mark.parametrize("game", ["patchwork", "nmbr9"])
def test_an_analysis_goes_on(open_page: Any, site: StaticSite, game: str) -> None:
    page = open_page("", at=site)
    depths = page.evaluate(
        """async (game) => {
          const { backend } = window.game.page;
          const { notation } = await backend.open({ game, seed: 1 });
          const depths = [];
          const control = new AbortController();
          const onanalysis = ({ depth }) => depths.push(depth) === 3 && control.abort();
          const { signal } = control;
          const ended = await backend.analyse(notation, { signal, onanalysis }).catch((error) => error.name);
          return [...depths, ended];
        }""",
        game,
    )
    assert depths[3:] == ["AbortError"]
    assert 0 < depths[0] < depths[2]




def test_without_a_network_after_the_first_visit(open_page: Any, site: StaticSite) -> None:
    page = open_page("?game=patchwork&seed=7", at=site)
    page.evaluate("navigator.serviceWorker.ready.then(() => null)")
    site.stop()
    page.goto(site.address + "?game=nmbr9&seed=3&lang=pl")
    page.wait_for_selector("[data-ready]", state="attached")
    assert page.evaluate("document.documentElement.lang") == "pl"
    assert page.evaluate("window.game.notation()").startswith("nmbr9/1")
    page.goto(site.address + "rules/pl.html")
    assert page.title()

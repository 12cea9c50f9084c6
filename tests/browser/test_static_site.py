"""The page without a server: rules and agents as WebAssembly, below any path, and without a network."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from patchwork_env.nmbr9 import Game as Nmbr9
from patchwork_env.patchwork import Game as Patchwork
from tests.browser.playing import game_of, role, wait_for_move, wait_for_turn
from tests.browser.serving import address_of, folder_server

pytestmark = pytest.mark.browser

SITE = Path(__file__).parents[2] / "site"


@pytest.fixture
def site(tmp_path):
    """A server of the folder that ``make site`` writes, below a path."""
    if not (SITE / "index.html").exists():
        pytest.fail("there is no site to open: make site")
    (tmp_path / "some").mkdir()
    (tmp_path / "some" / "where").symlink_to(SITE)
    with folder_server(tmp_path) as server:
        server.address = f"{address_of(server)}some/where/"
        yield server


@pytest.mark.parametrize(
    ("query", "start"),
    [
        ("?game=patchwork&opponent=champion:instant&seat=0&seed=7", Patchwork(7)),
        ("?game=nmbr9&seed=3", Nmbr9(3)),
    ],
    ids=["patchwork", "nmbr9"],
)
def test_a_whole_game(open_page, site, query, start):
    page = open_page(query, at=site)
    assert game_of(page) == start
    draw = np.random.default_rng(5)
    while wait_for_turn(page, 0):
        played = game_of(page)
        legal = page.evaluate("window.game.page.session.position.legal")
        assert legal == [int(action) for action in played.legal_actions()]
        page.evaluate("word => window.game.play(word)", played.move_text(int(draw.choice(legal))))
        wait_for_move(page, played.num_moves)
    over = game_of(page)
    assert over.is_over
    for player, score in enumerate(over.scores()):
        assert role(page, "score", player=player).get_attribute("data-value") == str(score)


@pytest.mark.parametrize("game", ["patchwork", "nmbr9"])
def test_an_analysis_goes_on(open_page, site, game):
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


def test_without_a_network_after_the_first_visit(open_page, site):
    page = open_page("?game=patchwork&seed=7", at=site)
    page.evaluate("navigator.serviceWorker.ready.then(() => null)")
    site.shutdown()
    site.server_close()
    page.goto(site.address + "?game=nmbr9&seed=3&lang=pl")
    page.wait_for_selector("[data-ready]", state="attached")
    assert page.evaluate("document.documentElement.lang") == "pl"
    assert page.evaluate("window.game.notation()").startswith("nmbr9/1")
    page.goto(site.address + "rules/pl.html")
    assert page.title()

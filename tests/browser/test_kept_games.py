"""No game is ever lost: whatever somebody does on the page, each can be found again with all its moves."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pytest

from tests.browser.playing import reload, role
from tests.browser.views import notation_after

pytestmark = pytest.mark.browser

QUERIES = {
    "patchwork": "?game=patchwork&opponent=random&seat=0&seed=7",
    "nmbr9": "?game=nmbr9&players=2&opponent=random&seat=0&seed=7",
}
ACTIONS = 50
LINES = "window.game.page.session.lines"
KEPT = """
Object.keys(localStorage).filter((name) => name.startsWith("patchwork-env.games.")).sort()
  .map((name) => localStorage[name])
"""


class Player:
    """Somebody who does this and that in several tabs, and remembers every line of moves that was there."""

    def __init__(self, page, seed):
        self.tabs, self.page = [page], page
        self.draw = np.random.default_rng(seed)
        self.seen: set[str] = set()
        buttons = {name: partial(self.press, name) for name in ("undo", "redo", "leave", "adopt")}
        others = (self.explore, self.reload, self.back, self.forward)
        others += (self.new_game, self.open_text, self.open_nothing, self.open_kept, self.open_tab)
        self.actions = [("move", self.move)] * 5 + [("browse", self.browse)] * 3
        self.actions += [*buttons.items(), *((action.__name__, action) for action in others)]

    def act(self):
        """Does something in one of the tabs; returns what."""
        self.page = self.tabs[self.draw.integers(len(self.tabs))]
        self.page.bring_to_front()
        name, action = self.actions[self.draw.integers(len(self.actions))]
        action()
        self.settle()
        return str(name)

    def settle(self):
        """Waits until no agent moves; notes what is there then, in every tab."""
        for tab in self.tabs:
            tab.wait_for_function(
                "() => !window.game.page.isReturning && !window.game.page.session.agentToMove"
                " && document.querySelector('[data-role=status]').dataset.thinking === 'false'"
            )
            self.seen |= {line for line in map(flat, tab.evaluate(LINES)) if "@" in line or "+" in line}

    def lost(self):
        """The lines that no kept game has, once every tab sees what the others have stored."""
        stores = [tab.evaluate(KEPT) for tab in self.tabs]
        while any(store != stores[0] for store in stores):
            self.page.wait_for_timeout(50)
            stores = [tab.evaluate(KEPT) for tab in self.tabs]
        kept = [flat(line) for text in stores[0] for line in json.loads(text)["lines"]]
        return [line for line in self.seen if not any(f"{one} ".startswith(f"{line} ") for one in kept)]

    def session(self, call):
        self.page.evaluate(f"() => {{ window.game.page.session.{call}; }}")

    def move(self):
        legal = self.page.evaluate(
            "window.game.page.mayMove() ? window.game.page.session.position.legal : []"
        )
        if legal:
            self.page.evaluate("move => window.game.page.play(move)", int(self.draw.choice(legal)))

    def browse(self):
        last = self.page.evaluate("window.game.page.session.line.length")
        self.session(f"goto({self.draw.integers(last)})")

    def press(self, name):
        if role(self.page, name).is_visible() and role(self.page, name).is_enabled():
            role(self.page, name).click()

    def explore(self):
        self.session("explore()")

    def reload(self):
        reload(self.page)

    def back(self):
        self.page.evaluate("() => navigation.canGoBack && history.back()")
        self.page.wait_for_timeout(100)

    def forward(self):
        self.page.evaluate("() => navigation.canGoForward && history.forward()")
        self.page.wait_for_timeout(100)

    def new_game(self):
        self.page.keyboard.press("n")
        role(self.page, "start").click()
        self.page.wait_for_selector("dialog", state="detached")

    def open_text(self):
        game = ("patchwork", "nmbr9")[self.draw.integers(2)]
        self.paste(notation_after(game, int(self.draw.integers(1, 5))))
        self.page.wait_for_selector("dialog", state="detached")

    def open_nothing(self):
        before = self.page.evaluate("window.game.page.session.mainNotation")
        self.paste(("", "   ", "nonsense", "nmbr9/1", before + " zzz")[self.draw.integers(5)])
        self.page.wait_for_selector(".field-error:not(:empty)")
        self.page.keyboard.press("Escape")
        self.page.wait_for_selector("dialog", state="detached")
        assert self.page.evaluate("window.game.page.session.mainNotation") == before

    def paste(self, text):
        self.page.keyboard.press("s")
        role(self.page, "notation").fill(text)
        role(self.page, "openGame").click()

    def open_kept(self):
        role(self.page, "games").click()
        games = role(self.page, "open-game")
        if games.count():
            games.nth(int(self.draw.integers(games.count()))).click()
        else:
            self.page.keyboard.press("Escape")
        self.page.wait_for_selector("dialog", state="detached")

    def open_tab(self):
        if len(self.tabs) == 3:
            self.tabs.remove(self.page)
            self.page.close()
        self.page = self.tabs[0].context.new_page()
        self.page.goto(self.tabs[0].url.partition("?")[0])  # the game of the last visit
        self.page.wait_for_selector("[data-ready]", state="attached")
        self.tabs.append(self.page)


def flat(notation):
    """A notation on one line."""
    return " ".join(notation.split())


@pytest.mark.parametrize("game", QUERIES)
def test_nothing_that_one_does_loses_a_game(open_page, game):
    player = Player(open_page(QUERIES[game]), seed=1)
    done = []
    for _ in range(ACTIONS):
        done.append(player.act())
        assert not player.lost(), done
    role(player.page, "games").click()
    ids = [item.get_attribute("data-id") for item in player.page.locator("[data-id]").all()]
    player.page.keyboard.press("Escape")
    found = []
    for id in ids:
        role(player.page, "games").click()
        player.page.locator(f'[data-id="{id}"] [data-role="open-game"]').click()
        player.page.wait_for_selector("dialog", state="detached")
        found += map(flat, player.page.evaluate(LINES))
    assert not [line for line in player.seen if not any(f"{one} ".startswith(f"{line} ") for one in found)]


def test_what_another_tab_writes_over_unseen_is_kept_again(open_page):
    player = Player(open_page("?game=nmbr9&players=1&seat=both&seed=7"), seed=1)
    player.move()
    (older,) = player.page.evaluate(KEPT)
    player.move()
    player.settle()
    player.new_game()  # the first tab has left the game
    player.open_tab()
    name = "patchwork-env.games." + json.loads(older)["id"]
    player.page.evaluate("([name, older]) => { localStorage[name] = older; }", [name, older])
    player.page.wait_for_function("([name, older]) => localStorage[name] !== older", arg=[name, older])
    assert not player.lost()

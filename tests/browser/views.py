"""The page's views, one after the other, for tests that look at all of them."""

from __future__ import annotations

import functools
from typing import Any
from urllib.parse import quote

from patchwork_env import agents, nmbr9, patchwork
from tests.browser.playing import role
from tests.play.test_languages import PLURALS

PATIENCE_MILLISECONDS = 300_000
"""Kernels may have to be compiled first."""
LANGUAGES = tuple(PLURALS)
GAMES = ("patchwork", "nmbr9")
REVIEWED_MOVES = 9
"""How many moves the game has that is reviewed: enough for one that is worth a mark."""


@functools.cache
def notation_after(game, moves):
    """The notation of a game after so many moves of the greedy agent, or of a whole one."""
    played: Any = patchwork.Game(seed=18) if game == "patchwork" else nmbr9.Game(seed=3, players=2)
    agent = agents.load("greedy", seed=0)
    while not played.is_over and (moves is None or played.num_moves < moves):
        played.play(int(agent.act(played)))
    return str(played.notation())


def query_of(game, language, moves):
    """The address of a game of two people at the screen, in a language."""
    return f"?game={game}&seat=both&lang={language}#{quote(notation_after(game, moves).strip())}"


def views_of_game(open_page, game, language, **options):
    """A name and the page for the middle of a game, each dialog, analysis with review, and its end."""
    page = open_page(query_of(game, language, 15), **options)
    page.set_default_timeout(PATIENCE_MILLISECONDS)
    yield "middle", page
    for name, key in (("new game", "n"), ("share", "s"), ("keys", "?")):
        page.keyboard.press(key)
        page.wait_for_selector("dialog[open]")
        yield name, page
        page.keyboard.press("Escape")
        page.wait_for_selector("dialog", state="detached")
    yield "analysis and review", reviewed(page, query_of(game, language, REVIEWED_MOVES))
    page.goto("about:blank")
    yield "end", open_page(query_of(game, language, None), **options)


def reviewed(page, query):
    """The page with lines and the review of a game."""
    page.evaluate("fragment => { location.hash = fragment; }", query.partition("#")[2])
    page.wait_for_function("moves => window.game.page.session.main.length === moves + 1", arg=REVIEWED_MOVES)
    role(page, "show-lines").click()
    page.wait_for_selector('[data-role="lines"] button')
    role(page, "review").click()
    page.wait_for_selector('[data-role="review-result"][data-done="true"]')
    return page

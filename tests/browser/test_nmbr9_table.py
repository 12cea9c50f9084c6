"""Whole games of NMBR 9 at the page, by mouse, touch and keyboard, and everything else at its tables."""

import numpy as np
import pytest

from patchwork_env.nmbr9 import Game
from patchwork_env.nmbr9.actions import FIRST_CHOICE, TABLE_SIZE, place_action, placement
from tests.browser.playing import drag, game_of, role, turn_to, walk_to

pytestmark = pytest.mark.browser

ALONE = "?game=nmbr9&players=1&seed=7"


def wait_for(page, num_moves):
    """Waits until the page has got so far, and somebody at the page is to move or the game is over."""
    is_there = "({ ply, position, mayMove }) => ply >= moves && (position.over || mayMove)"
    page.wait_for_function(f"moves => ({is_there})(window.game.page.session)", arg=num_moves)


def play(page, game, action, by):
    """Plays an action by clicks, by taps or by keys alone."""

    def press(element):
        element.tap() if by == "touch" else element.click()

    if action >= FIRST_CHOICE:
        digit = action - FIRST_CHOICE
        page.keyboard.press(str(digit)) if by == "keys" else press(role(page, "offer", slot=digit))
        return
    orientation, row, column = placement(action)
    if by == "keys":
        turn_to(page, orientation, lambda: page.keyboard.press("r"))
        page.keyboard.press(".")  # to a place that fits
        walk_to(page, row, column)
        page.keyboard.press("Enter")
    else:
        turn_to(page, orientation, lambda: press(role(page, "turn")))
        cell = role(page, "cell", player=game.current_player, row=row, column=column)
        for _ in range(2 if by == "touch" else 1):
            press(cell)


@pytest.mark.parametrize(
    ("query", "by"),
    [
        (ALONE, "keys"),
        ("?game=nmbr9&players=3&deck=5,7,2,9,1,3&opponent=greedy&seat=1", "mouse"),
        ("?game=nmbr9&players=2&seat=both&order=free&deck=0,7,6,7,2,8", "touch"),
        ("?game=nmbr9&players=4&seat=both&order=known&deck=0,7,6,7,2,8&lang=fa", "mouse"),
    ],
)
def test_a_whole_game(open_page, query, by):
    page = open_page(query, touch=by == "touch")
    draw = np.random.default_rng(5)
    wait_for(page, 0)
    while not (game := game_of(page)).is_over:
        action = max(draw.choice(game.legal_actions(), 20).tolist(), key=lambda each: worth(game, each))
        play(page, game, action, by)
        wait_for(page, game.num_moves + 1)
        assert game_of(page).history[: game.num_moves + 1] == (*game.history, action)
    for player, score in enumerate(game.scores()):
        assert role(page, "score", player=player).get_attribute("data-value") == str(score)
    assert role(page, "status").get_attribute("data-over") == "true"
    assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0


def worth(game, action):
    """High placements are worth most, then those in the middle of the table."""
    if action >= FIRST_CHOICE:
        return (0, action)
    _, row, column = placement(action)
    return (game.decode(action).level or 0, -abs(2 * row - TABLE_SIZE) - abs(2 * column - TABLE_SIZE))


def test_a_tile_is_dragged_to_the_table(open_page):
    page = open_page(ALONE, touch=True)
    row, column = placement(int(Game(seed=7).legal_actions()[0]))[1:]
    hand = role(page, "hand").bounding_box()
    cell = role(page, "cell", player=0, row=row + 2, column=column + 1).bounding_box()
    middle = (hand["x"] + hand["width"] / 2, hand["y"] + hand["height"] / 2)
    drag(page, middle, (hand["x"], hand["y"]), (cell["x"] + cell["width"] / 2, cell["y"]))
    page.mouse.up()
    wait_for(page, 1)
    assert game_of(page).num_moves == 1


def test_a_ghost_says_what_it_would_score_or_why_it_does_not_fit(open_page):
    page = open_page("?game=nmbr9&players=1&deck=9,6,1")
    for word in ("9/0@0,0", "6/0@0,3"):
        page.evaluate("word => window.game.play(word)", word)
    game, notes = game_of(page), set()
    top, left = (min(numbers) for numbers in zip(*game.placements()[0].cells, strict=True))
    fits = {"Level 1: 1 point", "Level 0: no points"}
    for row in range(top - 5, top + 2):
        for column in range(left - 3, left + 5):
            role(page, "cell", player=0, row=row, column=column).hover()
            note = page.locator(".hand-note").inner_text()
            assert (note in fits) is (place_action(0, row, column) in game.legal_actions())
            notes.add(note)
    assert notes - fits == {
        "Part of it would hang over.",
        "It must rest on two tiles.",
        "It must touch a tile on its level.",
    }
    assert notes >= fits


def test_cards_that_are_hidden_stay_hidden(open_page):
    page = open_page(ALONE)
    assert page.evaluate("window.game.page.session.position.state.deck") == list(Game(seed=7).deck[:1])
    assert page.locator(".upcoming li").count() == 0
    page = open_page(f"{ALONE}&order=known")
    digits = [int(text) for text in page.locator(".upcoming li").all_inner_texts()]
    assert digits == list(Game(seed=7).deck[1:])


def test_in_free_order_only_those_play_who_choose_digits(open_page):
    page = open_page("?game=nmbr9&players=2&order=free&opponent=partner:level=1")
    assert page.evaluate("window.game.page.session.seats.map(({ kind }) => kind)") == ["person", "person"]
    page.evaluate("window.game.page.play(window.game.page.session.position.legal[0])")
    wait_for(page, 1)
    assert not any(role(page, name).is_enabled() for name in ("hint", "review"))
    assert not any(role(page, f"show-{name}").is_visible() for name in ("evaluation", "lines"))
    page.keyboard.press("n")
    assert page.locator("select[name=opponent]").input_value() == "greedy"


def test_the_rules_open_in_the_language_and_at_the_game(open_page):
    page = open_page(f"{ALONE}&lang=pl")
    with page.expect_popup() as opened:
        role(page, "rules").click()
    rules = opened.value
    rules.wait_for_load_state()
    assert rules.url.endswith("rules/pl.html#nmbr9")
    assert rules.locator("html[lang=pl] h1").inner_text() == "Zasady"
    assert rules.locator("#nmbr9 figure svg").first.bounding_box()["height"] > 50
